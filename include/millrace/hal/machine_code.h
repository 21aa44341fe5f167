// SPDX-License-Identifier: Apache-2.0
// The machine code of a code object, disassembled: what the isa device executes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

/// An instruction as the assembler writes it. Assembling the text gives the same bytes.
struct MachineCodeInstruction {
  std::uint64_t address = 0;  // in the object's own addresses
  std::uint32_t size_bytes = 0;
  std::uint32_t line = 0;  // in the kernel's text; 0 if the object has no line table
  std::string text = {};   // "v_add_f32_e32 v0, v1, v2"; empty: its bytes are not an instruction
  friend bool operator==(const MachineCodeInstruction&, const MachineCodeInstruction&) = default;
};

/// A kernel of a code object.
struct MachineCodeKernel {
  std::string symbol = {};
  std::uint64_t entry = 0;                         // address of its first instruction
  std::array<std::byte, 64> descriptor = {};       // see "Kernel Descriptor" in LLVM's "User Guide for AMDGPU Backend"
  std::uint64_t argument_bytes = 0;                // the size of the kernarg segment
  std::uint64_t workgroup_bytes = 0;               // the size of the group segment
  std::uint64_t private_bytes = 0;                 // the size of the private segment, per thread
  std::uint32_t workgroup_size = 0;                // threads
  std::uint32_t subgroup_size = 0;                 // threads of a wave
  std::uint32_t num_vector_registers = 0;          // per thread, including accumulation registers
  std::vector<std::string> hidden_arguments = {};  // arguments that a driver would have to fill in
  std::vector<MachineCodeInstruction> instructions = {};  // in the order of their addresses, without a gap
};

/// A part of the object that a loader puts into memory.
struct MachineCodeSegment {
  std::uint64_t address = 0;
  std::uint64_t memory_bytes = 0;  // at least bytes.size(); the rest is zero
  std::vector<std::byte> bytes = {};
};

/// A 64-bit word that holds an address: the loader adds the address at which it put the object.
struct MachineCodeRelocation {
  std::uint64_t address = 0;
  std::uint64_t target = 0;
};

struct MachineCode {
  std::string gfx = {};  // "gfx1100"
  std::vector<MachineCodeSegment> segments = {};
  std::vector<MachineCodeRelocation> relocations = {};
  std::vector<MachineCodeKernel> kernels = {};
};

/// Disassembles a linked code object. The only implementation is decode_code_object (jit/code_object.h), because hal
/// has no disassembler.
using MachineCodeDecoder = Result<MachineCode> (*)(std::span<const std::byte> code_object);

}  // namespace millrace
