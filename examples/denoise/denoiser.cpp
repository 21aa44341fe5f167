// SPDX-License-Identifier: Apache-2.0
#include "examples/denoise/denoiser.h"

#include <algorithm>
#include <array>

#include "examples/common/keep_state.h"
#include "examples/denoise/spectrum.h"
#include "millrace/graph/onnx.h"

namespace denoise {

using namespace millrace;

namespace {

Result<Session> start(Result<Graph> graph) {
  if (!graph.ok()) return graph.status();
  MILLRACE_TRY_ASSIGN(const Program program, compile(*std::move(graph)));
  return Session::create(program);
}

}  // namespace

Result<Graph> import_denoiser(const std::string& path) {
  MILLRACE_TRY_ASSIGN(OnnxModel model, import_onnx(path));
  for (const std::string cache : {"conv_cache", "tra_cache", "inter_cache"}) {
    MILLRACE_TRY(common::keep_state(model.graph, cache, cache + "_out"));
  }
  return std::move(model.graph);
}

Result<Denoiser> Denoiser::create(Graph model) {
  MILLRACE_TRY_ASSIGN(Session analysis, start(build_analysis()));
  MILLRACE_TRY_ASSIGN(Session middle, start(std::move(model)));
  MILLRACE_TRY_ASSIGN(Session synthesis, start(build_synthesis()));
  return Denoiser(std::move(analysis), std::move(middle), std::move(synthesis));
}

Status Denoiser::step(std::span<float> hop) {
  std::array<float, 2 * kBins> mix, enh;
  MILLRACE_TRY(analysis_.run({bind("samples", hop)}, {bind("spectrum", mix)}));
  MILLRACE_TRY(model_.run({bind("mix", mix)}, {bind("enh", enh)}));
  return synthesis_.run({bind("spectrum", enh)}, {bind("samples", hop)});
}

Result<std::vector<float>> Denoiser::clean(std::span<const float> samples) {
  // Zeros fill up the last hop. One more hop of zeros brings out the last cleaned hop, because each step returns the
  // hop before its own. The first returned hop precedes all samples, so it is erased.
  const auto hop = static_cast<std::size_t>(kHop);
  std::vector<float> cleaned(samples.begin(), samples.end());
  cleaned.resize((samples.size() + hop - 1) / hop * hop + hop);
  for (std::size_t begin = 0; begin < cleaned.size(); begin += hop) {
    MILLRACE_TRY(step(std::span(cleaned).subspan(begin, hop)));
  }
  cleaned.erase(cleaned.begin(), cleaned.begin() + kHop);
  cleaned.resize(samples.size());
  return cleaned;
}

}  // namespace denoise
