// SPDX-License-Identifier: Apache-2.0
// Emits the term or the epilogue of a loop kernel for the cells of one tile. A value that several cells share is
// emitted once.
#include "jit/map/body.h"

#include <algorithm>

#include "millrace/hal/host_kernel.h"
#include "millrace/jit/float16_bodies.h"

namespace millrace {
namespace {

bool is_rare_select(const BodyInstruction& instruction) {
  return instruction.op == KernelOp::kSelect && instruction.immediate != 0;
}

}  // namespace

/// Each round rotates the bits of the index (vector, lane) by one.
std::vector<MachineValue> weave(MachineBuilder& b, std::vector<MachineValue> vectors) {
  for (std::size_t round = 1; round < vectors.size(); round *= 2) {
    std::vector<MachineValue> next;
    for (std::size_t i = 0; i < vectors.size() / 2; ++i) {
      for (const bool is_upper : {false, true}) {
        next.push_back(b.interleave(vectors[i], vectors[i + vectors.size() / 2], is_upper));
      }
    }
    vectors = std::move(next);
  }
  return vectors;
}

BodyEmitter::BodyEmitter(const MapContext& context, std::optional<std::uint32_t> pass, const Position& position,
                         const TileShape& shape, const RowValues& row)
    : context_(context),
      b_(context.b),
      body_(pass ? context.kernel.terms[*pass] : context.kernel.epilogue),
      variance_(pass ? context.term_variance[*pass] : context.epilogue_variance),
      position_(position),
      shape_(shape),
      row_(row),
      values_(body_.instructions.size() * shape.rows * shape.vectors),
      loaded_(values_.size()),
      splats_(values_.size()) {}

std::size_t BodyEmitter::slot_of(BodyValueId id, std::uint32_t row, std::uint32_t vector) const {
  const Variance& variance = variance_[index_of(id)];
  if (!variance.with_row) row = 0;
  if (!variance.with_vector) vector = 0;
  return (index_of(id) * shape_.rows + row) * shape_.vectors + vector;
}

MachineValue BodyEmitter::value(BodyValueId id, std::uint32_t row, std::uint32_t vector) {
  const std::size_t slot = slot_of(id, row, vector);
  if (!values_[slot]) values_[slot] = emit(id, row, vector);
  return *values_[slot];
}

MachineValue BodyEmitter::stored_value(BodyValueId id, DType stored, std::uint32_t row, std::uint32_t vector) {
  const BodyInstruction& instruction = body_.instructions[id];
  if (instruction.op == KernelOp::kLoad && context_.loads[instruction.immediate].stored == stored) {
    return loaded(id, row, vector);
  }
  if (instruction.op == KernelOp::kConvert && !is_register_dtype(stored) &&
      body_.instructions[instruction.operands[0]].dtype == stored) {
    return value(instruction.operands[0], row, vector);
  }
  return narrow_to_stored(b_, widen_stored(b_, value(id, row, vector), instruction.dtype), stored);
}

MachineValue BodyEmitter::loaded(BodyValueId id, std::uint32_t row, std::uint32_t vector) {
  std::optional<MachineValue>& found = loaded_[slot_of(id, row, vector)];
  if (!found) found = emit_load(body_.instructions[id], row, vector);
  return *found;
}

MachineValue BodyEmitter::vector_value(BodyValueId id, std::uint32_t row, std::uint32_t vector) {
  const MachineValue plain = value(id, row, vector);
  if (plain.lanes == context_.tiling.lanes) return plain;
  std::optional<MachineValue>& splat = splats_[slot_of(id, row, vector)];
  if (!splat) splat = b_.splat(plain, context_.tiling.lanes);
  return *splat;
}

MachineValue BodyEmitter::emit(BodyValueId id, std::uint32_t row, std::uint32_t vector) {
  const BodyInstruction& instruction = body_.instructions[id];
  if (is_rare_select(instruction)) return emit_rare_select(id, row, vector);
  switch (instruction.op) {
    case KernelOp::kConstant:
      return b_.constant_scalar({instruction.dtype, instruction.immediate});
    case KernelOp::kLoad:
      return widen_stored(b_, loaded(id, row, vector), context_.loads[instruction.immediate].stored);
    case KernelOp::kIndex:
      return emit_index(instruction.immediate, row, vector);
    case KernelOp::kExtent:
      return b_.size(context_.kernel.extents[instruction.immediate]);
    case KernelOp::kReduced: {
      if (context_.reduces_lanes()) return row_.reduced[instruction.immediate * shape_.rows + row];
      return row_.reduced[(instruction.immediate * shape_.rows + row) * shape_.vectors + vector];
    }
    case KernelOp::kTemporary:
      return emit_temporary(instruction.immediate, row, vector);
    case KernelOp::kCheckIndex:
      return emit_check_index(instruction, row, vector);
    default:
      return emit_lanewise(instruction, row, vector);
  }
}

/// The rare select `id`, and the rare selects right after it that have the same condition and do not depend on each
/// other.
std::vector<BodyValueId> BodyEmitter::rare_selects_from(BodyValueId id) const {
  std::vector<BodyValueId> ids = {id};
  const BodyInstruction& first = body_.instructions[id];
  for (std::size_t i = index_of(id) + 1; i < body_.instructions.size(); ++i) {
    const BodyInstruction& next = body_.instructions[BodyValueId(i)];
    const bool reads_others =
        std::ranges::any_of(next.operands, [&](BodyValueId operand) { return index_of(operand) >= index_of(id); });
    if (!is_rare_select(next) || next.operands[0] != first.operands[0] || reads_others) break;
    ids.push_back(BodyValueId(i));
  }
  return ids;
}

/// Emits rare_selects_from(id) together, as one branch. Values that only the rare alternatives need are computed only
/// if the condition holds in some lane.
MachineValue BodyEmitter::emit_rare_select(BodyValueId id, std::uint32_t row, std::uint32_t vector) {
  const std::vector<BodyValueId> ids = rare_selects_from(id);
  const auto operand = [&](std::size_t i, std::size_t number) { return body_.instructions[ids[i]].operands[number]; };
  const MachineValue condition = value(operand(0, 0), row, vector);
  MachineBuilder::Values usual;
  for (std::size_t i = 0; i < ids.size(); ++i) usual.push_back(value(operand(i, 2), row, vector));
  std::vector<std::uint32_t> lanes;  // of each selected value
  const auto rare = [&] {
    BodyEmitter inside = *this;  // a copy: values of the branch must not be used outside it
    MachineBuilder::Values selected;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const MachineValue value = inside.value(operand(i, 1), row, vector);
      lanes.push_back(std::max({condition.lanes, value.lanes, usual[i].lanes}));
      selected.push_back(b_.splat(b_.select(condition, value, usual[i]), lanes[i]));
    }
    return selected;
  };
  const auto otherwise = [&] {
    MachineBuilder::Values selected;
    for (std::size_t i = 0; i < ids.size(); ++i) selected.push_back(b_.splat(usual[i], lanes[i]));
    return selected;
  };
  const MachineValue any = condition.lanes > 1 ? b_.reduce(KernelOp::kReduceMax, condition) : condition;
  const MachineBuilder::Values selected = b_.if_else(any, rare, otherwise);
  for (std::size_t i = 0; i < ids.size(); ++i) values_[slot_of(ids[i], row, vector)] = selected[i];
  return selected[0];
}

