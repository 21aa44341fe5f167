// SPDX-License-Identifier: Apache-2.0
// The part of the machine kernel verifier that checks the types, immediates and memory of each instruction.
#include "jit/ir/machine_type_rules.h"

#include <bit>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr VectorType kI64Scalar{DType::kI64, 1};
// These are constants instead of formatted text, because the checks pass them for every instruction, and most
// instructions need no message.
constexpr std::string_view kOperand[] = {"operand 0", "operand 1", "operand 2"};
constexpr std::string_view kLike[] = {" like operand 0", " like operand 1", " like operand 2"};

std::string_view describe(KernelOpDTypes dtypes) {
  switch (dtypes) {
    case KernelOpDTypes::kEvery:
      return "any dtype";
    case KernelOpDTypes::kNonBool:
      return "any dtype except bool";
    case KernelOpDTypes::kOrdered:
      return "bool, an integer, f32 or f64";
    case KernelOpDTypes::kNumber:
      return "an integer, f32 or f64";
    case KernelOpDTypes::kInteger:
      return "an integer";
    case KernelOpDTypes::kFloat:
      return "f32 or f64";
    case KernelOpDTypes::kBits:
      return "bool or an integer";
    case KernelOpDTypes::kWord:
      return "i32, u32, i64 or u64";
  }
  __builtin_unreachable();
}

class TypeCheck {
 public:
  TypeCheck(const MachineKernel& kernel, const MachineInstruction& instruction)
      : kernel_(kernel), instruction_(instruction) {}

  std::vector<std::string> run() {
    if (is_lanewise(instruction_.op)) {
      check_lanewise();
    } else {
      check_machine();
    }
    return std::move(errors_);
  }

 private:
  const VectorType& operand(std::size_t i) const { return kernel_.types[instruction_.operands[i]]; }
  const VectorType& result(std::size_t i = 0) const { return kernel_.types[instruction_.results[i]]; }

  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    errors_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  void expect_operand(std::size_t i, const VectorType& expected, std::string_view why) {
    if (operand(i) != expected)
      fail("operand {} is {}, expected {}{}", i, operand(i).to_text(), expected.to_text(), why);
  }
  void expect_result(const VectorType& expected, std::string_view why) {
    if (result() != expected) fail("result is {}, expected {}{}", result().to_text(), expected.to_text(), why);
  }
  void expect_taken(std::string_view what, DType dtype) {
    if (!takes(instruction_.op, dtype)) {
      fail("{} is {}, expected {}", what, to_text(dtype), describe(dtypes_of(instruction_.op)));
    }
  }

  void check_constant() {
    const DType dtype = result().dtype;
    if (result().lanes != 1) fail("result is {}, expected a scalar; splat it", result().to_text());
    const std::uint64_t width = dtype == DType::kBool ? 1 : 8 * size_bytes(dtype);
    if (width < 64 && instruction_.immediate >> width != 0) {
      fail("immediate 0x{:x} does not fit in the {} bits of {}", instruction_.immediate, width, to_text(dtype));
    }
  }

  void check_lanewise() {
    const KernelOp op = instruction_.op;
    if (op == KernelOp::kConstant) return check_constant();
    const std::size_t last = instruction_.operands.size() - 1;
    const VectorType type = operand(last);
    expect_taken(kOperand[last], type.dtype);
    if (op == KernelOp::kSelect) {
      expect_operand(0, {DType::kBool, type.lanes}, ", the condition");
    }
    for (std::size_t i = op == KernelOp::kSelect ? 1 : 0; i < last; ++i) {
      expect_operand(i, type, kLike[last]);
    }
    if (rule_of(op) == KernelOpRule::kCompare) {
      expect_result({DType::kBool, type.lanes}, " of a comparison");
    } else if (rule_of(op) == KernelOpRule::kConvert) {
      if (result().lanes != type.lanes) {
        fail("result is {}, expected {} lanes like operand 0", result().to_text(), type.lanes);
      }
      expect_taken("result", result().dtype);
      if (op == KernelOp::kBitcast && size_bytes(result().dtype) != size_bytes(type.dtype)) {
        fail("result is {}, expected {} bytes per lane like operand 0", result().to_text(), size_bytes(type.dtype));
      }
    } else {
      expect_result(type, kLike[last]);
    }
  }

