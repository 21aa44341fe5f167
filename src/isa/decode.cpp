// SPDX-License-Identifier: Apache-2.0
// Decodes an instruction's text into its handler and operands.
#include "isa/decode.h"

#include <array>
#include <bit>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "isa/lane_control.h"
#include "isa/text.h"

namespace millrace::isa {
namespace {

std::unordered_map<std::string_view, const Row*> index_rows() {
  std::unordered_map<std::string_view, const Row*> index;
  for (const std::span<const Row> family : all_rows()) {
    for (const Row& row : family) index.emplace(row.name, &row);
  }
  return index;
}

void add_register(Instruction& instruction, const Operand& operand) {
  if (!(operand.is_scalar() || operand.is_vector()) || operand.first == kNull) return;
  instruction.registers.push_back({operand.is_vector(), operand.first, operand.count});
}

/// Checks that a scalar instruction has no vector operand, and that a vector instruction writes vectors or masks.
Status check_file(const Row& row, std::size_t place, const Operand& operand, std::string_view text) {
  const bool is_result = place < row.num_results;
  const bool is_mask = row.types[place] == Type::kMask;
  const bool wants_scalar = row.kind == Class::kScalar || is_mask || (is_result && row.has_scalar_result);
  if (operand.is_vector() ? !wants_scalar : !is_result || wants_scalar) return {};
  return unimplemented(fmt::format("operand '{}' is of the wrong kind", text));
}

}  // namespace

Status decode_operands(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  const Row& row = *instruction.row;
  std::size_t num_expected = 0;
  while (num_expected < kMaxOperands && row.types[num_expected] != Type::kNone) ++num_expected;
  if (text.operands.size() != num_expected) {
    return unimplemented(fmt::format("it has {} operands, expected {}", text.operands.size(), num_expected));
  }
  for (std::size_t i = 0; i < num_expected; ++i) {
    if (row.types[i] == Type::kImmediate) {
      const std::optional<std::int64_t> number = parse_integer(text.operands[i]);
      if (!number) return unimplemented(fmt::format("operand '{}' is not a number", text.operands[i]));
      instruction.immediate = *number;
      continue;
    }
    MILLRACE_TRY_ASSIGN(instruction.operands[i], parse_operand(text.operands[i], row.types[i], machine.num_lanes));
    MILLRACE_TRY(check_file(row, i, instruction.operands[i], text.operands[i]));
    add_register(instruction, instruction.operands[i]);
  }
  if (row.reads_result) instruction.operands[num_expected] = instruction.operands[0];
  if (row.reads_vcc) {
    const auto num_words = static_cast<std::uint16_t>(machine.num_lanes / 32);
    instruction.operands[num_expected] = {
        .kind = OperandKind::kScalar, .type = Type::kMask, .first = kVcc, .count = num_words};
    add_register(instruction, instruction.operands[num_expected]);
  }
  return {};
}

namespace {

std::optional<Part> part_of(std::string_view name) {
  static constexpr std::pair<std::string_view, Part> kParts[] = {
      {"DWORD", Part::kWhole},  {"BYTE_0", Part::kByte0}, {"BYTE_1", Part::kByte1}, {"BYTE_2", Part::kByte2},
      {"BYTE_3", Part::kByte3}, {"WORD_0", Part::kWord0}, {"WORD_1", Part::kWord1}};
  for (const auto& [known, part] : kParts) {
    if (known == name) return part;
  }
  return std::nullopt;
}

bool is_half(Type type) { return type == Type::kB16 || type == Type::kF16; }
bool is_packed(Type type) { return type == Type::kPackedB16 || type == Type::kPackedF16 || type == Type::kPackedF32; }

/// op_sel and similar modifiers: one digit per source, and in op_sel one more for the result.
Status decode_halves(const ModifierText& modifier, Instruction& instruction) {
  MILLRACE_TRY_ASSIGN(const std::vector<std::uint32_t> digits, parse_list(modifier.value));
  const Row& row = *instruction.row;
  const bool is_of_packed = is_packed(row.types[0]);
  for (std::size_t i = 0; i < digits.size() && row.num_results + i < kMaxOperands; ++i) {
    const bool is_set = digits[i] != 0;
    Operand& source = instruction.operands[row.num_results + i];
    if (source.kind == OperandKind::kNone) {
      if (is_set && !is_half(row.types[0])) return unimplemented("op_sel of a result that is not a half");
      instruction.modifiers.op_selects_high_result = is_set;
    } else if (is_of_packed) {
      if (is_set && modifier.name.starts_with("neg") && source.type == Type::kPackedB16) {
        return unimplemented(fmt::format("{} of an integer", modifier.name));
      }
      bool& flag = modifier.name == "op_sel"      ? source.low_from_high
                   : modifier.name == "op_sel_hi" ? source.high_from_high
                   : modifier.name == "neg_lo"    ? source.negates_low
                                                  : source.negates_high;
      flag = is_set;
    } else if (is_set) {
      if (!is_half(source.type)) return unimplemented("op_sel of a source that is not a half");
      source.part = Part::kWord1;
    }
  }
  return {};
}

Status decode_part(const ModifierText& modifier, Instruction& instruction) {
  const std::optional<Part> part = part_of(modifier.value);
  if (!part) return unimplemented(fmt::format("modifier '{}:{}' is not modelled", modifier.name, modifier.value));
  const std::uint8_t num_results = instruction.row->num_results;
  if (modifier.name == "src0_sel") instruction.operands[num_results].part = *part;
  if (modifier.name == "src1_sel") instruction.operands[num_results + 1u].part = *part;
  if (modifier.name == "dst_sel") instruction.modifiers.result_part = *part;
  return {};
}

Status decode_modifier(const ModifierText& modifier, Instruction& instruction) {
  const std::string_view name = modifier.name, value = modifier.value;
  if (name == "op_sel" || name == "op_sel_hi" || name == "neg_lo" || name == "neg_hi") {
    return decode_halves(modifier, instruction);
  }
  if (name == "src0_sel" || name == "src1_sel" || name == "dst_sel") return decode_part(modifier, instruction);
  if (name == "dst_unused") {
    instruction.modifiers.preserves_rest = value == "UNUSED_PRESERVE";
    instruction.modifiers.sign_extends_rest = value == "UNUSED_SEXT";
    return {};
  }
  if (name == "clamp" && instruction.row->run_clamped != nullptr) {
    instruction.run = instruction.row->run_clamped;
    return {};
  }
  const Type type = instruction.row->types[0];
  const bool is_of_float = type == Type::kF32 || type == Type::kF64;
  if (name == "clamp" && is_of_float) {
    instruction.modifiers.clamps = true;
    return {};
  }
  if ((name == "mul" || name == "div") && is_of_float) {
    const auto factor = static_cast<float>(parse_integer(value).value_or(1));
    instruction.modifiers.factor = name == "mul" ? factor : 1 / factor;
    return {};
  }
  return unimplemented(fmt::format("modifier '{}' is not modelled", name));
}

Status decode_vector_modifiers(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  MILLRACE_TRY_ASSIGN(instruction.lane_control, decode_lane_control(text, machine));
  for (const ModifierText& modifier : text.modifiers) {
    if (is_lane_control(modifier.name)) continue;
    MILLRACE_TRY(decode_modifier(modifier, instruction));
  }
  for (const Operand& operand : instruction.operands) {
    // A constant has only 32 bits, and so no upper half.
    if (operand.type == Type::kPackedF32 && operand.kind == OperandKind::kConstant &&
        (operand.low_from_high || operand.high_from_high)) {
      return unimplemented("the upper half of a constant");
    }
  }
  return {};
}

/// A scalar instruction whose result is null does nothing, and leaves SCC and EXEC alone.
/// Source: RDNA 3 ISA, 6.2 "Scalar ALU Operands".
void do_nothing(Wave&, const Instruction&) {}

Result<Instruction> decode_single(std::string_view whole, const Machine& machine) {
  InstructionText text = split_instruction(whole);
  // Each instruction of a pair (VOPD) is decoded as an ordinary vector instruction.
  std::string name(text.name);
  const bool is_of_pair = name.starts_with("v_dual_");
  if (is_of_pair) {
    name.replace(0, 7, "v_");
    if (name == "v_cndmask_b32" && text.operands.size() == 3) text.operands.push_back("vcc_lo");
  }
  // From GFX10 on, EXEC is the only result of v_cmpx, and the text does not name it.
  if (name.starts_with("v_cmpx_") && machine.major >= 10) {
    text.operands.insert(text.operands.begin(), machine.num_lanes == 64 ? "exec" : "exec_lo");
  }
  Instruction instruction;
  instruction.row = find_row(name);
  if (instruction.row == nullptr) {
    return unimplemented(fmt::format("no row in the table of semantics is named '{}'", name));
  }
  instruction.run = instruction.row->run;
  if (instruction.row->adapt != nullptr) {
    MILLRACE_TRY(instruction.row->adapt(text, machine, instruction));
    return instruction;
  }
  MILLRACE_TRY(decode_operands(text, machine, instruction));
  if (instruction.row->kind == Class::kScalar && instruction.row->num_results > 0 &&
      instruction.result().first == kNull) {
    instruction.run = do_nothing;
  }
  if (instruction.row->kind == Class::kVector) {
    MILLRACE_TRY(decode_vector_modifiers(text, machine, instruction));
  } else if (!text.modifiers.empty()) {
    return unimplemented(fmt::format("modifier '{}' is not modelled", text.modifiers.front().name));
  }
  return instruction;
}

}  // namespace

std::span<const std::span<const Row>> all_rows() {
  static const std::span<const Row> kFamilies[] = {
      scalar_rows(),          //
      scalar_float_rows(),    //
      control_rows(),         //
      wait_rows(),            //
      vector_integer_rows(),  //
      vector_carry_rows(),    //
      vector_dot_rows(),      //
      vector_float_rows(),    //
      vector_compare_rows(),  //
      vector_convert_rows(),  //
      vector_half_rows(),     //
      vector_packed_rows(),   //
      lane_rows(),            //
      local_rows(),           //
      local_shuffle_rows(),   //
      global_rows(),          //
      scalar_load_rows(),     //
      cache_rows(),           //
  };
  return kFamilies;
}

const Row* find_row(std::string_view name) {
  static const auto kIndex = index_rows();
  const auto found = kIndex.find(name);
  return found == kIndex.end() ? nullptr : found->second;
}

Result<Instruction> decode_instruction(const MachineCodeInstruction& code, std::uint64_t entry,
                                       const Machine& machine) {
  const auto with_instruction = [&](const Status& status) {
    return Status(status.code(), fmt::format("at {:#x}, {}: {}", code.address - entry, code.text, status.message()));
  };
  if (code.text.empty()) {
    return data_loss(
        fmt::format("at {:#x}: {} bytes that are not an instruction", code.address - entry, code.size_bytes));
  }
  const std::size_t pair = code.text.find("::");
  Result<Instruction> instruction = decode_single(std::string_view(code.text).substr(0, pair), machine);
  if (!instruction.ok()) return with_instruction(instruction.status());
  if (pair != std::string::npos) {
    Result<Instruction> second = decode_single(std::string_view(code.text).substr(pair + 2), machine);
    if (!second.ok()) return with_instruction(second.status());
    instruction->registers.insert(instruction->registers.end(), second->registers.begin(), second->registers.end());
    instruction->second = std::make_unique<Instruction>(*std::move(second));
  }
  instruction->address = static_cast<std::uint32_t>(code.address - entry);
  instruction->size_bytes = code.size_bytes;
  instruction->line = code.line;
  instruction->text = code.text;
  return instruction;
}

}  // namespace millrace::isa
