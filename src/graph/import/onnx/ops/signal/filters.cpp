// SPDX-License-Identifier: Apache-2.0
// Imports the windows that weigh the points of a frame, and the matrix that joins frequencies into mel bands.
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "graph/import/onnx/node_context.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/signal.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// a + b cos t + c cos 2t. t makes one turn in `size` steps or, if the window is not periodic, in `size` - 1.
Result<OnnxResults> import_window(OnnxNodeContext& node, double a, double b, double c) {
  MILLRACE_TRY_ASSIGN(const SizeExpr size, node.size(0));
  MILLRACE_TRY_ASSIGN(const DType dtype, node.dtype_attribute("output_datatype", DType::kF32));
  MILLRACE_TRY_ASSIGN(const bool is_periodic, node.flag_attribute("periodic", true));
  if (size.upper_bound() < 0) return node.operand_error(0, fmt::format("is {}, expected 0 or more", size.to_text()));
  GraphBuilder& graph = node.graph();
  const Tensor steps = cast(size_of(graph, is_periodic ? size : size - 1), DType::kF64);
  const Tensor angle = iota(graph, DType::kF64, {size}, 0) * (2 * std::numbers::pi) / steps;
  Tensor window = cos(angle) * b + a;
  if (c != 0) window = window + cos(angle * 2.0) * c;
  return cast(window, dtype);
}

}  // namespace

Result<OnnxResults> import_hann_window(OnnxNodeContext& node) { return import_window(node, 0.5, -0.5, 0); }
Result<OnnxResults> import_hamming_window(OnnxNodeContext& node) {
  return import_window(node, 25.0 / 46, -21.0 / 46, 0);
}
Result<OnnxResults> import_blackman_window(OnnxNodeContext& node) { return import_window(node, 0.42, -0.5, 0.08); }

namespace {

struct MelBands {
  std::int64_t num_bands = 0, num_frequencies = 0;
  std::vector<std::int64_t> edges;  // num_bands + 2 indices of frequencies
};

Result<MelBands> read_bands(OnnxNodeContext& node) {
  MelBands bands;
  MILLRACE_TRY_ASSIGN(bands.num_bands, node.integer(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t length, node.integer(1));
  MILLRACE_TRY_ASSIGN(const std::int64_t rate, node.integer(2));
  MILLRACE_TRY_ASSIGN(const double low, node.number(3));
  MILLRACE_TRY_ASSIGN(const double high, node.number(4));
  constexpr std::int64_t kMax = 1 << 16;
  if (bands.num_bands < 1 || bands.num_bands > kMax || length < 1 || length > kMax || rate < 1) {
    return invalid_argument(
        fmt::format(": found {} bands, a length of {} and a rate of {}, expected 1 to {} for bands and "
                    "length, and a rate of 1 or more",
                    bands.num_bands, length, rate, kMax));
  }
  bands.num_frequencies = length / 2 + 1;
  const auto mel = [](double frequency) { return 2595 * std::log1p(frequency / 700) / std::log(10.0); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bands.num_bands + 2);
  for (std::int64_t i = 0; i < bands.num_bands + 2; ++i) {
    const double at = static_cast<double>(i) * step + mel(low);
    const double frequency = 700 * std::expm1(at / 2595 * std::log(10.0));
    const double edge = std::floor(static_cast<double>(length + 1) * frequency / static_cast<double>(rate));
    if (!(edge >= 0 && edge < static_cast<double>(bands.num_frequencies))) {
      return invalid_argument(
          fmt::format(": a band reaches frequency {}, expected 0 to {}", edge, bands.num_frequencies - 1));
    }
    bands.edges.push_back(static_cast<std::int64_t>(edge));
  }
  return bands;
}

/// [frequencies, bands]: each band rises from its first edge to the second one and falls to the third.
std::vector<double> band_weights(const MelBands& bands) {
  std::vector<double> weights(static_cast<std::size_t>(bands.num_frequencies * bands.num_bands));
  for (std::int64_t band = 0; band < bands.num_bands; ++band) {
    const auto weight = [&](std::int64_t frequency) -> double& {
      return weights[static_cast<std::size_t>(frequency * bands.num_bands + band)];
    };
    const std::int64_t* edge = &bands.edges[static_cast<std::size_t>(band)];
    const std::int64_t low = edge[0], centre = edge[1], high = edge[2];
    if (low == centre) weight(centre) = 1;
    for (std::int64_t i = low; low != centre && i <= centre; ++i) {
      weight(i) = static_cast<double>(i - low) / static_cast<double>(centre - low);
    }
    for (std::int64_t i = centre; i < high; ++i) {
      weight(i) = static_cast<double>(high - i) / static_cast<double>(high - centre);
    }
  }
  return weights;
}

}  // namespace

Result<OnnxResults> import_mel_weight_matrix(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const MelBands bands, read_bands(node));
  MILLRACE_TRY_ASSIGN(const DType dtype, node.dtype_attribute("output_datatype", DType::kF32));
  MILLRACE_TRY(node.reserve_elements(static_cast<std::uint64_t>(bands.num_frequencies * bands.num_bands)));
  const std::vector<double> weights = band_weights(bands);
  return cast(node.graph().constant({bands.num_frequencies, bands.num_bands}, weights), dtype);
}

}  // namespace millrace
