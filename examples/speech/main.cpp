// SPDX-License-Identifier: Apache-2.0
// Marks speech in a recording with a Silero VAD model, whose state is a variable.
//
//     speech MODEL WAVE
#include <algorithm>

#include <fmt/format.h>

#include "examples/common/stage_clock.h"
#include "examples/common/wave_file.h"
#include "examples/speech/detector.h"

namespace {

using namespace millrace;
using namespace speech;

Status run(int count, char** arguments) {
  if (count != 3) return invalid_argument(fmt::format("usage: {} MODEL WAVE", arguments[0]));
  common::StageClock clock;
  MILLRACE_TRY_ASSIGN(const std::vector<float> samples, common::read_wave(arguments[2], kSamplesPerSecond));
  clock.end("read");
  MILLRACE_TRY_ASSIGN(Graph graph, import_detector(arguments[1]));
  clock.end("import");
  MILLRACE_TRY_ASSIGN(const Program program, compile(std::move(graph)));
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  clock.end("compile");
  MILLRACE_TRY_ASSIGN(const std::vector<float> probabilities, find_probabilities(session, samples));
  clock.end("run");

  constexpr double kSeconds = static_cast<double>(kFrame) / kSamplesPerSecond;
  for (const Segment& segment : find_segments(probabilities)) {
    fmt::print("{:8.2f} s to {:8.2f} s\n", static_cast<double>(segment.begin) * kSeconds,
               static_cast<double>(segment.end) * kSeconds);
  }
  fmt::print("{} of {} frames are speech\n", std::ranges::count_if(probabilities, is_speech), probabilities.size());
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  const Status status = run(count, arguments);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
