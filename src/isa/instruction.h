// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/operand.h"
#include "millrace/base/status.h"
#include "millrace/hal/memory_observer.h"

namespace millrace::isa {

struct Instruction;
struct InstructionText;
struct Machine;
struct Wave;

/// Executes an instruction for all lanes of a wave. Reports a mistake by Wave::fail.
using Handler = void (*)(Wave&, const Instruction&);
/// Decodes the parts that only instructions of one kind have: wait counts, offsets, addresses. Fails, and names the
/// part, if one is not modelled.
using Adaptor = Status (*)(const InstructionText&, const Machine&, Instruction&);

/// The counter that an instruction increments; see IsaCounts.
enum class Class : std::uint8_t { kVector, kScalar, kScalarLoad, kGlobal, kLocal, kBranch, kWait, kBarrier, kOther };

inline constexpr std::size_t kMaxOperands = 6;

/// A row of the table of semantics: what the instructions with one name do.
struct Row {
  /// The assembler's name, without the suffix of its encoding (_e32, _e64, _dpp, _sdwa).
  const char* name = nullptr;
  Class kind = Class::kOther;
  Handler run = nullptr;
  std::uint8_t num_results = 0;
  /// The types of the operands, in the order in which the assembler writes them: results first. Missing operands are
  /// kNone.
  std::array<Type, kMaxOperands> types = {};
  /// Whether the result is also read, as the last source (v_fmac_f32).
  bool reads_result = false;
  /// Whether VCC is also read, as the last source (v_div_fmas_f32).
  bool reads_vcc = false;
  /// Whether a vector instruction other than a compare writes a scalar register: v_readlane_b32.
  bool has_scalar_result = false;
  /// Null if the instruction has only the operands in `types` and the modifiers of vector instructions.
  Adaptor adapt = nullptr;
  /// Replaces `run` if an integer instruction has the modifier "clamp". Null if it cannot have the modifier.
  Handler run_clamped = nullptr;
  /// Whether GFX9 also leaves the other half of a 16-bit result unchanged; see commit().
  bool keeps_other_half = false;
  /// How the instruction accesses memory, and the number of bytes at each address.
  AccessKind access = AccessKind::kLoad;
  std::uint8_t access_bytes = 0;  // 0: it accesses no memory
};

/// A DPP control: the lane from which each lane's first source comes.
struct LaneControl {
  std::array<std::uint8_t, kMaxLanes> source = {};  // kNobody: outside the row
  static constexpr std::uint8_t kNobody = 255;
  std::uint64_t written = ~std::uint64_t{0};  // the lanes that row_mask and bank_mask keep active
  bool bound_control = false;                 // whether lanes without a source read 0; if not, they keep their result
  bool fetches_inactive = false;              // fi:1
};

/// The modifiers that follow a memory instruction's operands, and those of VOP3 and SDWA for a result.
struct Modifiers {
  std::int64_t offset = 0, offset1 = 0;  // in bytes, or in the units of a two-address LDS instruction
  bool clamps = false;
  float factor = 1;  // omod: 0.5, 1, 2, 4
  Part result_part = Part::kWhole;
  bool preserves_rest = false, sign_extends_rest = false;  // dst_unused; if neither, the rest becomes zero
  bool op_selects_high_result = false;                     // VOP3's op_sel for a 16-bit result
};

/// Registers that an instruction reads or writes, for the checks of loads in flight.
struct RegisterRange {
  bool is_vector = false;
  std::uint16_t first = 0;
  std::uint16_t count = 0;
};

/// One instruction, decoded.
struct Instruction {
  const Row* row = nullptr;
  Handler run = nullptr;
  std::array<Operand, kMaxOperands> operands = {};  // results first
  Modifiers modifiers = {};
  std::shared_ptr<const LaneControl> lane_control = nullptr;  // DPP only
  std::unique_ptr<Instruction> second = nullptr;              // VOPD: the instruction that runs at the same time
  std::vector<RegisterRange> registers = {};                  // all registers that it reads and writes
  std::int64_t immediate = 0;  // the value of the kImmediate operand, or set by the adaptor
  std::uint32_t target = 0;    // for a branch: the index of its target
  std::uint32_t address = 0;   // from the kernel's entry, bytes
  std::uint32_t size_bytes = 0;
  std::uint32_t line = 0;  // in the kernel's text; 0: unknown
  std::string text = {};

  const Operand& result(std::size_t i = 0) const { return operands[i]; }
  const Operand& source(std::size_t i) const { return operands[row->num_results + i]; }
};

}  // namespace millrace::isa
