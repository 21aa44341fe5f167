// SPDX-License-Identifier: Apache-2.0
// Copies the padded operands of a convolution into scratch first, so that its products need no bounds checks.
#include <algorithm>

#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/ir/affine.h"
#include "millrace/jit/loop_kernel_builder.h"

namespace millrace {
namespace {

/// The minimum number of products. With fewer, loads with bounds checks cost less than another kernel and its pass over
/// scratch.
constexpr std::int64_t kWorthPadding = std::int64_t{1} << 18;

LoopKernel without_fills(LoopKernel kernel) {
  for (Access& load : kernel.loads) load.fill.reset();
  return kernel;
}

std::int64_t num_points(const LoopKernel& kernel) {
  SizeExpr points = 1;
  for (const LoopDim& dim : kernel.domain) points = points * dim.extent;
  return points.is_constant() ? points.constant() : 0;
}

/// The padding that keeps every index of the load in bounds: the number of elements added at the start of each axis,
/// and the padded shape.
struct Padding {
  std::vector<std::int64_t> low;
  Shape shape;
};

Result<Padding> find_padding(const LoopKernel& kernel, const Access& load) {
  const KernelTensor& tensor = kernel.operands[load.tensor];
  Padding padding;
  std::vector<SizeExpr> dims;
  for (std::size_t axis = 0; axis < load.indices.size(); ++axis) {
    const SizeExpr& extent = tensor.type.shape[axis];
    if (is_inside(load.indices[axis], extent, kernel.domain)) {
      padding.low.push_back(0);
      dims.push_back(extent);
      continue;
    }
    const std::optional<IndexRange> range = constant_range(load.indices[axis], kernel.domain);
    if (!range || !extent.is_constant()) {
      return unimplemented(fmt::format("the padding of axis {} of '{}' is known only at run time", axis, tensor.name));
    }
    padding.low.push_back(std::max<std::int64_t>(-range->min, 0));
    dims.push_back(std::max(extent.constant(), range->max + 1) + padding.low.back());
  }
  padding.shape = Shape(std::move(dims));
  return padding;
}

Result<LoopKernel> make_pad_kernel(const LoopKernel& kernel, const Access& load, const Padding& padding) {
  const KernelTensor& tensor = kernel.operands[load.tensor];
  LoopKernelBuilder pad(kernel.name + "_pad_" + tensor.name);
  const std::vector<AffineIndex> to = pad.parallel_dims(padding.shape);
  std::vector<AffineIndex> from;
  for (std::size_t axis = 0; axis < to.size(); ++axis) from.push_back(to[axis] - padding.low[axis]);
  const BodyValue value = pad.load(pad.epilogue(), pad.operand(tensor), std::move(from), {.fill = load.fill});
  pad.store("padded", {tensor.type.dtype, padding.shape}, to, value);
  return pad.finish_unverified();
}

}  // namespace

/// Writes each padded operand of a sum of products into scratch, so that the products become a plain contraction.
Result<KernelSequence> lower_loop_pad_first(const KernelRequest& request, const Target& target,
                                            const LowerOptions& options) {
  LoopKernel kernel = std::get<LoopKernel>(request);
  const bool has_fill =
      std::any_of(kernel.loads.begin(), kernel.loads.end(), [](const Access& a) { return a.fill.has_value(); });
  if (!has_fill) return unimplemented("no operand is padded");
  if (classify(without_fills(kernel)) != LoopKind::kContract) {
    return unimplemented(fmt::format("a {}, expected a sum of products", to_text(classify(kernel))));
  }
  if (options.force_algorithm.empty() && num_points(kernel) < kWorthPadding) {
    return unimplemented(
        fmt::format("{} products, expected at least {} to pay off", num_points(kernel), kWorthPadding));
  }
  KernelSequence sequence;
  std::vector<SequenceOperand> buffers = operands_then_results(kernel.operands.size(), kernel.results.size());
  for (Access& load : kernel.loads) {
    if (!load.fill) continue;
    const std::uint32_t operand = load.tensor;
    const auto num_readers = std::count_if(kernel.loads.begin(), kernel.loads.end(),
                                           [&](const Access& other) { return other.tensor == operand; });
    if (num_readers != 1)
      return unimplemented(
          fmt::format("'{}' is read by {} loads, expected 1", kernel.operands[operand].name, num_readers));
    MILLRACE_TRY_ASSIGN(const Padding padding, find_padding(kernel, load));
    MILLRACE_TRY_ASSIGN(const LoopKernel pad, make_pad_kernel(kernel, load, padding));
    const auto scratch = static_cast<std::uint32_t>(sequence.scratch.size());
    const SequenceOperand padded{SequenceOperand::Kind::kScratch, scratch};
    sequence.scratch.push_back({pad.name, size_bytes(pad.results[0].type)});
    MILLRACE_TRY(append_kernel(sequence, pad, {buffers[operand], padded}, target, options));
    buffers[operand] = padded;
    kernel.operands[operand] = pad.results[0];
    for (std::size_t axis = 0; axis < load.indices.size(); ++axis) {
      load.indices[axis].offset = load.indices[axis].offset + padding.low[axis];
    }
    load.fill.reset();
  }
  MILLRACE_TRY(append_kernel(sequence, kernel, std::move(buffers), target, options));
  return sequence;
}

}  // namespace millrace
