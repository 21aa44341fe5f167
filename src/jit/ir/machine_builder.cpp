// SPDX-License-Identifier: Apache-2.0
// Builds machine kernels instruction by instruction. Values that all blocks can share, such as constants, sizes and
// ids, are defined once, at the start of the body.
#include "millrace/jit/machine_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

std::vector<MachineValueId> ids_of(const std::vector<MachineValue>& values) {
  std::vector<MachineValueId> ids;
  ids.reserve(values.size());
  for (const MachineValue& value : values) ids.push_back(value.id);
  return ids;
}

}  // namespace

MachineBuilder::MachineBuilder(std::string name) {
  kernel_.name = std::move(name);
  open_.push_back(kernel_.blocks.push_back({}));
}

MachineValue MachineBuilder::define(VectorType type) {
  value_is_in_head_.push_back(false);
  return {kernel_.types.push_back(type), type.dtype, type.lanes};
}

MachineValue MachineBuilder::append(VectorType result, KernelOp op, std::vector<MachineValueId> operands,
                                    std::uint64_t immediate) {
  const MachineValue value = define(result);
  kernel_.blocks[open_.back()].instructions.push_back(
      {.op = op, .operands = std::move(operands), .results = {value.id}, .immediate = immediate, .blocks = {}});
  return value;
}

void MachineBuilder::append_effect(KernelOp op, std::vector<MachineValueId> operands, std::uint64_t immediate) {
  kernel_.blocks[open_.back()].instructions.push_back(
      {.op = op, .operands = std::move(operands), .results = {}, .immediate = immediate, .blocks = {}});
}

MachineValue MachineBuilder::head(VectorType type, KernelOp op, std::vector<MachineValueId> operands,
                                  std::uint64_t immediate) {
  const auto operand = operands.empty() ? static_cast<MachineValueId>(UINT32_MAX) : operands[0];
  const auto [place, is_new] =
      head_values_.try_emplace(HeadKey{op, operand, immediate, type.dtype, type.lanes}, MachineValueId{});
  if (!is_new) return {place->second, type.dtype, type.lanes};
  const MachineValue value = define(type);
  place->second = value.id;
  value_is_in_head_[index_of(value.id)] = true;
  head_.push_back(
      {.op = op, .operands = std::move(operands), .results = {value.id}, .immediate = immediate, .blocks = {}});
  return value;
}

bool MachineBuilder::is_in_head(MachineValue value) const { return value_is_in_head_[index_of(value.id)]; }

MemoryHandle MachineBuilder::buffer(std::string name, DType dtype, BufferAccess access) {
  kernel_.buffers.push_back({.name = std::move(name), .dtype = dtype, .access = access});
  return {{.is_slot = false, .index = static_cast<std::uint32_t>(kernel_.buffers.size() - 1)}, dtype};
}

MachineValue MachineBuilder::size(const SizeExpr& value) {
  if (value.is_constant()) return i64(value.constant());
  const auto found = std::ranges::find_if(kernel_.sizes, [&](const SizeArgument& size) { return size.value == value; });
  const auto number = static_cast<std::size_t>(found - kernel_.sizes.begin());
  if (found == kernel_.sizes.end()) kernel_.sizes.push_back({fmt::format("s{}", number), value});
  return head({DType::kI64, 1}, KernelOp::kSize, {}, number);
}

MemoryHandle MachineBuilder::slot(MemoryKind kind, DType dtype, std::uint64_t num_elements, std::string name) {
  kernel_.slots.push_back({std::move(name), kind, dtype, num_elements});
  return {{.is_slot = true, .index = static_cast<std::uint32_t>(kernel_.slots.size() - 1)}, dtype};
}

MemoryHandle MachineBuilder::workgroup_memory(DType dtype, std::uint64_t num_elements, std::string name) {
  return slot(MemoryKind::kWorkgroup, dtype, num_elements, std::move(name));
}

MemoryHandle MachineBuilder::workgroup_rows(DType dtype, std::uint64_t num_rows, const PaddedRow& row,
                                            std::string name) {
  const MemoryHandle rows = workgroup_memory(dtype, num_rows * row.pitch() - row.padding_elements, std::move(name));
  kernel_.slots.back().row = row;
  return rows;
}

MemoryHandle MachineBuilder::private_memory(DType dtype, std::uint64_t num_elements, std::string name) {
  return slot(MemoryKind::kPrivate, dtype, num_elements, std::move(name));
}

