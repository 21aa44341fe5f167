// SPDX-License-Identifier: Apache-2.0
// Takes the noise out of recorded speech with a streaming GTCRN model, whose state is in variables.
//
//     denoise MODEL WAVE OUTPUT
#include <fmt/format.h>

#include "examples/common/stage_clock.h"
#include "examples/common/wave_file.h"
#include "examples/denoise/denoiser.h"

namespace {

using namespace millrace;
using namespace denoise;

Status run(int count, char** arguments) {
  if (count != 4) return invalid_argument(fmt::format("usage: {} MODEL WAVE OUTPUT", arguments[0]));
  common::StageClock clock;
  MILLRACE_TRY_ASSIGN(const std::vector<float> samples, common::read_wave(arguments[2], kSamplesPerSecond));
  clock.end("read");
  MILLRACE_TRY_ASSIGN(Graph model, import_denoiser(arguments[1]));
  clock.end("import");
  MILLRACE_TRY_ASSIGN(Denoiser denoiser, Denoiser::create(std::move(model)));
  clock.end("compile");
  MILLRACE_TRY_ASSIGN(const std::vector<float> cleaned, denoiser.clean(samples));
  const double milliseconds = clock.end("run");
  MILLRACE_TRY(common::write_wave(arguments[3], kSamplesPerSecond, cleaned));
  clock.end("write");

  const double seconds = static_cast<double>(samples.size()) / kSamplesPerSecond;
  fmt::print(stderr, "{:.0f} times as fast as it was spoken\n", 1000 * seconds / milliseconds);
  fmt::print("cleaned {:.2f} s of sound\n", seconds);
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  const Status status = run(count, arguments);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
