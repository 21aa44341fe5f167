// SPDX-License-Identifier: Apache-2.0
// Loops over the rows along one axis, for kernels with one thread per row (scans, scatters, sorts of short rows).
#include "jit/algorithms/line_walk.h"

#include <algorithm>
#include <bit>

#include "jit/algorithms/control_flow.h"
#include "jit/map/tile.h"

namespace millrace {
namespace {

/// The dim with the largest upper bound, the last dim excluded; the innermost of several that are equal.
std::size_t longest_before_last(const Shape& shape) {
  std::size_t longest = shape.rank() - 2;
  for (std::size_t d = longest; d-- > 0;) {
    if (shape[d].upper_bound() > shape[longest].upper_bound()) longest = d;
  }
  return longest;
}

}  // namespace

LineWalk::LineWalk(MachineBuilder& b, const Shape& shape, std::uint32_t axis, const Threads& threads)
    : b_(b), shape_(shape), axis_(axis), workgroup_size_(threads.workgroup_size) {
  const bool is_last = axis + 1 == shape.rank();
  if (is_last && (!threads.gathers || shape.rank() < 2)) return;
  lane_dim_ = is_last ? longest_before_last(shape) : shape.rank() - 1;
  const std::int64_t needed = std::min<std::int64_t>(shape[lane_dim_].upper_bound(), threads.lanes);
  lanes_ = std::bit_ceil(static_cast<std::uint32_t>(std::max<std::int64_t>(needed, 1)));
}

SizeExpr LineWalk::num_lines() const {
  SizeExpr lines = 1;
  for (std::size_t d = 0; d < shape_.rank(); ++d) {
    if (d != axis_) lines = lines * steps_of(d);
  }
  return lines;
}

SizeExpr LineWalk::num_groups() const {
  return workgroup_size_ == 1 ? num_lines() : ceil_div(num_lines(), workgroup_size_);
}

void LineWalk::run(const std::function<void()>& body) {
  const MachineValue group = b_.workgroup_id();
  if (workgroup_size_ == 1) return walk_line(group, body);
  const MachineValue thread = b_.convert(DType::kI64, b_.thread_id());
  const MachineValue line = b_.mul_add(group, b_.i64(workgroup_size_), thread);
  when(b_, b_.lt(line, b_.size(num_lines())), [&] { walk_line(line, body); });
}

void LineWalk::walk_line(MachineValue line, const std::function<void()>& body) {
  places_.assign(shape_.rank(), LinearValue());
  for (std::size_t d = shape_.rank(); d-- > 0;) {
    if (d == axis_) continue;
    const MachineValue steps = b_.size(steps_of(d));
    const MachineValue step = b_.rem(line, steps);
    places_[d] = LinearValue(is_lane_dim(d) ? b_.mul(step, b_.i64(lanes_)) : step);
    line = b_.div(line, steps);
  }
  if (lanes_ == 1) return body();
  const MachineValue extent = b_.size(shape_[lane_dim_]);
  const MachineValue remaining = b_.sub(extent, places_[lane_dim_].value(b_));
  const auto whole = [&] {
    body();
    return MachineBuilder::Values{};
  };
  const auto masked = [&] {
    mask_ = lane_mask(b_, lanes_, remaining);
    body();
    mask_.reset();
    return MachineBuilder::Values{};
  };
  b_.if_else(b_.le(b_.i64(lanes_), remaining), whole, masked);
}

LinearValue LineWalk::start(const KernelTensor& tensor, const std::function<std::size_t(std::size_t)>& dim_of) const {
  LinearValue offset = LinearValue::of_size(b_, tensor.layout.offset);
  for (std::size_t d = 0; d < shape_.rank(); ++d) {
    if (d != axis_) offset = offset.plus(b_, places_[d], tensor.layout.strides[dim_of(d)]);
  }
  return offset;
}

LinearValue LineWalk::start(const KernelTensor& tensor) const {
  return start(tensor, [](std::size_t d) { return d; });
}

MachineValue LineWalk::element(const KernelTensor& tensor, const LinearValue& start, MachineValue position) {
  return start.plus(b_, LinearValue(position), tensor.layout.strides[axis_]).value(b_);
}

MachineValue LineWalk::load(MemoryHandle memory, const Layout& layout, MachineValue offset) {
  if (lanes_ == 1) return b_.load(memory, offset);
  const MachineValue other = b_.constant_int(register_dtype(memory.dtype), 0);
  const SizeExpr& stride = lane_stride(layout);
  if (!stride.is(1)) return b_.gather(memory, lane_offsets(offset, stride), mask_or_all(), other);
  return mask_ ? b_.load_masked(memory, offset, *mask_, other) : b_.load(memory, offset, lanes_);
}

void LineWalk::store(MemoryHandle memory, const Layout& layout, MachineValue offset, MachineValue value) {
  if (lanes_ == 1) return b_.store(memory, offset, value);
  const SizeExpr& stride = lane_stride(layout);
  if (!stride.is(1)) return b_.scatter(memory, lane_offsets(offset, stride), mask_or_all(), value);
  if (mask_) return b_.store_masked(memory, offset, *mask_, value);
  b_.store(memory, offset, value);
}

MachineValue LineWalk::load_each(MemoryHandle memory, const KernelTensor& tensor, const LinearValue& start,
                                 MachineValue positions) {
  if (lanes_ == 1) return b_.load(memory, element(tensor, start, positions));
  const MachineValue line = lane_offsets(start.value(b_), lane_stride(tensor.layout));
  const MachineValue step = b_.splat(b_.size(tensor.layout.strides[axis_]), lanes_);
  const MachineValue other = b_.constant_int(register_dtype(memory.dtype), 0);
  return b_.gather(memory, b_.add(line, b_.mul(positions, step)), mask_or_all(), other);
}

/// Counts the lane dim from the end, because a scatter's updates may have more or fewer dims in place of the axis. The
/// index of a dim after the axis then differs between tensors, but not its distance from the end.
const SizeExpr& LineWalk::lane_stride(const Layout& layout) const {
  return layout.strides[layout.strides.size() - (shape_.rank() - lane_dim_)];
}

MachineValue LineWalk::mask_or_all() { return mask_ ? *mask_ : b_.splat(b_.constant_int(DType::kBool, 1), lanes_); }

MachineValue LineWalk::lane_offsets(MachineValue offset, const SizeExpr& stride) {
  const MachineValue step = b_.size(stride);
  const MachineValue lane = b_.lane_iota(DType::kI64, lanes_);
  return b_.add(b_.mul(lane, b_.splat(step, lanes_)), b_.splat(offset, lanes_));
}

}  // namespace millrace
