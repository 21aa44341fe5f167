// SPDX-License-Identifier: Apache-2.0
// The address arithmetic of a mapping: plans each access and its bounds checks, and tracks positions inside loops.
#include "jit/map/context.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// The fill value in the form that a load returns: registers hold 16-bit floats as u16 until they are widened.
Scalar as_loaded(Scalar fill, DType stored) {
  if (body_dtype(stored) == stored) return fill;
  const Scalar narrow = evaluate(KernelOp::kConvert, stored, std::span(&fill, 1));
  return {DType::kU16, narrow.bits};
}

bool fits_i32(const GuardPlan& guard, const LoopKernel& kernel) {
  // Lanes past the end of a masked vector can exceed the range, but by less than this.
  constexpr std::int64_t kSlack = std::int64_t{1} << 20;
  constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max() - kSlack;
  const std::optional<IndexRange> range = constant_range(guard.index, kernel.domain);
  if (!range || guard.has_dynamic_index || guard.extent.upper_bound() > kLimit) return false;
  for (const SizeExpr& coefficient : guard.index.coefficients) {
    if (coefficient.constant() > 1024 || coefficient.constant() < -1024) return false;
  }
  return range->min > -kLimit && range->max < kLimit;
}

AccessPosition start_of(MachineBuilder& b, const AccessPlan& plan) {
  AccessPosition position{LinearValue::of_size(b, plan.offset.offset), {}};
  for (const GuardPlan& guard : plan.guards) position.guards.push_back(LinearValue::of_size(b, guard.index.offset));
  return position;
}

void enter_access(MachineBuilder& b, AccessPosition& position, const AccessPlan& plan, std::size_t dim,
                  const LinearValue& index) {
  position.offset = position.offset.plus(b, index, plan.offset.coefficients[dim]);
  for (std::size_t g = 0; g < plan.guards.size(); ++g) {
    position.guards[g] = position.guards[g].plus(b, index, plan.guards[g].index.coefficients[dim]);
  }
}

}  // namespace

MapContext::MapContext(MachineBuilder& builder, const LoopKernel& collapsed, const Tiling& chosen)
    : b(builder), kernel(collapsed), tiling(chosen) {
  std::vector<MemoryHandle> operands(kernel.operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (kernel.in_place == i) continue;
    operands[i] = b.buffer(kernel.operands[i].name, kernel.operands[i].type.dtype, BufferAccess::kRead);
  }
  for (const Access& store : kernel.stores) {
    const KernelTensor& tensor = kernel.results[store.tensor];
    const MemoryHandle memory =
        b.buffer(tensor.name, tensor.type.dtype, kernel.in_place ? BufferAccess::kReadWrite : BufferAccess::kWrite);
    if (kernel.in_place) operands[*kernel.in_place] = memory;
    stores.push_back(plan_access(store, tensor, memory));
    stores.back().streams = tiling.streams && can_stream(stores.back());
  }
  for (const Access& load : kernel.loads) {
    loads.push_back(plan_access(load, kernel.operands[load.tensor], operands[load.tensor]));
  }
  if (tiling.loops_epilogue) {
    const std::uint64_t cells_of_tile =
        std::uint64_t{tiling.row_unroll} * (reduces_lanes() ? 1 : tiling.vector_unroll) * cell_lanes();
    for (const Reduction& reduction : kernel.reductions) {
      const DType dtype = returns_index(reduction.kind) ? DType::kI64 : reduction.dtype;
      cells.push_back(tiling.sums_in_memory ? b.workgroup_memory(dtype, cells_of_tile, "sums")
                                            : b.private_memory(dtype, cells_of_tile, "cells"));
    }
  }
  const std::uint64_t block_size = std::uint64_t{tiling.row_unroll} * tiling.lanes;
  for (std::size_t i = 0; tiling.loops_tail_stores && i < stores.size(); ++i) {
    tail_blocks.push_back(b.private_memory(register_dtype(stores[i].stored), block_size, "tail"));
  }
  find_variances();
}

