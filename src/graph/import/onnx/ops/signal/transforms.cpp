// SPDX-License-Identifier: Apache-2.0
// Imports Fourier transforms, of whole signals and of frames.
#include <fmt/format.h>

#include "graph/import/onnx/node_context.h"
#include "graph/import/onnx/ops/signal/fourier.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/signal.inc"
#undef MILLRACE_ONNX_OP

namespace {

bool holds_numbers(const Shape& shape) { return shape.dims().back().is(1) || shape.dims().back().is(2); }

/// Before version 20, the axis is an attribute.
Result<std::int64_t> read_axis(OnnxNodeContext& node, std::size_t rank) {
  if (node.version() < 20) return node.axis_attribute("axis", rank, 1);
  if (!node.has(2)) return static_cast<std::int64_t>(rank) - 2;
  MILLRACE_TRY_ASSIGN(const std::int64_t axis, node.integer(2));
  if (const std::optional<std::int64_t> found = find_axis(axis, rank)) return *found;
  return node.operand_error(2, fmt::format("found {}, expected an axis of a tensor of rank {}", axis, rank));
}

}  // namespace

Result<OnnxResults> import_dft(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  const std::size_t rank = x.shape().rank();
  if (rank < 2 || !holds_numbers(x.shape()) || !is_float(x.dtype())) {
    return node.operand_error(0, fmt::format("is {}, expected floats with 1 or 2 in the last dim", x.type().to_text()));
  }
  FourierTransform transform;
  MILLRACE_TRY_ASSIGN(transform.axis, read_axis(node, rank));
  MILLRACE_TRY_ASSIGN(transform.is_inverse, node.flag_attribute("inverse", false));
  MILLRACE_TRY_ASSIGN(transform.is_onesided, node.flag_attribute("onesided", false));
  if (transform.axis + 1 == static_cast<std::int64_t>(rank)) {
    return invalid_argument(fmt::format(": axis {} of {} holds the parts of one number, expected another axis",
                                        transform.axis, x.type().to_text()));
  }
  const bool is_real_result = transform.is_inverse && transform.is_onesided;
  if (transform.is_onesided && !transform.is_inverse && x.shape().dims().back().is(2)) {
    return node.attribute_error("onesided", "found 1 with complex numbers, expected real ones");
  }
  const SizeExpr& extent = x.shape()[static_cast<std::size_t>(transform.axis)];
  transform.length = is_real_result ? 2 * (extent - 1) : extent;
  if (node.has(1)) {
    MILLRACE_TRY_ASSIGN(transform.length, node.size(1));
  }
  if (transform.length.upper_bound() < 1) {
    return invalid_argument(fmt::format(": the length is {}, expected 1 or more", transform.length.to_text()));
  }
  return fourier_transform(x, transform);
}

/// signal[n, length, 1 or 2], or [n, length], cut into frames that begin frame_step apart.
Result<OnnxResults> import_stft(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor signal, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const SizeExpr step, node.size(1));
  MILLRACE_TRY_ASSIGN(const Tensor window, node.optional_tensor(2));
  MILLRACE_TRY_ASSIGN(const bool is_onesided, node.flag_attribute("onesided", true));
  const bool has_window = window.builder() != nullptr, is_plain = signal.shape().rank() == 2;
  const Tensor x = is_plain ? unsqueeze(signal, {2}) : signal;
  if (x.shape().rank() != 3 || !holds_numbers(x.shape()) || !is_float(x.dtype())) {
    return node.operand_error(
        0, fmt::format("is {}, expected floats n x length, with 1 or 2 in a last dim", signal.type().to_text()));
  }
  if (has_window && (window.shape().rank() != 1 || window.dtype() != x.dtype())) {
    return node.operand_error(2,
                              fmt::format("is {}, expected a list of {}", window.type().to_text(), to_text(x.dtype())));
  }
  SizeExpr length = has_window ? window.shape()[0] : x.shape()[1];
  if (node.has(3)) {
    MILLRACE_TRY_ASSIGN(length, node.size(3));
  }
  if (has_window && length != window.shape()[0]) {
    return node.operand_error(
        3, fmt::format("is {}, expected {} like the window", length.to_text(), window.shape()[0].to_text()));
  }
  if (step.upper_bound() < 1 || length.upper_bound() < 1) {
    return invalid_argument(fmt::format(": frames of {} points begin {} apart, expected 1 or more for both",
                                        length.to_text(), step.to_text()));
  }
  if (is_onesided && x.shape()[2].is(2)) {
    return node.attribute_error("onesided", "found 1 with complex numbers, expected real ones");
  }
  const SizeExpr count = floor_div(x.shape()[1] - length, step) + 1;
  const Tensor start = iota(node.graph(), DType::kI64, {count, 1}, 0) * size_of(node.graph(), step);
  const Tensor place = start + iota(node.graph(), DType::kI64, {1, length}, 1);
  MILLRACE_TRY_ASSIGN(Tensor frames, node.built(gather(x, place, 1)));  // [n, frames, length, 1 or 2]
  if (has_window) frames = frames * reshape(window, {length, 1});
  MILLRACE_TRY_ASSIGN(frames, node.built(frames));
  return fourier_transform(frames, {.axis = 2, .length = length, .is_onesided = is_onesided});
}

}  // namespace millrace
