// SPDX-License-Identifier: Apache-2.0
#include "tests/jit/llvm/random_kernel.h"

#include <map>
#include <random>

#include "millrace/jit/machine_builder.h"
#include "tests/jit/llvm/edge_values.h"

namespace millrace::test {
namespace {

using Values = MachineBuilder::Values;

constexpr DType kDTypes[] = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32, DType::kI64, DType::kU8,
                             DType::kU16,  DType::kU32, DType::kU64, DType::kF32, DType::kF64};
constexpr std::int64_t kSlotElements = 64;

class KernelMaker {
 public:
  explicit KernelMaker(const RandomKernelOptions& options)
      : random_(options.seed), with_float_mul_add_(options.with_float_mul_add), b_("random") {}

  MachineKernel make() {
    lanes_ = 1u << below(5);
    n_ = b_.size(Dim("n").at_least(0).at_most(3));
    for (const DType dtype : kDTypes) {
      inputs_[dtype] = b_.buffer("x" + std::string(to_text(dtype)), dtype, true, false);
      outputs_[dtype] = b_.buffer("y" + std::string(to_text(dtype)), dtype, true, true);
    }
    for (const DType dtype : kDTypes) pool_[dtype].push_back(b_.load(inputs_[dtype], b_.i64(below(64)), lanes_));
    const auto num_slots = below(4);
    for (std::uint32_t i = 0; i < num_slots; ++i) make_slot(i);
    block(0, 10 + below(25));
    for (const DType dtype : kDTypes) store_result(dtype);
    b_.set_num_groups(kRandomKernelGroups);
    return b_.finish();
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  DType any_dtype() { return kDTypes[below(std::size(kDTypes))]; }
  MachineValue any(DType dtype) { return pool_[dtype][below(static_cast<std::uint32_t>(pool_[dtype].size()))]; }
  MachineValue any_scalar(DType dtype) { return b_.extract(any(dtype), below(lanes_)); }
  void keep(MachineValue value) { pool_[value.dtype].push_back(b_.splat(value, lanes_)); }

  /// In [0, limit - lanes], for a power of two `limit` well above the lanes.
  MachineValue any_offset(std::int64_t limit) { return b_.bit_and(any_scalar(DType::kI64), b_.i64(limit / 2 - 1)); }

  /// A slot, defined at once: reading what nobody wrote has no meaning.
  void make_slot(std::uint32_t number) {
    const DType dtype = any_dtype();
    const std::string name = "slot" + std::to_string(number);
    const MemoryHandle slot =
        below(2) == 0 ? b_.workgroup_memory(dtype, kSlotElements, name) : b_.private_memory(dtype, kSlotElements, name);
    b_.for_loop(b_.i64(0), b_.i64(kSlotElements), b_.i64(1), {}, [&](MachineValue i, const Values&) {
      b_.store(slot, i, b_.load(inputs_[dtype], i));
      return Values{};
    });
    slots_.push_back(slot);
  }

  void block(std::uint32_t depth, std::uint32_t num_steps) {
    for (std::uint32_t i = 0; i < num_steps; ++i) step(depth);
  }

  void step(std::uint32_t depth) {
    const std::uint32_t kind = below(depth < 3 ? 24 : 21);
    if (kind < 13) return lanewise();
    if (kind < 15) return read();
    if (kind < 17) return write();
    if (kind == 17) return reduce();
    if (kind == 18) return keep(b_.lane_iota(kDTypes[1 + below(8)], lanes_));
    if (kind == 19) return b_.report_error(b_.bit_and(any(DType::kBool), any(DType::kBool)), 1u << below(3));
    if (kind == 20) return keep(any_scalar(any_dtype()));
    if (kind < 23) return loop(depth);
    branch(depth);
  }

  void lanewise() {
    const KernelOp op = kAllKernelOps[below(static_cast<std::uint32_t>(std::size(kAllKernelOps)))];
    const DType dtype = any_dtype(), to = any_dtype();
    const bool is_float_mul_add = op == KernelOp::kMulAdd && is_float(dtype);
    if (!is_lanewise(op) || !takes(op, dtype) || (is_float_mul_add && !with_float_mul_add_)) return;
    const DType operands[] = {dtype};
    switch (rule_of(op)) {
      case KernelOpRule::kCompare:
        return keep(b_.emit(op, DType::kBool, {any(dtype), any(dtype)}));
      case KernelOpRule::kSelect:
        return keep(b_.emit(op, dtype, {any(DType::kBool), any(dtype), any(dtype)}));
      case KernelOpRule::kConvert:
        if (to == dtype || !follows_rule(op, to, operands)) return;
        if (op == KernelOp::kBitcast && is_float(dtype)) return;  // would show a NaN's bits
        return keep(b_.emit(op, to, {any(dtype)}));
      default:
        break;
    }
    if (op == KernelOp::kConstant) return keep(b_.constant_scalar(random_value(dtype, random_)));
    if (num_operands(op) == 1) return keep(b_.emit(op, dtype, {any(dtype)}));
    if (num_operands(op) == 2) return keep(b_.emit(op, dtype, {any(dtype), any(dtype)}));
    keep(b_.emit(op, dtype, {any(dtype), any(dtype), any(dtype)}));
  }

  void read() {
    const bool from_slot = !slots_.empty() && below(2) == 0;
    const MemoryHandle memory =
        from_slot ? slots_[below(static_cast<std::uint32_t>(slots_.size()))] : inputs_[any_dtype()];
    const std::int64_t limit = from_slot ? kSlotElements : kRandomKernelElements;
    const std::uint32_t kind = below(3);
    if (kind == 0) return keep(b_.load(memory, any_offset(limit), lanes_));
    const MachineValue mask = any(DType::kBool), other = any(memory.dtype);
    if (kind == 1) return keep(b_.load_masked(memory, any_offset(limit), mask, other));
    keep(b_.gather(memory, b_.bit_and(any(DType::kI64), b_.splat(b_.i64(limit - 1), lanes_)), mask, other));
  }

  void write() {
    if (slots_.empty()) return store_result(any_dtype());
    const MemoryHandle slot = slots_[below(static_cast<std::uint32_t>(slots_.size()))];
    const MachineValue value = any(slot.dtype);
    const std::uint32_t kind = below(3);
    if (kind == 0) return b_.store(slot, any_offset(kSlotElements), value);
    const MachineValue mask = any(DType::kBool);
    if (kind == 1) return b_.store_masked(slot, any_offset(kSlotElements), mask, value);
    b_.scatter(slot, b_.bit_and(any(DType::kI64), b_.splat(b_.i64(kSlotElements - 1), lanes_)), mask, value);
  }

  /// Into the group's own quarter of the output.
  void store_result(DType dtype) {
    constexpr std::int64_t kQuarter = kRandomKernelElements / 4;
    const MachineValue own = b_.mul(b_.workgroup_id(), b_.i64(kQuarter));
    b_.store(outputs_[dtype], b_.add(own, any_offset(kQuarter)), any(dtype));
  }

  void reduce() {
    const KernelOp ops[] = {KernelOp::kReduceAdd, KernelOp::kReduceMul, KernelOp::kReduceMin, KernelOp::kReduceMax};
    const KernelOp op = ops[below(4)];
    const DType dtype = any_dtype();
    if (takes(op, dtype)) keep(b_.reduce(op, any(dtype)));
  }

  /// Two carried values of any dtypes; what the body defines does not leave it but by them.
  void loop(std::uint32_t depth) {
    const MachineValue a = any(any_dtype()), c = any(any_dtype());
    const auto outside = pool_;
    const MachineValue upper = below(2) == 0 ? n_ : b_.i64(below(4));
    const Values results =
        b_.for_loop(b_.i64(0), upper, b_.i64(1 + below(2)), {a, c}, [&](MachineValue i, const Values& carried) {
          keep(i);
          for (const MachineValue value : carried) keep(value);
          block(depth + 1, 2 + below(6));
          return Values{any(a.dtype), any(c.dtype)};
        });
    pool_ = outside;
    for (const MachineValue value : results) keep(value);
  }

  void branch(std::uint32_t depth) {
    const DType dtype = any_dtype();
    const auto outside = pool_;
    auto side = [&] {
      block(depth + 1, 1 + below(6));
      const Values values = {any(dtype)};
      pool_ = outside;
      return values;
    };
    keep(b_.if_else(any_scalar(DType::kBool), side, side)[0]);
  }

  std::mt19937_64 random_;
  bool with_float_mul_add_;
  MachineBuilder b_;
  std::uint32_t lanes_ = 1;
  MachineValue n_;
  std::map<DType, MemoryHandle> inputs_, outputs_;
  std::vector<MemoryHandle> slots_;
  std::map<DType, Values> pool_;  // vectors of lanes_ that are in scope
};

}  // namespace

MachineKernel random_kernel(const RandomKernelOptions& options) { return KernelMaker(options).make(); }

}  // namespace millrace::test