  void check_machine() {
    switch (instruction_.op) {
      case KernelOp::kSize:
        expect_result(kI64Scalar, "");
        if (instruction_.immediate >= kernel_.sizes.size()) {
          fail("size argument {}, expected less than {}", instruction_.immediate, kernel_.sizes.size());
        }
        return;
      case KernelOp::kWorkgroupId:
        return expect_result(kI64Scalar, "");
      case KernelOp::kThreadId:
        return expect_result({DType::kI32, 1}, "");
      case KernelOp::kLaneIota:
        return expect_taken("result", result().dtype);
      case KernelOp::kSplat:
        return expect_operand(0, {result().dtype, 1}, ", the result's scalar");
      case KernelOp::kExtract:
        expect_result({operand(0).dtype, 1}, ", a lane of operand 0");
        if (instruction_.immediate >= operand(0).lanes) {
          fail("lane {}, expected less than {}", instruction_.immediate, operand(0).lanes);
        }
        return;
      case KernelOp::kInterleave:
        expect_operand(1, operand(0), kLike[0]);
        expect_result(operand(0), kLike[0]);
        if (operand(0).lanes % 2 != 0) fail("operand 0 has {} lanes, expected an even number", operand(0).lanes);
        if (instruction_.immediate > 1) fail("half {}, expected 0 or 1", instruction_.immediate);
        return;
      case KernelOp::kWidenF16:
      case KernelOp::kNarrowF16:
        return check_f16();
      case KernelOp::kReduceAdd:
      case KernelOp::kReduceMul:
      case KernelOp::kReduceMin:
      case KernelOp::kReduceMax:
        return check_reduce();
      case KernelOp::kReportError:
        return check_report_error();
      case KernelOp::kShuffle:
        expect_operand(1, {DType::kI32, 1}, ", the lane");
        return check_shuffle();
      case KernelOp::kShuffleXor:
        if (instruction_.immediate >= kernel_.subgroup_size) {
          fail("mask {}, expected less than the subgroup's {}", instruction_.immediate, kernel_.subgroup_size);
        }
        return check_shuffle();
      case KernelOp::kBallot:
        expect_operand(0, {DType::kBool, 1}, "");
        return expect_result({DType::kU64, 1}, "");
      case KernelOp::kFor:
        return check_for();
      case KernelOp::kIf:
        return check_if();
      case KernelOp::kBarrier:
        return;
      default:
        return is_atomic(instruction_.op) ? check_atomic() : check_memory();
    }
  }

  void check_shuffle() {
    expect_operand(0, {operand(0).dtype, 1}, ", a scalar");
    expect_result({operand(0).dtype, 1}, kLike[0]);
  }

  void check_report_error() {
    if (operand(0).dtype != DType::kBool) fail("operand 0 is {}, expected bool", operand(0).to_text());
    if (instruction_.immediate == 0 || instruction_.immediate >> 32 != 0) {
      fail("immediate is 0x{:x}, expected bits of KernelError", instruction_.immediate);
    }
  }

  void check_f16() {
    const bool widens = instruction_.op == KernelOp::kWidenF16;
    expect_operand(0, {widens ? DType::kU16 : DType::kF32, result().lanes}, "");
    expect_result({widens ? DType::kF32 : DType::kU16, result().lanes}, "");
  }

  void check_reduce() {
    expect_taken("operand 0", operand(0).dtype);
    expect_result({operand(0).dtype, 1}, ", a lane of operand 0");
    if (!std::has_single_bit(operand(0).lanes)) {
      fail("operand 0 has {} lanes, expected a power of two", operand(0).lanes);
    }
  }

  void check_for() {
    static constexpr std::string_view kWhat[] = {", the lower bound", ", the upper bound", ", the step"};
    const VectorType bound{operand(0).dtype == DType::kI32 ? DType::kI32 : DType::kI64, 1};
    for (std::size_t i = 0; i < 3; ++i) expect_operand(i, bound, kWhat[i]);
    const Block& body = kernel_.blocks[instruction_.blocks[0]];
    if (kernel_.types[body.parameters[0]] != bound) {
      fail("index is {}, expected {}", kernel_.types[body.parameters[0]].to_text(), bound.to_text());
    }
    for (std::size_t i = 0; i < instruction_.results.size(); ++i) {
      const VectorType& type = operand(i + 3);
      const auto expect = [&](std::string_view what, const VectorType& found) {
        if (found == type) return;
        fail("{} {} is {}, expected {} like operand {}", what, i, found.to_text(), type.to_text(), i + 3);
      };
      expect("carried value", kernel_.types[body.parameters[i + 1]]);
      expect("yield", kernel_.types[body.yields[i]]);
      expect("result", result(i));
    }
  }

