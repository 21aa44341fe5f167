// SPDX-License-Identifier: Apache-2.0
// Emits the reductions of a tile: its accumulators, the loops over the reduction dims, and the joining of lanes.
#include "jit/map/reduction.h"

#include <algorithm>
#include <limits>

#include "jit/map/nest.h"
#include "jit/map/tile.h"

namespace millrace {

ReductionEmitter::ReductionEmitter(const MapContext& context, const TileShape& shape, std::uint32_t pass,
                                   RowValues& row)
    : context_(context), b_(context.b), kernel_(context.kernel), pass_(pass), row_(row), shape_(shape) {
  for (const Reduction& reduction : kernel_.reductions) {
    if (reduction.pass == pass) reductions_.push_back(reduction);
  }
  // If lanes run along a reduction dim, only the pass uses vectors; the cells of the epilogue are scalars.
  if (!context.reduces_lanes()) return;
  shape_.vectors = context.tiling.vector_unroll;
  if (classify(kernel_) == LoopKind::kRows)
    shape_.vectors = std::min(shape_.vectors, vectors_of_body(kernel_.terms[pass]));
}

Accumulators ReductionEmitter::initial() {
  Accumulators accumulators;
  const std::uint32_t lanes = context_.tiling.lanes;
  const auto in_lanes = [&](MachineValue scalar) { return lanes == 1 ? scalar : b_.splat(scalar, lanes); };
  for (const Reduction& reduction : reductions_) {
    const MachineValue identity = in_lanes(b_.constant_scalar(identity_of(reduction)));
    const bool has_index = returns_index(reduction.kind);
    accumulators.insert(accumulators.end(), cells(), {identity, has_index ? in_lanes(b_.i64(0)) : identity});
  }
  return accumulators;
}

RangeValues ReductionEmitter::pack(const Accumulators& accumulators) const {
  RangeValues values;
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    values.push_back(accumulators[i].value);
    if (returns_index(reduction_of(i).kind)) values.push_back(accumulators[i].index);
  }
  return values;
}

Accumulators ReductionEmitter::unpack(const RangeValues& values) const {
  Accumulators accumulators;
  std::size_t next = 0;
  for (std::size_t i = 0; i < terms_ * num_accumulators(); ++i) {
    const MachineValue value = values[next++];
    const bool has_index = returns_index(reduction_of(i).kind);
    accumulators.push_back({value, has_index ? values[next++] : value});
  }
  return accumulators;
}

void ReductionEmitter::finish(const Accumulators& accumulators) {
  if (reductions_.empty()) return;
  const std::size_t each = accumulators.size() / reductions_.size();
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const bool has_index = returns_index(reductions_[i / each].kind);
    row_.reduced.push_back(has_index ? accumulators[i].index : accumulators[i].value);
  }
}

std::vector<bool> ReductionEmitter::packed_float_sums() const {
  std::vector<bool> sums;
  for (std::size_t i = 0; i < terms_ * num_accumulators(); ++i) {
    const Reduction& reduction = reduction_of(i);
    sums.insert(sums.end(), returns_index(reduction.kind) ? 2 : 1, is_float_sum(reduction));
  }
  return sums;
}

Accumulators ReductionEmitter::reduce(const Position& position, const std::optional<SharedDim>& shared) {
  const RangeValues one = pack(initial());
  RangeValues values;
  terms_ = context_.tiling.term_unroll;
  for (std::uint32_t term = 0; term < terms_; ++term) values.insert(values.end(), one.begin(), one.end());
  values = emit_loops(plan_loops(shared), position, shared, values);
  const Accumulators joined = join_terms(unpack(values));
  terms_ = 1;
  return context_.reduces_lanes() ? join_lanes(joined) : joined;
}