MachineValue BodyEmitter::emit_temporary(std::uint64_t number, std::uint32_t row, std::uint32_t vector) {
  if (context_.temporaries.empty()) return row_.temporaries[number];
  return load_cell(context_, {context_.temporaries[number], position_.temporaries[number], row, vector, {}},
                   shape_.mask);
}

MachineValue BodyEmitter::emit_lanewise(const BodyInstruction& instruction, std::uint32_t row, std::uint32_t vector) {
  // A register holds a 16-bit float as its bits, like memory.
  if (instruction.op == KernelOp::kConvert && !is_register_dtype(instruction.dtype)) {
    return stored_value(instruction.operands[0], instruction.dtype, row, vector);
  }
  std::array<MachineValue, 3> operands;
  bool has_vector = false;
  for (unsigned i = 0; i < instruction.num_operands; ++i) {
    operands[i] = value(instruction.operands[i], row, vector);
    has_vector |= operands[i].lanes > 1;
  }
  for (unsigned i = 0; has_vector && i < instruction.num_operands; ++i) {
    operands[i] = vector_value(instruction.operands[i], row, vector);
  }
  if (instruction.op == KernelOp::kConvert) {
    const DType from = body_.instructions[instruction.operands[0]].dtype;
    return b_.convert(instruction.dtype, widen_stored(b_, operands[0], from));
  }
  if (instruction.op == KernelOp::kBitcast) return b_.bitcast(register_dtype(instruction.dtype), operands[0]);
  switch (instruction.num_operands) {
    case 1:
      return b_.emit(instruction.op, instruction.dtype, {operands[0]});
    case 2:
      return b_.emit(instruction.op, instruction.dtype, {operands[0], operands[1]});
    default:
      return b_.emit(instruction.op, instruction.dtype, {operands[0], operands[1], operands[2]});
  }
}