  void check_if() {
    expect_operand(0, {DType::kBool, 1}, ", the condition");
    for (std::size_t branch = 0; branch < 2; ++branch) {
      const Block& block = kernel_.blocks[instruction_.blocks[branch]];
      for (std::size_t i = 0; i < instruction_.results.size(); ++i) {
        const VectorType& type = kernel_.types[block.yields[i]];
        if (type == result(i)) continue;
        fail("yield {} of the {} block is {}, expected {} like result {}", i, branch == 0 ? "then" : "else",
             type.to_text(), result(i).to_text(), i);
      }
    }
  }

  void expect_offset(std::uint32_t lanes, std::string_view why) {
    const VectorType narrow{DType::kI32, lanes}, wide{DType::kI64, lanes};
    if (operand(0) == narrow || operand(0) == wide) return;
    fail("operand 0 is {}, expected {} or {}{}", operand(0).to_text(), narrow.to_text(), wide.to_text(), why);
  }

  /// Checks that the memory exists and allows the access. Sets `dtype` to the dtype of its elements in registers.
  /// Returns false if the memory does not exist.
  bool check_access(bool reads, bool writes, DType& dtype) {
    const MemoryRef memory = MemoryRef::decode(instruction_.immediate);
    const std::size_t count = memory.is_slot ? kernel_.slots.size() : kernel_.buffers.size();
    if (memory.index >= count) {
      fail("memory {}, expected less than {}{}", memory.to_text(), memory.is_slot ? '#' : '@', count);
      return false;
    }
    if (memory.is_slot) {
      dtype = register_dtype(kernel_.slots[memory.index].dtype);
      return true;
    }
    const BufferArgument& buffer = kernel_.buffers[memory.index];
    dtype = register_dtype(buffer.dtype);
    if (writes && !buffer.is_written())
      fail("buffer {} ('{}') is not declared as written", memory.to_text(), buffer.name);
    if (reads && !buffer.is_read()) fail("buffer {} ('{}') is not declared as read", memory.to_text(), buffer.name);
    return true;
  }

  void check_atomic() {
    DType dtype{};
    if (!check_access(true, true, dtype)) return;
    const MemoryRef memory = MemoryRef::decode(instruction_.immediate);
    if (memory.is_slot && kernel_.slots[memory.index].kind == MemoryKind::kPrivate) {
      fail("slot {} ('{}') is private, expected memory that threads share", memory.to_text(),
           kernel_.slots[memory.index].name);
    }
    expect_offset(1, ", the offset");
    expect_taken("the memory", dtype);
    expect_operand(1, {dtype, 1}, " like the memory");
    expect_result({dtype, 1}, " like the memory");
  }

  void check_memory() {
    const KernelOp op = instruction_.op;
    const bool is_whole_store = op == KernelOp::kStoreVector || op == KernelOp::kStoreStreaming;
    const bool is_store = is_whole_store || op == KernelOp::kStoreMasked || op == KernelOp::kScatter;
    DType dtype{};
    if (!check_access(!is_store, is_store, dtype)) return;
    if (const MemoryRef memory = MemoryRef::decode(instruction_.immediate);
        op == KernelOp::kStoreStreaming && memory.is_slot) {
      fail("slot {} ('{}'), expected a buffer", memory.to_text(), kernel_.slots[memory.index].name);
    }
    const std::size_t last = instruction_.operands.size() - 1;
    const std::uint32_t lanes = is_store ? operand(last).lanes : result().lanes;
    if (is_store) {
      expect_operand(last, {dtype, lanes}, " like the memory");
    } else {
      expect_result({dtype, lanes}, " like the memory");
    }
    const bool has_offsets = op == KernelOp::kGather || op == KernelOp::kScatter;
    expect_offset(has_offsets ? lanes : 1, has_offsets ? ", one offset per lane" : ", the offset");
    if (op == KernelOp::kLoadVector || is_whole_store) return;
    expect_operand(1, {DType::kBool, lanes}, ", the mask");
    if (!is_store) expect_operand(2, {dtype, lanes}, " like the result");
  }

  const MachineKernel& kernel_;
  const MachineInstruction& instruction_;
  std::vector<std::string> errors_;
};

}  // namespace

std::vector<std::string> check_machine_types(const MachineKernel& kernel, const MachineInstruction& instruction) {
  return TypeCheck(kernel, instruction).run();
}

}  // namespace millrace