/// Plans the loops over the reduction dims. The dim of the lanes, if it is one of them, is innermost.
std::vector<ReductionEmitter::Loop> ReductionEmitter::plan_loops(const std::optional<SharedDim>& shared) const {
  std::vector<Loop> loops;
  for (std::size_t d = kernel_.num_parallel(); d < kernel_.domain.size(); ++d) {
    if (d != context_.tiling.vector_dim) loops.push_back({.dim = d});
  }
  if (context_.reduces_lanes()) {
    const std::int64_t lanes = context_.tiling.lanes;
    loops.push_back({.dim = context_.tiling.vector_dim, .tile = lanes * shape_.vectors, .tail = lanes});
  }
  if (terms_ > 1) loops.back().tile = terms_;
  std::vector<std::int64_t> max_steps;
  for (Loop& loop : loops) {
    if (shared && shared->dim == loop.dim) loop.tile = shared->step;
    // The accumulators of the first vector or term also sum the remainder.
    const SizeExpr& extent = kernel_.domain[loop.dim].extent;
    const bool has_remainder = extent.known_multiple() % loop.tile != 0;
    max_steps.push_back(extent.upper_bound() / loop.tile + (has_remainder ? std::max(shape_.vectors, terms_) : 0));
  }
  const bool has_float_sum = std::ranges::any_of(reductions_, is_float_sum);
  const std::int64_t terms = has_float_sum ? max_terms(kernel_) : std::numeric_limits<std::int64_t>::max();
  const std::vector<SumLevels> levels = plan_sum_levels(max_steps, terms);
  for (std::size_t i = 0; i < loops.size(); ++i) loops[i].levels = levels[i];
  return loops;
}

RangeValues ReductionEmitter::emit_loops(std::span<const Loop> loops, const Position& position,
                                         const std::optional<SharedDim>& shared, const RangeValues& carried) {
  if (loops.empty()) return pack(accumulate(position, unpack(carried), shape_));
  const Loop& loop = loops[0];
  const RangeSteps steps = steps_of(loops, position, shared);
  const SizeExpr& extent = kernel_.domain[loop.dim].extent;
  if (is_unrolled(loop)) {
    RangeValues values = carried;
    for (std::int64_t i = 0; i < extent.constant(); ++i) {
      values = emit_loops(loops.subspan(1), context_.enter(position, loop.dim, LinearValue(i)), shared, values);
    }
    return values;
  }
  if (!shared || shared->dim != loop.dim) return emit_range(b_, whole_range(b_, extent), steps, carried);
  const MapLoop of_thread{
      shared->first, b_.size(extent), b_.i64(shared->step),
      [&](MachineValue index, const RangeValues& values) { return steps.main_step(LinearValue(index), values); }};
  return steps.main_loop(of_thread, carried);
}

/// Whether the loop's steps are emitted one after the other. Steps with bounds checks would be long.
bool ReductionEmitter::is_unrolled(const Loop& loop) const {
  const auto is_checked = [](const AccessPlan& load) { return !load.guards.empty(); };
  return context_.tiling.unrolls_reductions && kernel_.domain[loop.dim].extent.is_constant() && loop.tile == 1 &&
         loop.levels.levels == 0 && std::ranges::none_of(context_.loads, is_checked);
}

/// The steps of the first of `loops`. The others are emitted inside it. The result refers to `loops`.
RangeSteps ReductionEmitter::steps_of(std::span<const Loop> loops, const Position& position,
                                      const std::optional<SharedDim>& shared) {
  const Loop& loop = loops[0];
  const bool unrolls_terms = terms_ > 1 && loops.size() == 1;
  RangeSteps steps;
  steps.tile = loop.tile;
  steps.tail = loop.tail;
  steps.main_step = [&, loops, unrolls_terms](const LinearValue& index, const RangeValues& values) {
    if (unrolls_terms) return pack(accumulate_terms(position, loop.dim, index, unpack(values)));
    return emit_loops(loops.subspan(1), context_.enter(position, loop.dim, index), shared, values);
  };
  steps.tail_step = [&, unrolls_terms](const LinearValue& index, std::optional<MachineValue> remaining,
                                       const RangeValues& values) {
    const Position at = context_.enter(position, loop.dim, index);
    if (unrolls_terms) return pack(accumulate(at, unpack(values), shape_));
    return pack(accumulate_tail(at, remaining, unpack(values)));
  };
  steps.main_loop = [&](const MapLoop& main, const RangeValues& values) {
    return emit_nested_sums(b_, main, loop.levels, packed_float_sums(), values);
  };
  return steps;
}

