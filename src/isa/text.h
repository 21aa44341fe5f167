// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/operand.h"
#include "millrace/base/status.h"

namespace millrace::isa {

/// A modifier after the operands: "offset:16", "clamp", "quad_perm:[1,0,3,2]".
struct ModifierText {
  std::string_view name;
  std::string_view value = {};  // empty: it has no value
};

/// The parts of an instruction's text, as views into it.
struct InstructionText {
  std::string_view name;      // without the suffix of its encoding: "v_add_f32"
  std::string_view encoding;  // "e32", "e64", "dpp", "e64_dpp", "sdwa", or empty
  std::string_view rest;      // everything after the name
  std::vector<std::string_view> operands = {};
  std::vector<ModifierText> modifiers = {};

  const ModifierText* find(std::string_view modifier) const;
};

/// Splits a text into its parts, by LLVM's "Syntax of AMDGPU Instruction Operands" and "... Modifiers".
InstructionText split_instruction(std::string_view text);

/// "12", "-1", "0x3f800000". Empty if it is not an integer.
std::optional<std::int64_t> parse_integer(std::string_view);
/// "[1,0,3,2]". If the text is not a list of small numbers, fails and names it.
Result<std::vector<std::uint32_t>> parse_list(std::string_view);
/// A register, a constant or "off", as an operand of this type: "v[2:3]", "-|v0|", "sext(v1)", "vcc_lo", "0.5". A
/// wave's masks have `num_lanes` bits. If the text is not an operand, or has the wrong width, fails and names it.
Result<Operand> parse_operand(std::string_view, Type, std::uint32_t num_lanes);

}  // namespace millrace::isa