void MapContext::find_variances() {
  term_variance.clear();
  for (const Body& term : kernel.terms) term_variance.push_back(find_variance(term));
  epilogue_variance = find_variance(kernel.epilogue);
}

MapContext MapContext::without_guards() const {
  MapContext inside = *this;
  for (AccessPlan& load : inside.loads) {
    std::erase_if(load.guards, [](const GuardPlan& guard) { return !guard.has_dynamic_index; });
  }
  inside.find_variances();
  return inside;
}

void MapContext::remove_guards(Position& position) const {
  for (std::size_t i = 0; i < loads.size(); ++i) {
    std::vector<LinearValue> left;
    for (std::size_t g = 0; g < loads[i].guards.size(); ++g) {
      if (loads[i].guards[g].has_dynamic_index) left.push_back(position.loads[i].guards[g]);
    }
    position.loads[i].guards = std::move(left);
  }
}

void MapContext::place_temporaries() {
  // [row][point of the reduction dims][vector][lane]; if lanes run along a reduction dim, [row][point].
  AffineIndex offset = constant_index(kernel.domain.size(), 0);
  SizeExpr step = reduces_lanes() ? 1 : std::int64_t{tiling.vector_unroll} * tiling.lanes;
  std::int64_t size = step.constant();
  for (std::size_t d = kernel.domain.size(); d-- > kernel.num_parallel();) {
    offset.coefficients[d] = step;
    step = step * kernel.domain[d].extent;
    size = saturating::multiply(size, std::max<std::int64_t>(kernel.domain[d].extent.upper_bound(), 1));
  }
  if (has_vector_dim() && !reduces_lanes()) offset.coefficients[tiling.vector_dim] = 1;
  if (has_row_dim()) offset.coefficients[tiling.row_dim] = size;
  size = saturating::multiply(size, std::int64_t{tiling.row_unroll});
  for (const Temporary& temporary : kernel.temporaries) {
    const MemoryHandle memory = b.workgroup_memory(temporary.dtype, static_cast<std::uint64_t>(size), "temporary");
    temporaries.push_back({memory, temporary.dtype, offset, 0, {}, Scalar{temporary.dtype, 0}});
  }
}

AccessPlan MapContext::plan_access(const Access& access, const KernelTensor& tensor, MemoryHandle memory) const {
  AccessPlan plan{memory, tensor.type.dtype, element_offset(access, tensor.layout, kernel.domain.size()), 0, {}, {}};
  if (access.dynamic_dim) plan.dynamic_stride = tensor.layout.strides[*access.dynamic_dim];
  for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
    const bool is_dynamic = access.dynamic_dim == axis;
    const SizeExpr& extent = tensor.type.shape[axis];
    // A checked index is always inside its axis, unless the extent is 0. Index 0, which replaces an index out of range,
    // is then outside too.
    const bool is_safe = is_dynamic ? !access.fill && extent.lower_bound() >= 1
                                    : !access.fill || is_inside(access.indices[axis], extent, kernel.domain);
    if (is_safe) continue;
    GuardPlan guard{access.indices[axis], extent, is_dynamic, false};
    guard.fits_i32 = fits_i32(guard, kernel);
    plan.guards.push_back(std::move(guard));
  }
  plan.other = as_loaded(access.fill.value_or(Scalar{body_dtype(plan.stored), 0}), plan.stored);
  return plan;
}

bool MapContext::weaves_rows(const AccessPlan& store) const {
  const std::uint32_t rows = tiling.row_unroll;
  return has_row_dim() && has_vector_dim() && !reduces_lanes() && rows > 1 && std::has_single_bit(rows) &&
         rows <= tiling.lanes && row_coefficient(store.offset).is(1) && vector_coefficient(store.offset).is(rows);
}

