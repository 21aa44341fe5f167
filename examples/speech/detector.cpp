// SPDX-License-Identifier: Apache-2.0
#include "examples/speech/detector.h"

#include <algorithm>

#include "examples/common/keep_state.h"
#include "millrace/graph/onnx.h"

namespace speech {

using namespace millrace;

namespace {

constexpr std::size_t kContext = 64, kMaxPause = 3;

}  // namespace

Result<Graph> import_detector(const std::string& path) {
  // The model serves two rates and any number of samples; each choice removes conditions.
  const std::int64_t rate = kSamplesPerSecond;
  OnnxOptions options;
  options.dims = {{"batch", 1}, {"sequence", static_cast<std::int64_t>(kContext + kFrame)}};
  options.values["sr"] = {{DType::kI64, {}}, SharedBytes(std::as_bytes(std::span(&rate, 1)))};
  MILLRACE_TRY_ASSIGN(OnnxModel model, import_onnx(path, options));
  MILLRACE_TRY(common::keep_state(model.graph, "state", "stateN"));
  return std::move(model.graph);
}

Result<std::vector<float>> find_probabilities(Session& session, std::span<const float> samples) {
  std::vector<float> window(kContext + kFrame), probabilities;
  for (std::size_t begin = 0; begin < samples.size(); begin += kFrame) {
    const std::span frame = samples.subspan(begin, std::min(kFrame, samples.size() - begin));
    std::copy(window.end() - kContext, window.end(), window.begin());
    std::fill(std::ranges::copy(frame, window.begin() + kContext).out, window.end(), 0.0f);
    MILLRACE_TRY(session.run({bind("input", window)}, {bind("output", probabilities.emplace_back())}));
  }
  return probabilities;
}

bool is_speech(float probability) { return probability > 0.5f; }

std::vector<Segment> find_segments(std::span<const float> probabilities) {
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (!is_speech(probabilities[i])) continue;
    if (segments.empty() || i - segments.back().end > kMaxPause) segments.push_back({i, i});
    segments.back().end = i + 1;
  }
  return segments;
}

}  // namespace speech
