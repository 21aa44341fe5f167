// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include "millrace/hal/gfx_target.h"

namespace millrace {

inline constexpr char kAmdGpuTriple[] = "amdgcn-amd-amdhsa";

/// LLVM's MC layer for one processor and one wave size. On RDNA, the wave size decides whether a mask has 32 or 64
/// lanes, so the same bytes are printed with "vcc_lo" or with "vcc".
struct MachineLayer {
  /// Precondition: LLVM's AMDGPU target is initialised.
  MachineLayer(const GfxTarget&, std::uint32_t subgroup_size);

  /// Decodes the first instruction of `code`, and sets `size` to its size in bytes. Returns false if the bytes are not
  /// an instruction.
  bool decode(llvm::ArrayRef<std::uint8_t> code, std::uint64_t address, llvm::MCInst&, std::uint64_t& size) const;
  /// "v_add_f32_e32 v0, v1, v2". Branches show the distance in words from the next instruction.
  std::string text_of(const llvm::MCInst&) const;

  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembler;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::optional<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

}  // namespace millrace