/// Adds neighbouring terms along `dim`, each to its own accumulators.
Accumulators ReductionEmitter::accumulate_terms(const Position& position, std::size_t dim, const LinearValue& first,
                                                Accumulators accumulators) {
  for (std::uint32_t term = 0; term < terms_; ++term) {
    const Position at = context_.enter(position, dim, first.plus(b_, LinearValue(term)));
    const auto begin = accumulators.begin() + static_cast<std::ptrdiff_t>(term * num_accumulators());
    const auto end = begin + static_cast<std::ptrdiff_t>(num_accumulators());
    std::ranges::copy(accumulate(at, Accumulators(begin, end), shape_), begin);
  }
  return accumulators;
}

Accumulators ReductionEmitter::join_terms(const Accumulators& accumulators) {
  Accumulators joined(accumulators.begin(), accumulators.begin() + static_cast<std::ptrdiff_t>(num_accumulators()));
  for (std::size_t i = num_accumulators(); i < accumulators.size(); ++i) {
    TileReduction& sum = joined[i % num_accumulators()];
    sum = combine(b_, reduction_of(i).kind, sum, accumulators[i].value, accumulators[i].value);
  }
  return joined;
}

Accumulators ReductionEmitter::accumulate(const Position& position, Accumulators accumulators, const TileShape& shape) {
  BodyEmitter body(context_, pass_, position, shape, row_);
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    for (std::uint32_t vector = 0; vector < shape.vectors; ++vector) {
      for (std::size_t i = 0; i < reductions_.size(); ++i) {
        // Accumulators are laid out for whole tiles; a tail uses vector 0 only.
        TileReduction& state = accumulators[(i * shape_.rows + row) * shape_.vectors + vector];
        const TileReduction next = accumulate_cell(body, i, state, {row, vector}, position);
        // A lane without a point keeps its state; a whole vector has no mask.
        const bool is_partial = context_.reduces_lanes() && shape.mask.has_value();
        const bool has_index = returns_index(reductions_[i].kind);
        state.value = is_partial ? b_.select(*shape.mask, next.value, state.value) : next.value;
        if (has_index) state.index = is_partial ? b_.select(*shape.mask, next.index, state.index) : next.index;
      }
    }
  }
  write_points(body, position, shape);
  return accumulators;
}

/// Keeps the temporaries and stores the results of the pass at each point of the tile.
void ReductionEmitter::write_points(BodyEmitter& body, const Position& position, const TileShape& shape) {
  const std::vector<BodyValueId>& yields = kernel_.terms[pass_].yields;
  CellStores cells(context_);
  const auto write = [&](const AccessPlan& plan, const AccessPosition& at, BodyValueId yield) {
    for (std::uint32_t row = 0; row < shape.rows; ++row) {
      for (std::uint32_t vector = 0; vector < shape.vectors; ++vector) {
        cells.store({plan, at, row, vector, {}}, shape.mask, body.stored_value(yield, plan.stored, row, vector));
      }
    }
  };
  std::size_t next = reductions_.size();
  for (std::size_t i = 0; i < kernel_.temporaries.size(); ++i) {
    if (kernel_.temporaries[i].pass != pass_) continue;
    const BodyValueId yield = yields[next++];
    if (context_.temporaries.empty()) {
      row_.temporaries.push_back(body.value(yield, 0, 0));
    } else {
      write(context_.temporaries[i], position.temporaries[i], yield);
    }
  }
  for (const std::size_t i : kernel_.stores_of(pass_)) write(context_.stores[i], position.stores[i], yields[next++]);
  cells.finish();
}

TileReduction ReductionEmitter::accumulate_cell(BodyEmitter& body, std::size_t reduction, const TileReduction& state,
                                                Cell cell, const Position& position) {
  const Reduction& kind = reductions_[reduction];
  const Body& term = kernel_.terms[pass_];
  const BodyValueId yield = term.yields[reduction];
  const BodyInstruction& last = term.instructions[yield];
  const bool has_lanes = state.value.lanes > 1;
  const auto in_lanes = [&](BodyValueId id) {
    return has_lanes ? body.vector_value(id, cell.row, cell.vector) : body.value(id, cell.row, cell.vector);
  };
  if (kind.kind == ReductionKind::kSum && last.op == KernelOp::kMul && is_float(kind.dtype)) {
    const MachineValue left = in_lanes(last.operands[0]);
    const MachineValue right = in_lanes(last.operands[1]);
    return {b_.mul_add(left, right, state.value), state.index};
  }
  const MachineValue value = in_lanes(yield);
  if (!returns_index(kind.kind)) return combine(b_, kind.kind, state, value, value);
  return combine(b_, kind.kind, state, value, term_index(cell, position, has_lanes));
}