MachineValue MachineBuilder::constant_scalar(Scalar value) {
  MILLRACE_CHECK(is_register_dtype(value.dtype));
  return head({value.dtype, 1}, KernelOp::kConstant, {}, value.bits);
}

MachineValue MachineBuilder::to_lanes(MachineValue value, std::uint32_t lanes) {
  if (value.lanes == lanes) return value;
  MILLRACE_CHECK(value.lanes == 1);
  const VectorType type{value.dtype, lanes};
  if (is_in_head(value)) return head(type, KernelOp::kSplat, {value.id}, 0);
  return append(type, KernelOp::kSplat, {value.id});
}

MachineValue MachineBuilder::emit(KernelOp op, DType dtype, std::initializer_list<MachineValue> operands) {
  std::uint32_t lanes = 1;
  for (const MachineValue& operand : operands) lanes = std::max(lanes, operand.lanes);
  std::vector<MachineValueId> ids;
  std::vector<DType> dtypes;
  for (const MachineValue& operand : operands) {
    ids.push_back(to_lanes(operand, lanes).id);
    dtypes.push_back(operand.dtype);
  }
  MILLRACE_CHECK(op != KernelOp::kConstant && is_register_dtype(dtype) && follows_rule(op, dtype, dtypes));
  return append({dtype, lanes}, op, std::move(ids));
}

MachineValue MachineBuilder::workgroup_id() { return head({DType::kI64, 1}, KernelOp::kWorkgroupId, {}, 0); }

MachineValue MachineBuilder::thread_id() { return head({DType::kI32, 1}, KernelOp::kThreadId, {}, 0); }

MachineValue MachineBuilder::lane_iota(DType dtype, std::uint32_t lanes) {
  MILLRACE_CHECK(takes(KernelOp::kLaneIota, dtype) && lanes > 0);
  return head({dtype, lanes}, KernelOp::kLaneIota, {}, 0);
}

MachineValue MachineBuilder::splat(MachineValue scalar, std::uint32_t lanes) { return to_lanes(scalar, lanes); }

MachineValue MachineBuilder::extract(MachineValue vector, std::uint32_t lane) {
  MILLRACE_CHECK(lane < vector.lanes);
  if (vector.lanes == 1) return vector;
  return append({vector.dtype, 1}, KernelOp::kExtract, {vector.id}, lane);
}

MachineValue MachineBuilder::interleave(MachineValue a, MachineValue b, bool is_upper) {
  MILLRACE_CHECK(a.dtype == b.dtype && a.lanes == b.lanes && a.lanes % 2 == 0);
  return append({a.dtype, a.lanes}, KernelOp::kInterleave, {a.id, b.id}, is_upper ? 1 : 0);
}

MachineValue MachineBuilder::widen_f16(MachineValue bits) {
  return append({DType::kF32, bits.lanes}, KernelOp::kWidenF16, {bits.id});
}

MachineValue MachineBuilder::narrow_f16(MachineValue f32) {
  return append({DType::kU16, f32.lanes}, KernelOp::kNarrowF16, {f32.id});
}

MachineValue MachineBuilder::reduce(KernelOp reduce_op, MachineValue vector) {
  if (vector.lanes == 1) return vector;
  return append({vector.dtype, 1}, reduce_op, {vector.id});
}

MachineValue MachineBuilder::load(MemoryHandle memory, MachineValue offset, std::uint32_t lanes) {
  return append({register_dtype(memory.dtype), lanes}, KernelOp::kLoadVector, {offset.id}, memory.ref.encode());
}

MachineValue MachineBuilder::load_masked(MemoryHandle memory, MachineValue offset, MachineValue mask,
                                         MachineValue other) {
  return append({register_dtype(memory.dtype), mask.lanes}, KernelOp::kLoadMasked,
                {offset.id, mask.id, to_lanes(other, mask.lanes).id}, memory.ref.encode());
}

MachineValue MachineBuilder::gather(MemoryHandle memory, MachineValue offsets, MachineValue mask, MachineValue other) {
  const std::uint32_t lanes = offsets.lanes;
  return append({register_dtype(memory.dtype), lanes}, KernelOp::kGather,
                {offsets.id, to_lanes(mask, lanes).id, to_lanes(other, lanes).id}, memory.ref.encode());
}