MachineValue BodyEmitter::emit_index(std::uint64_t dim, std::uint32_t row, std::uint32_t vector) {
  const AffineIndex index = dim_index(context_.kernel.domain.size(), dim);
  const MachineValue first = context_.in_tile(position_.indices[dim], index, row, vector).value(b_);
  const std::uint32_t lanes = context_.tiling.lanes;
  if (lanes == 1 || context_.vector_coefficient(index).is(0)) return first;
  const MachineValue lane = b_.lane_iota(DType::kI64, lanes);
  return b_.add(lane, b_.splat(first, lanes));
}

MachineValue BodyEmitter::emit_check_index(const BodyInstruction& instruction, std::uint32_t row,
                                           std::uint32_t vector) {
  const MachineValue index = value(instruction.operands[0], row, vector);
  const MachineValue extent = value(instruction.operands[1], row, vector);
  const MachineValue zero = b_.i64(0);
  const MachineValue is_negative = b_.lt(index, zero);
  const MachineValue wrapped = b_.select(is_negative, b_.add(index, extent), index);
  const MachineValue is_below = b_.lt(wrapped, zero);
  MachineValue bad = b_.bit_or(is_below, b_.le(extent, wrapped));
  const MachineValue checked = b_.select(bad, zero, wrapped);
  if (bad.lanes > 1 && shape_.mask) bad = b_.bit_and(bad, *shape_.mask);
  b_.report_error(bad, static_cast<std::uint32_t>(KernelError::kIndexOutOfRange));
  return checked;
}

/// Whether the load reads a square block in which neighbouring rows are neighbours in memory, and neighbouring lanes
/// are not.
bool BodyEmitter::is_transposed(const BodyInstruction& load) const {
  const AccessPlan& plan = context_.loads[load.immediate];
  const bool is_square = shape_.rows == context_.tiling.lanes && (!shape_.mask || shape_.points);
  return context_.tiling.transposes_loads && is_square && load.num_operands == 0 && plan.guards.empty() &&
         context_.row_coefficient(plan.offset).is(1) && !context_.vector_coefficient(plan.offset).is(0);
}

/// The rows of a square block. Loads one vector per lane; its elements are neighbours in memory and belong to
/// successive rows. Then weaves them, which transposes a square block. A lane without a point loads the vector of the
/// last lane with a point, so that nothing outside the tensor is read.
const std::vector<MachineValue>& BodyEmitter::transposed_rows(std::uint64_t load, std::uint32_t vector) {
  std::vector<MachineValue>& block = transposed_[{load, vector}];
  if (!block.empty()) return block;
  const AccessPlan& plan = context_.loads[load];
  const LinearValue start = context_.in_tile(position_.loads[load].offset, plan.offset, 0, vector);
  const std::uint32_t lanes = context_.tiling.lanes;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    LinearValue step(lane);
    if (shape_.points && lane > 0) step = LinearValue(b_.min(b_.i64(lane), b_.sub(*shape_.points, b_.i64(1))));
    const LinearValue offset = start.plus(b_, step, context_.vector_coefficient(plan.offset));
    const MachineValue along_rows = b_.load(plan.memory, offset.value(b_), lanes);
    block.push_back(plan.stored == DType::kBool ? b_.convert(DType::kU8, along_rows) : along_rows);
  }
  block = weave(b_, std::move(block));
  return block;
}

MachineValue BodyEmitter::emit_load(const BodyInstruction& instruction, std::uint32_t row, std::uint32_t vector) {
  if (is_transposed(instruction)) {
    const MachineValue transposed = transposed_rows(instruction.immediate, vector)[row];
    const bool is_bool = context_.loads[instruction.immediate].stored == DType::kBool;
    return is_bool ? b_.convert(DType::kBool, transposed) : transposed;
  }
  CellAccess access{context_.loads[instruction.immediate], position_.loads[instruction.immediate], row, vector, {}};
  if (instruction.num_operands == 1) access.dynamic_index = value(instruction.operands[0], row, vector);
  return load_cell(context_, access, shape_.mask);
}

}  // namespace millrace