/// The index of the cell's terms along the only reduction dim.
MachineValue ReductionEmitter::term_index(Cell cell, const Position& position, bool has_lanes) {
  const std::size_t dim = kernel_.num_parallel();
  const std::uint32_t lanes = context_.tiling.lanes;
  const AffineIndex index = dim_index(kernel_.domain.size(), dim);
  const MachineValue first = context_.in_tile(position.indices[dim], index, cell.row, cell.vector).value(b_);
  if (!has_lanes) return first;
  const MachineValue splat = b_.splat(first, lanes);
  if (!context_.reduces_lanes()) return splat;
  const MachineValue lane = b_.lane_iota(DType::kI64, lanes);
  return b_.add(lane, splat);
}

Accumulators ReductionEmitter::accumulate_tail(const Position& position, std::optional<MachineValue> remaining,
                                               Accumulators accumulators) {
  TileShape tail{shape_.rows, 1, std::nullopt};
  if (remaining) tail.mask = lane_mask(b_, context_.tiling.lanes, *remaining);
  return accumulate(position, std::move(accumulators), tail);
}

Accumulators ReductionEmitter::join_lanes(const Accumulators& accumulators) {
  Accumulators joined;
  for (std::size_t i = 0; i < reductions_.size(); ++i) {
    for (std::uint32_t row = 0; row < shape_.rows; ++row) {
      const std::span<const TileReduction> vectors(&accumulators[(i * shape_.rows + row) * shape_.vectors],
                                                   shape_.vectors);
      const ReductionKind kind = reductions_[i].kind;
      joined.push_back(returns_index(kind) ? join_found(kind, vectors) : join(kind, vectors));
    }
  }
  shape_.vectors = 1;
  return joined;
}

TileReduction ReductionEmitter::join(ReductionKind kind, std::span<const TileReduction> vectors) {
  TileReduction sum = vectors[0];
  for (const TileReduction& other : vectors.subspan(1)) sum = combine(b_, kind, sum, other.value, other.value);
  if (sum.value.lanes == 1) return sum;
  // join_found() joins kArgMin and kArgMax.
  constexpr KernelOp kOps[] = {KernelOp::kReduceAdd, KernelOp::kReduceMul, KernelOp::kReduceMin, KernelOp::kReduceMax};
  const MachineValue all = b_.reduce(kOps[static_cast<std::size_t>(kind)], sum.value);
  return {all, all};
}

/// Finds the best value over all lanes, then the lowest index among the lanes that hold it. A lane without a point
/// holds the worst value and index 0. If it ties for the best, all values are the worst, so index 0 is correct.
TileReduction ReductionEmitter::join_found(ReductionKind kind, std::span<const TileReduction> vectors) {
  if (vectors.size() == 1 && vectors[0].value.lanes == 1) return vectors[0];
  const auto across = [&](KernelOp op, MachineValue value) { return value.lanes > 1 ? b_.reduce(op, value) : value; };
  const bool is_min = kind == ReductionKind::kArgMin;
  MachineValue best = vectors[0].value;
  for (const TileReduction& other : vectors.subspan(1)) {
    best = is_min ? b_.min(best, other.value) : b_.max(best, other.value);
  }
  best = across(is_min ? KernelOp::kReduceMin : KernelOp::kReduceMax, best);
  std::optional<MachineValue> index;
  for (const TileReduction& state : vectors) {
    MachineValue holds = b_.eq(state.value, best);
    if (is_float(best.dtype)) {
      const MachineValue is_nan = b_.ne(state.value, state.value);
      holds = b_.bit_or(holds, b_.bit_and(is_nan, b_.ne(best, best)));
    }
    const MachineValue none = b_.i64(std::numeric_limits<std::int64_t>::max());
    const MachineValue first = b_.select(holds, state.index, none);
    index = index ? b_.min(*index, first) : first;
  }
  return {best, across(KernelOp::kReduceMin, *index)};
}

}  // namespace millrace