void MachineBuilder::store(MemoryHandle memory, MachineValue offset, MachineValue value) {
  append_effect(KernelOp::kStoreVector, {offset.id, value.id}, memory.ref.encode());
}

void MachineBuilder::store_streaming(MemoryHandle memory, MachineValue offset, MachineValue value) {
  append_effect(KernelOp::kStoreStreaming, {offset.id, value.id}, memory.ref.encode());
}

void MachineBuilder::store_masked(MemoryHandle memory, MachineValue offset, MachineValue mask, MachineValue value) {
  append_effect(KernelOp::kStoreMasked, {offset.id, mask.id, to_lanes(value, mask.lanes).id}, memory.ref.encode());
}

void MachineBuilder::scatter(MemoryHandle memory, MachineValue offsets, MachineValue mask, MachineValue value) {
  const std::uint32_t lanes = offsets.lanes;
  append_effect(KernelOp::kScatter, {offsets.id, to_lanes(mask, lanes).id, to_lanes(value, lanes).id},
                memory.ref.encode());
}

MachineValue MachineBuilder::atomic(KernelOp atomic_op, MemoryHandle memory, MachineValue offset, MachineValue value) {
  MILLRACE_CHECK(is_atomic(atomic_op));
  return append({memory.dtype, 1}, atomic_op, {offset.id, value.id}, memory.ref.encode());
}

void MachineBuilder::report_error(MachineValue any_true, std::uint32_t kernel_error) {
  append_effect(KernelOp::kReportError, {any_true.id}, kernel_error);
}

void MachineBuilder::barrier() { append_effect(KernelOp::kBarrier, {}); }

std::vector<MachineValueId> MachineBuilder::build_block(BlockId block, const std::function<Values()>& body) {
  open_.push_back(block);
  std::vector<MachineValueId> yields = ids_of(body());
  open_.pop_back();
  kernel_.blocks[block].yields = yields;
  return yields;
}

MachineBuilder::Values MachineBuilder::for_loop(
    MachineValue lower, MachineValue upper, MachineValue step, const Values& initial,
    const std::function<Values(MachineValue index, const Values& carried)>& body) {
  const BlockId block = kernel_.blocks.push_back({});
  const MachineValue index = define({lower.dtype, 1});
  Values carried, results;
  for (const MachineValue& value : initial) carried.push_back(define({value.dtype, value.lanes}));
  kernel_.blocks[block].parameters = ids_of(carried);
  kernel_.blocks[block].parameters.insert(kernel_.blocks[block].parameters.begin(), index.id);
  const auto yields = build_block(block, [&] { return body(index, carried); });
  MILLRACE_CHECK(yields.size() == initial.size());
  std::vector<MachineValueId> operands{lower.id, upper.id, step.id};
  for (const MachineValue& value : initial) {
    operands.push_back(value.id);
    results.push_back(define({value.dtype, value.lanes}));
  }
  kernel_.blocks[open_.back()].instructions.push_back({.op = KernelOp::kFor,
                                                       .operands = std::move(operands),
                                                       .results = ids_of(results),
                                                       .immediate = 0,
                                                       .blocks = {block}});
  return results;
}

MachineBuilder::Values MachineBuilder::if_else(MachineValue condition, const std::function<Values()>& then_body,
                                               const std::function<Values()>& else_body) {
  const BlockId then_block = kernel_.blocks.push_back({});
  const auto yields = build_block(then_block, then_body);
  const BlockId else_block = kernel_.blocks.push_back({});
  build_block(else_block, else_body);
  Values results;
  for (const MachineValueId id : yields) results.push_back(define(kernel_.types[id]));
  kernel_.blocks[open_.back()].instructions.push_back({.op = KernelOp::kIf,
                                                       .operands = {condition.id},
                                                       .results = ids_of(results),
                                                       .immediate = 0,
                                                       .blocks = {then_block, else_block}});
  return results;
}

MachineKernel MachineBuilder::finish() {
  MILLRACE_CHECK(open_.size() == 1);
  auto& body = kernel_.blocks[open_[0]].instructions;
  body.insert(body.begin(), head_.begin(), head_.end());
  if (const Status status = unguarded(verify_step(kernel_)); !status.ok()) {
    check_failed(__FILE__, __LINE__, status.message().c_str());
  }
  return std::move(kernel_);
}

}  // namespace millrace
