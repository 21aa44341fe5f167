// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "millrace/jit/machine_kernel.h"

namespace millrace::test {

inline constexpr VectorType kI32{DType::kI32, 1}, kI64{DType::kI64, 1}, kF32{DType::kF32, 1}, kF32x4{DType::kF32, 4},
    kI32x4{DType::kI32, 4}, kI64x4{DType::kI64, 4}, kBool{DType::kBool, 1}, kBoolx4{DType::kBool, 4};

/// A kernel written down without MachineBuilder, which would refuse to write a wrong one. Named "k", with a buffer x
/// (f32, read), a buffer y (f32, written), a size and a slot of 8 i64.
class KernelDraft {
 public:
  using Ids = std::vector<MachineValueId>;

  KernelDraft() {
    kernel.name = "k";
    kernel.buffers = {{.name = "x"}, {.name = "y", .access = BufferAccess::kWrite}};
    kernel.sizes = {{"s0", Dim("n")}};
    kernel.slots = {{"keys", MemoryKind::kWorkgroup, DType::kI64, 8}};
    kernel.blocks.push_back({});
  }

  /// A value that is defined by nothing yet.
  MachineValueId declare(VectorType type) { return kernel.types.push_back(type); }
  /// A defined value of any type: a constant, or a splat of one.
  MachineValueId value(VectorType type) {
    const MachineValueId scalar = op(KernelOp::kConstant, {}, {type.dtype, 1});
    return type.lanes == 1 ? scalar : op(KernelOp::kSplat, {scalar}, type);
  }
  MachineValueId op(KernelOp op, Ids operands, VectorType result, std::uint64_t immediate = 0) {
    const MachineValueId id = declare(result);
    add({.op = op, .operands = std::move(operands), .results = {id}, .immediate = immediate, .blocks = {}});
    return id;
  }
  void effect(KernelOp op, Ids operands, std::uint64_t immediate = 0) {
    add({.op = op, .operands = std::move(operands), .results = {}, .immediate = immediate, .blocks = {}});
  }
  void add(MachineInstruction instruction) { kernel.blocks[current].instructions.push_back(std::move(instruction)); }
  BlockId block(Ids parameters, Ids yields) {
    return kernel.blocks.push_back(
        {.parameters = std::move(parameters), .instructions = {}, .yields = std::move(yields)});
  }

  /// What verify says, without the "kernel 'k': " of each line.
  std::string complaint() const {
    std::string text = verify(kernel).message(), stripped;
    const std::string prefix = "kernel 'k': ";
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      stripped += (stripped.empty() ? "" : "\n") + (line.starts_with(prefix) ? line.substr(prefix.size()) : "?" + line);
      at = end + 1;
    }
    return stripped;
  }

  MachineKernel kernel;
  BlockId current{};  // where instructions are added
};

}  // namespace millrace::test
