// SPDX-License-Identifier: Apache-2.0
// Sets up LLVM's MC layer for one GPU, and decodes and prints single instructions with it.
#include "jit/llvm/amdgpu/machine_layer.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>

#include "millrace/base/check.h"

namespace millrace {

MachineLayer::MachineLayer(const GfxTarget& gfx, std::uint32_t subgroup_size) {
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kAmdGpuTriple, error);
  MILLRACE_CHECK(target != nullptr);
  registers.reset(target->createMCRegInfo(kAmdGpuTriple));
  assembler.reset(target->createMCAsmInfo(*registers, kAmdGpuTriple, {}));
  instructions.reset(target->createMCInstrInfo());
  const char* features = subgroup_size == 32 ? "+wavefrontsize32" : "+wavefrontsize64";
  subtarget.reset(target->createMCSubtargetInfo(kAmdGpuTriple, gfx.name, features));
  context.emplace(llvm::Triple(kAmdGpuTriple), assembler.get(), registers.get(), subtarget.get());
  disassembler.reset(target->createMCDisassembler(*subtarget, *context));
  analysis.reset(target->createMCInstrAnalysis(instructions.get()));
  printer.reset(target->createMCInstPrinter(llvm::Triple(kAmdGpuTriple), assembler->getAssemblerDialect(), *assembler,
                                            *instructions, *registers));
  MILLRACE_CHECK(disassembler != nullptr && analysis != nullptr && printer != nullptr);
}

bool MachineLayer::decode(llvm::ArrayRef<std::uint8_t> code, std::uint64_t address, llvm::MCInst& instruction,
                          std::uint64_t& size) const {
  const auto status = disassembler->getInstruction(instruction, size, code, address, llvm::nulls());
  return status == llvm::MCDisassembler::Success && size > 0;
}

std::string MachineLayer::text_of(const llvm::MCInst& instruction) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printer->printInst(&instruction, 0, "", *subtarget, stream);
  return llvm::StringRef(text).trim().str();
}

}  // namespace millrace
