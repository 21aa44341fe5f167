// SPDX-License-Identifier: Apache-2.0
// Copies each row of the operand, unless the operand is updated in place. Then applies the updates in the order of the
// indices. Each row belongs to one thread, so updates with equal indices are applied in the same order for any number
// of threads. O(rows * (extent + indices)), in place O(rows * indices).
#include <fmt/format.h>

#include "jit/algorithms/algorithm.h"
#include "jit/algorithms/control_flow.h"
#include "jit/algorithms/line_walk.h"
#include "jit/ir/reduction.h"
#include "millrace/hal/host_kernel.h"
#include "millrace/jit/float16_bodies.h"

namespace millrace {
namespace {

constexpr std::uint32_t kGpuThreads = 256;

class ScatterBuilder {
 public:
  ScatterBuilder(const ScatterDescriptor& scatter, const TargetSpec& target)
      : scatter_(scatter),
        b_(scatter.name),
        stored_(scatter.input.type.dtype),
        walk_(b_, scatter.input.type.shape, scatter.axis, threads_for(target)) {
    if (target.is_gpu()) b_.set_workgroup(kGpuThreads, target.subgroup_size());
    const auto read = [&](const KernelTensor& tensor) {
      return b_.buffer(tensor.name, tensor.type.dtype, BufferAccess::kRead);
    };
    if (!scatter.in_place) input_ = read(scatter.input);
    indices_ = read(scatter.indices);
    updates_ = read(scatter.updates);
    result_ = b_.buffer(scatter.result.name, stored_, BufferAccess::kReadWrite);
  }

  MachineKernel run() {
    b_.set_num_groups(walk_.num_groups());
    walk_.run([&] {
      if (!scatter_.in_place) copy_line();
      update_line();
    });
    return b_.finish();
  }

 private:
  LineWalk::Threads threads_for(const TargetSpec& target) const {
    const auto lane_bytes = static_cast<std::uint32_t>(size_bytes(body_dtype(stored_)));
    return {.lanes = target.vector_bytes() / lane_bytes, .workgroup_size = target.is_gpu() ? kGpuThreads : 1};
  }

  void copy_line() {
    const Layout& from_layout = scatter_.input.layout;
    const Layout& to_layout = scatter_.result.layout;
    const LinearValue from = walk_.start(scatter_.input), to = walk_.start(scatter_.result);
    for_each(b_, b_.i64(0), b_.size(scatter_.input.type.shape[scatter_.axis]), b_.i64(1), [&](MachineValue i) {
      const MachineValue at = walk_.element(scatter_.input, from, i);
      walk_.store(result_, to_layout, walk_.element(scatter_.result, to, i), walk_.load(input_, from_layout, at));
    });
  }

  /// The updates have the operand's dims, with the axis replaced by the dims of the indices.
  void update_line() {
    const std::size_t index_rank = scatter_.indices.type.shape.rank();
    const LinearValue updates =
        walk_.start(scatter_.updates, [&](std::size_t d) { return d < scatter_.axis ? d : d + index_rank - 1; });
    const LinearValue indices = LinearValue::of_size(b_, scatter_.indices.layout.offset);
    update_from(0, indices, updates, walk_.start(scatter_.result));
  }

  /// One loop per dim of the indices, the last dim innermost.
  void update_from(std::size_t dim, const LinearValue& index, const LinearValue& update, const LinearValue& line) {
    const Shape& shape = scatter_.indices.type.shape;
    if (dim == shape.rank()) return apply_update(index.value(b_), update.value(b_), line);
    for_each(b_, b_.i64(0), b_.size(iterations_of(dim)), b_.i64(1), [&](MachineValue position) {
      const LinearValue i(position);
      update_from(dim + 1, index.plus(b_, i, scatter_.indices.layout.strides[dim]),
                  update.plus(b_, i, scatter_.updates.layout.strides[scatter_.axis + dim]), line);
    });
  }

  /// The number of iterations of the loop over this dim of the indices. If there are no indices, the outermost loop has
  /// 0 iterations. Without this, indices of shape 4096x4096x0 would run 16 million empty iterations.
  SizeExpr iterations_of(std::size_t dim) const {
    const Shape& shape = scatter_.indices.type.shape;
    if (dim > 0) return shape[dim];
    SizeExpr within = 1;
    for (std::size_t d = 1; d < shape.rank(); ++d) within = within * shape[d];
    return within.lower_bound() >= 1 ? shape[0] : shape[0] * min(1, within);
  }

