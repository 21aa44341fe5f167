// SPDX-License-Identifier: Apache-2.0
// Disassembles machine code for listings.
#include "jit/llvm/disassemble.h"

#include <llvm-c/Disassembler.h>

#include <fmt/format.h>

#include "jit/llvm/target.h"
#include "millrace/base/check.h"

namespace millrace {

std::string disassemble(std::span<const std::byte> code, const TargetSpec& spec) {
  const LlvmTarget& target = llvm_target(spec);
  const std::unique_ptr<void, void (*)(LLVMDisasmContextRef)> disassembler(
      LLVMCreateDisasmCPUFeatures(target.triple, target.cpu.c_str(), target.features, nullptr, 0, nullptr, nullptr),
      LLVMDisasmDispose);
  MILLRACE_CHECK(disassembler != nullptr);
  std::string text;
  for (std::size_t offset = 0; offset < code.size();) {
    // The parameter is a non-const pointer, but LLVM does not write to it.
    auto* bytes = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(code.data() + offset));
    char line[256];
    const std::size_t length =
        LLVMDisasmInstruction(disassembler.get(), bytes, code.size() - offset, offset, line, sizeof(line));
    text +=
        length > 0 ? fmt::format("{:6x}:{}\n", offset, line) : fmt::format("{:6x}:\t.byte\t{:#04x}\n", offset, *bytes);
    offset += std::max<std::size_t>(length, 1);
  }
  return text;
}

}  // namespace millrace
