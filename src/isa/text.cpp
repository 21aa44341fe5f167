// SPDX-License-Identifier: Apache-2.0
// Parses the text of machine instructions, as LLVM's disassembler writes it, into names, operands and modifiers.
#include "isa/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "millrace/base/float16.h"

namespace millrace::isa {
namespace {

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Splits at `separator`, except within brackets.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == '(')) ++depth;
    if (i < text.size() && (text[i] == ']' || text[i] == ')')) --depth;
    if (i < text.size() && (text[i] != separator || depth > 0)) continue;
    if (const std::string_view part = trim(text.substr(first, i - first)); !part.empty()) parts.push_back(part);
    first = i + 1;
  }
  return parts;
}

/// The position at which a modifier's value begins: after a colon outside brackets.
std::size_t find_colon(std::string_view token) {
  const std::size_t colon = token.find(':');
  const std::size_t bracket = token.find('[');
  return bracket != token.npos && bracket < colon ? token.npos : colon;
}

bool is_modifier(std::string_view token) {
  static constexpr std::string_view kWords[] = {"clamp", "glc", "slc", "dlc",        "gds",
                                                "sc0",   "sc1", "nt",  "row_mirror", "row_half_mirror"};
  return find_colon(token) != token.npos || std::ranges::find(kWords, token) != std::end(kWords);
}

bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

void strip_encoding(InstructionText& text) {
  static constexpr std::string_view kEncodings[] = {"e64_dpp", "e32", "e64", "dpp", "sdwa"};
  for (const std::string_view encoding : kEncodings) {
    if (!text.name.ends_with(encoding) || text.name[text.name.size() - encoding.size() - 1] != '_') continue;
    text.encoding = text.name.substr(text.name.size() - encoding.size());
    text.name.remove_suffix(encoding.size() + 1);
    return;
  }
}

/// Registers with a name of their own.
std::optional<Operand> named_register(std::string_view name) {
  struct Named {
    std::string_view name;
    std::uint16_t first, count;
  };
  static constexpr Named kNamed[] = {{"vcc", kVcc, 2},   {"vcc_lo", kVcc, 1},   {"vcc_hi", kVcc + 1, 1},
                                     {"exec", kExec, 2}, {"exec_lo", kExec, 1}, {"exec_hi", kExec + 1, 1},
                                     {"m0", kM0, 1},     {"null", kNull, 1}};
  const auto* found = std::ranges::find(kNamed, name, &Named::name);
  if (found == std::end(kNamed)) return std::nullopt;
  return Operand{.kind = OperandKind::kScalar, .first = found->first, .count = found->count};
}

/// "v3", "v[2:5]", "a0", "s[4:5]", "ttmp9".
std::optional<Operand> numbered_register(std::string_view text) {
  struct File {
    std::string_view prefix;
    OperandKind kind;
    std::uint32_t first, size;
  };
  static constexpr File kFiles[] = {{"ttmp", OperandKind::kScalar, kTtmp, 16},
                                    {"v", OperandKind::kVector, 0, 256},
                                    {"a", OperandKind::kVector, kFirstAccumulator, 256},
                                    {"s", OperandKind::kScalar, 0, kVcc}};
  for (const File& file : kFiles) {
    std::string_view rest = text;
    if (!consume(rest, file.prefix)) continue;
    std::int64_t first = 0, last = 0;
    if (rest.starts_with('[') && rest.ends_with(']')) {
      rest = rest.substr(1, rest.size() - 2);
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      first = parse_integer(rest.substr(0, colon)).value_or(-1);
      last = colon < rest.size() ? parse_integer(rest.substr(colon + 1)).value_or(-1) : first;
    } else {
      first = last = parse_integer(rest).value_or(-1);
    }
    if (first < 0 || last < first || last >= file.size) return std::nullopt;
    return Operand{.kind = file.kind,
                   .first = static_cast<std::uint16_t>(file.first + static_cast<std::uint32_t>(first)),
                   .count = static_cast<std::uint16_t>(last - first + 1)};
  }
  return std::nullopt;
}

std::uint32_t num_words(Type type, std::uint32_t num_lanes) {
  switch (type) {
    case Type::kB64:
    case Type::kI64:
    case Type::kF64:
    case Type::kPackedF32:
      return 2;
    case Type::kB96:
      return 3;
    case Type::kB128:
      return 4;
    case Type::kB256:
      return 8;
    case Type::kB512:
      return 16;
    case Type::kMask:
      return num_lanes / 32;
    default:
      return 1;
  }
}