  void apply_update(MachineValue index_offset, MachineValue update_offset, const LinearValue& line) {
    const MachineValue extent = b_.size(scatter_.input.type.shape[scatter_.axis]);
    const MachineValue raw = b_.convert(DType::kI64, b_.load(indices_, index_offset));
    const MachineValue index = b_.select(b_.lt(raw, b_.i64(0)), b_.add(raw, extent), raw);
    const MachineValue bad = b_.bit_or(b_.lt(index, b_.i64(0)), b_.le(extent, index));
    b_.report_error(bad, static_cast<std::uint32_t>(KernelError::kIndexOutOfRange));
    b_.if_else(
        bad, [] { return MachineBuilder::Values{}; },
        [&] {
          const Layout& layout = scatter_.result.layout;
          const MachineValue at = walk_.element(scatter_.result, line, index);
          MachineValue value = walk_.load(updates_, scatter_.updates.layout, update_offset);
          if (scatter_.combine) value = combined(walk_.load(result_, layout, at), value);
          walk_.store(result_, layout, at, value);
          return MachineBuilder::Values{};
        });
  }

  MachineValue combined(MachineValue old, MachineValue update) {
    const MachineValue state = widen_stored(b_, old, stored_), term = widen_stored(b_, update, stored_);
    return narrow_to_stored(b_, combine(b_, *scatter_.combine, {state, state}, term, term).value, stored_);
  }

  const ScatterDescriptor& scatter_;
  MachineBuilder b_;
  DType stored_;
  LineWalk walk_;
  MemoryHandle input_, indices_, updates_, result_;
};

Status check_scatter(const ScatterDescriptor& scatter) {
  const auto refuse = [&](std::string why) {
    return invalid_argument(fmt::format("scatter '{}': {}", scatter.name, why));
  };
  const Shape& shape = scatter.input.type.shape;
  if (scatter.axis >= shape.rank()) {
    return refuse(fmt::format("axis {}, expected less than {}", scatter.axis, shape.rank()));
  }
  std::vector<SizeExpr> dims(shape.dims().begin(), shape.dims().begin() + scatter.axis);
  for (const SizeExpr& dim : scatter.indices.type.shape.dims()) dims.push_back(dim);
  dims.insert(dims.end(), shape.dims().begin() + scatter.axis + 1, shape.dims().end());
  const TensorType updates{scatter.input.type.dtype, Shape(std::move(dims))};
  if (scatter.updates.type != updates) {
    return refuse(fmt::format("the updates are {}, expected {}", scatter.updates.type.to_text(), updates.to_text()));
  }
  if (scatter.result.type != scatter.input.type) {
    return refuse(
        fmt::format("the result is {}, expected {}", scatter.result.type.to_text(), scatter.input.type.to_text()));
  }
  if (scatter.combine && returns_index(*scatter.combine)) return refuse("an index reduction, expected one to a value");
  return {};
}

}  // namespace

Result<KernelSequence> lower_scatter_lines(const KernelRequest& request, const Target& target,
                                           const LowerOptions& options) {
  const ScatterDescriptor& scatter = std::get<ScatterDescriptor>(request);
  MILLRACE_TRY(check_scatter(scatter));
  KernelSequence sequence;
  std::vector<SequenceOperand> buffers = operands_then_results(3, 1);
  if (scatter.in_place) buffers.erase(buffers.begin());
  MILLRACE_TRY(
      append_kernel(sequence, ScatterBuilder(scatter, target.spec()).run(), std::move(buffers), target, options));
  const bool computes = scatter.combine && is_float(scatter.input.type.dtype);
  // In addition to the copy, the kernel reads back the elements that it combines with updates.
  const SizeExpr updates = min(size_bytes(scatter.updates.type), size_bytes(scatter.result.type));
  sequence.kernels.back().traffic.back() = {scatter.combine ? updates : SizeExpr(0),
                                            scatter.in_place ? std::optional(updates) : std::nullopt};
  sequence.kernels.back().kernel.flops = computes ? scatter.updates.type.shape.num_elements() : SizeExpr(0);
  return sequence;
}

}  // namespace millrace