/// Whether each vector of a store begins at a multiple of its lanes, for an instruction that needs that. Loops along
/// the lanes start at 0 and step by whole vectors. A tile of several rows must write whole cache lines of each, because
/// a processor combines the streaming stores of few lines at a time.
bool MapContext::can_stream(const AccessPlan& store) const {
  constexpr std::uint64_t kMinBytes = 16, kLineBytes = 64;
  const std::uint64_t vector_bytes = tiling.lanes * size_bytes(store.stored);
  const bool weaves = weaves_rows(store);
  if (vector_bytes < kMinBytes || !(weaves || vector_coefficient(store.offset).is(1))) return false;
  const std::uint64_t adjacent = weaves ? tiling.row_unroll : tiling.vector_unroll;
  if (tiling.row_unroll > 1 && vector_bytes * adjacent % kLineBytes != 0) return false;
  const auto is_multiple = [&](const SizeExpr& value) { return value.known_multiple() % tiling.lanes == 0; };
  for (std::size_t d = 0; d < store.offset.coefficients.size(); ++d) {
    if (d == tiling.vector_dim || (weaves && d == tiling.row_dim)) continue;
    if (!is_multiple(store.offset.coefficients[d])) return false;
  }
  return is_multiple(store.offset.offset) && is_multiple(store.dynamic_stride);
}

std::vector<Variance> MapContext::find_variance(const Body& body) const {
  std::vector<Variance> variance;
  for (const BodyInstruction& instruction : body.instructions) {
    Variance found;
    for (unsigned i = 0; i < instruction.num_operands; ++i) {
      const Variance& operand = variance[index_of(instruction.operands[i])];
      found.with_row |= operand.with_row;
      found.with_vector |= operand.with_vector;
    }
    const auto add_index = [&](const AffineIndex& index) {
      found.with_row |= !row_coefficient(index).is(0);
      found.with_vector |= !vector_coefficient(index).is(0);
    };
    if (instruction.op == KernelOp::kLoad) {
      const AccessPlan& load = loads[instruction.immediate];
      add_index(load.offset);
      for (const GuardPlan& guard : load.guards) add_index(guard.index);
    } else if (instruction.op == KernelOp::kIndex) {
      add_index(dim_index(kernel.domain.size(), instruction.immediate));
    } else if (instruction.op == KernelOp::kReduced) {
      found = {has_row_dim(), has_vector_dim() && !reduces_lanes()};
    } else if (instruction.op == KernelOp::kTemporary) {
      found = {has_row_dim(), has_vector_dim()};
    }
    variance.push_back(found);
  }
  return variance;
}

Position MapContext::start() const {
  Position position;
  position.indices.resize(kernel.domain.size());
  for (const AccessPlan& plan : loads) position.loads.push_back(start_of(b, plan));
  for (const AccessPlan& plan : stores) position.stores.push_back(start_of(b, plan));
  for (const AccessPlan& plan : temporaries) position.temporaries.push_back(start_of(b, plan));
  return position;
}

Position MapContext::enter(const Position& position, std::size_t dim, const LinearValue& index) const {
  Position entered = position;
  entered.indices[dim] = index;
  for (std::size_t i = 0; i < loads.size(); ++i) enter_access(b, entered.loads[i], loads[i], dim, index);
  for (std::size_t i = 0; i < stores.size(); ++i) enter_access(b, entered.stores[i], stores[i], dim, index);
  for (std::size_t i = 0; i < temporaries.size() && kernel.domain[dim].is_reduction; ++i) {
    enter_access(b, entered.temporaries[i], temporaries[i], dim, index);
  }
  return entered;
}

Position MapContext::move(const Position& position, std::size_t dim, const LinearValue& step) const {
  Position moved = enter(position, dim, step);
  moved.indices[dim] = position.indices[dim].plus(b, step);
  return moved;
}

LinearValue MapContext::in_tile(const LinearValue& base, const AffineIndex& index, std::uint32_t row,
                                std::uint32_t vector) const {
  const LinearValue first_lane(static_cast<std::int64_t>(vector) * tiling.lanes);
  return base.plus(b, LinearValue(row), row_coefficient(index)).plus(b, first_lane, vector_coefficient(index));
}

}  // namespace millrace