/// The bits of a constant. A hexadecimal integer is a 32-bit literal: for an f64, its upper half.
/// Source: RDNA 3 ISA, 7.2 "Operands" and 7.2.2.2 "Literal Expansion to 64 bits".
std::optional<std::uint64_t> constant_bits(std::string_view text, Type type) {
  const bool is_literal = text.starts_with("0x");
  if (const std::optional<std::int64_t> integer = parse_integer(text)) {
    if (is_literal && type == Type::kF64) {
      if (*integer < 0 || *integer >> 32 != 0) return std::nullopt;
      return static_cast<std::uint64_t>(*integer) << 32;
    }
    if (is_literal && type == Type::kI64 && *integer < std::int64_t{1} << 32) {
      return static_cast<std::uint64_t>(static_cast<std::int32_t>(*integer));
    }
    const bool is_wide = type == Type::kB64 || type == Type::kI64 || type == Type::kF64;
    return is_wide ? static_cast<std::uint64_t>(*integer) : static_cast<std::uint32_t>(*integer);
  }
  const std::string copy(text);
  char* end = nullptr;
  // The one constant that is printed with too few digits: 1 / (2 * pi).
  const double value =
      copy == "0.15915494" || copy == "0.15915494309189532" ? 0.15915494309189532 : std::strtod(copy.c_str(), &end);
  if (end != nullptr && (end != copy.c_str() + copy.size() || copy.find('.') == copy.npos)) return std::nullopt;
  switch (type) {
    case Type::kB64:
    case Type::kI64:
    case Type::kF64:
      return std::bit_cast<std::uint64_t>(value);
    case Type::kB16:
    case Type::kF16:
    case Type::kPackedF16:
      return Half(value).bits;
    default:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
}

}  // namespace

const ModifierText* InstructionText::find(std::string_view modifier) const {
  const auto found = std::ranges::find(modifiers, modifier, &ModifierText::name);
  return found == modifiers.end() ? nullptr : &*found;
}

InstructionText split_instruction(std::string_view whole) {
  whole = trim(whole);
  InstructionText text;
  const std::size_t space = std::min(whole.find_first_of(" \t"), whole.size());
  text.name = whole.substr(0, space);
  text.rest = trim(whole.substr(space));
  strip_encoding(text);
  std::vector<std::string_view> parts = split(text.rest, ',');
  if (parts.empty()) return text;
  const std::vector<std::string_view> tail = split(parts.back(), ' ');
  parts.pop_back();
  text.operands = std::move(parts);
  for (const std::string_view token : tail) {
    if (!is_modifier(token)) {
      text.operands.push_back(token);
      continue;
    }
    const std::size_t colon = std::min(find_colon(token), token.size());
    text.modifiers.push_back({token.substr(0, colon), token.substr(std::min(colon + 1, token.size()))});
  }
  return text;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool is_negative = consume(text, "-");
  const int base = consume(text, "0x") ? 16 : 10;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return static_cast<std::int64_t>(is_negative ? 0 - value : value);
}

Result<std::vector<std::uint32_t>> parse_list(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  if (text.starts_with('[') && text.ends_with(']')) {
    for (const std::string_view part : split(text.substr(1, text.size() - 2), ',')) {
      const std::optional<std::int64_t> number = parse_integer(part);
      if (!number || *number < 0 || *number > 63) break;
      numbers.push_back(static_cast<std::uint32_t>(*number));
    }
    if (!numbers.empty()) return numbers;
  }
  return unimplemented(fmt::format("'{}' is not a list of numbers", text));
}

Result<Operand> parse_operand(std::string_view text, Type type, std::uint32_t num_lanes) {
  std::string_view rest = text;
  bool is_sign_extended = false, is_absolute = false;
  const bool is_minus_a_number = rest.size() > 1 && rest[0] == '-' && rest[1] >= '0' && rest[1] <= '9';
  const bool is_negated = !is_minus_a_number && consume(rest, "-");
  if (rest.starts_with("sext(") && rest.ends_with(')')) {
    is_sign_extended = true;
    rest = rest.substr(5, rest.size() - 6);
  }
  if (rest.size() > 2 && rest.starts_with('|') && rest.ends_with('|')) {
    is_absolute = true;
    rest = rest.substr(1, rest.size() - 2);
  }
  Operand operand;
  if (const auto named = named_register(rest)) {
    operand = *named;
  } else if (const auto numbered = numbered_register(rest)) {
    operand = *numbered;
  } else if (rest == "src_scc" || rest == "scc") {
    operand.kind = OperandKind::kScc;
  } else if (rest == "off") {
    operand.kind = OperandKind::kOff;
  } else if (const auto bits = constant_bits(rest, type)) {
    operand = {.kind = OperandKind::kConstant, .bits = *bits};
  } else {
    return unimplemented(fmt::format("operand '{}' is not modelled", text));
  }
  operand.type = type;
  operand.is_negated = is_negated;
  operand.is_absolute = is_absolute;
  operand.is_sign_extended = is_sign_extended;
  if (operand.kind != OperandKind::kScalar && operand.kind != OperandKind::kVector) return operand;
  const std::uint32_t expected = num_words(type, num_lanes);
  if (operand.first == kNull) operand.count = static_cast<std::uint16_t>(expected);
  if (operand.count != expected) {
    return unimplemented(fmt::format("operand '{}' has {} registers, expected {}", text, operand.count, expected));
  }
  return operand;
}

}  // namespace millrace::isa
