// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "isa/instruction.h"
#include "isa/machine.h"
#include "millrace/hal/machine_code.h"

namespace millrace::isa {

// The table of semantics, by instruction family.
std::span<const Row> scalar_rows();
std::span<const Row> scalar_float_rows();
std::span<const Row> control_rows();
std::span<const Row> vector_integer_rows();
std::span<const Row> vector_carry_rows();
std::span<const Row> vector_dot_rows();
std::span<const Row> vector_float_rows();
std::span<const Row> vector_compare_rows();
std::span<const Row> vector_convert_rows();
std::span<const Row> vector_half_rows();
std::span<const Row> vector_packed_rows();
std::span<const Row> lane_rows();
std::span<const Row> local_rows();
std::span<const Row> global_rows();
std::span<const Row> scalar_load_rows();
std::span<const Row> local_shuffle_rows();
std::span<const Row> cache_rows();
std::span<const Row> wait_rows();

/// The rows of all families. Each name occurs once.
std::span<const std::span<const Row>> all_rows();

/// Null if no row has this name.
const Row* find_row(std::string_view name);

/// Decodes the operands that `instruction.row` lists. Adaptors call it, and then decode the modifiers.
Status decode_operands(const InstructionText&, const Machine&, Instruction&);

/// Decodes one instruction. `entry` is the address of the kernel's first one. If the instruction has no row, or an
/// operand or modifier is not modelled, fails and names it.
Result<Instruction> decode_instruction(const MachineCodeInstruction&, std::uint64_t entry, const Machine&);

}  // namespace millrace::isa
