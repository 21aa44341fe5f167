// SPDX-License-Identifier: Apache-2.0
// DS instructions that move values between lanes and touch no memory. The wait counters treat them like other LDS
// instructions.
// Source: RDNA 3 ISA, 12.5.2 "LDS Lane-permute Ops" and 16.15 "LDS & GDS"; CDNA 4 ISA, 12.12 "LDS"; LLVM's "Syntax of
// AMDGPU Instruction Modifiers", "swizzle".
#include <fmt/format.h>

#include "isa/decode.h"
#include "isa/memory_access.h"

namespace millrace::isa {
namespace {

/// Lane `i` of the result is lane `source(i)` of the data; kNobody gives 0.
constexpr std::uint32_t kNobody = UINT32_MAX;

template <class F>
void shuffle(Wave& wave, const Instruction& instruction, const Operand& data, F source) {
  const std::uint64_t exec = wave.exec();
  const bool is_defined = !wave.may_be_undefined(data), is_full = exec == wave.machine.all_lanes();
  const auto& before = wave.vectors[data.first].lanes;
  LaneWords values, undefined;
  std::uint64_t from_off = 0;
  for (std::uint32_t i = 0; i < wave.machine.num_lanes; ++i) {
    if (!is_full && (exec >> i & 1) == 0) continue;
    const std::uint32_t from = source(i);
    if (from == kNobody) continue;
    if (!is_full && (exec >> from & 1) == 0) {
      from_off |= std::uint64_t{1} << i;  // the processor gives 0
      continue;
    }
    values.lanes[i] = before[from];
    if (!is_defined) undefined.lanes[i] = wave.undefined_vectors[data.first].lanes[from];
  }
  if (wave.finds_mistakes() && from_off != 0) return wave.fail("reads the value of an inactive lane", from_off);
  const Operand& result = instruction.operands[kResult];
  auto& lanes = wave.vectors[result.first].lanes;
  for (std::uint32_t i = 0; i < wave.machine.num_lanes; ++i) {
    if ((exec >> i & 1) != 0) lanes[i] = values.lanes[i];
  }
  begin_flight(wave, FlightKind::kLocal, {true, result.first, 1});
  if (!wave.finds_mistakes()) return;
  if (is_defined)
    wave.set_defined(result.first, exec);
  else
    wave.set_undefined(result.first, exec, undefined);
}

bool check_lanes_defined(Wave& wave, const Operand& operand) {
  if (!wave.finds_mistakes() || !wave.may_be_undefined(operand)) return true;
  std::uint64_t undefined = 0;
  for (std::uint32_t i = 0; i < wave.machine.num_lanes; ++i) {
    if (wave.undefined_vectors[operand.first].lanes[i] != 0) undefined |= std::uint64_t{1} << i;
  }
  undefined &= wave.exec();
  if (undefined == 0) return true;
  wave.fail(fmt::format("uses an undefined lane number from {}", register_text({true, operand.first, 1})), undefined);
  return false;
}

/// In waves of 64 lanes, GFX10 and GFX11 move values only between lanes of the same half. Lane numbers count from that
/// half's first lane, as in Mesa's compiler. (In the manual's pseudocode, they refer to the lower half in both cases.)
std::uint32_t num_reachable(const Machine& machine) {
  return machine.major == 10 || machine.major == 11 ? 32 : machine.num_lanes;
}

void run_bpermute(Wave& wave, const Instruction& instruction) {
  const Operand& address = instruction.operands[kAddress];
  if (!check_lanes_defined(wave, address)) return;
  const auto numbers = wave.vectors[address.first];
  const std::uint32_t lane_bits = wave.machine.num_lanes - 1, reach_bits = num_reachable(wave.machine) - 1;
  const auto offset = static_cast<std::uint32_t>(instruction.modifiers.offset);
  std::uint64_t across = 0;
  shuffle(wave, instruction, instruction.operands[kData], [&](std::uint32_t i) {
    const std::uint32_t from = (numbers.lanes[i] + offset) / 4 & lane_bits;
    if (((from ^ i) & ~reach_bits) != 0) across |= std::uint64_t{1} << i;
    return (i & ~reach_bits) | (from & reach_bits);
  });
  if (wave.finds_mistakes() && across != 0) wave.fail("reads the value of a lane of the wave's other half", across);
}

void run_permute(Wave& wave, const Instruction& instruction) {
  const Operand& address = instruction.operands[kAddress];
  if (!check_lanes_defined(wave, address)) return;
  const std::uint32_t num_lanes = wave.machine.num_lanes, reach = num_reachable(wave.machine);
  std::array<std::uint32_t, kMaxLanes> senders;
  senders.fill(kNobody);
  std::uint64_t across = 0;
  for (std::uint32_t i = 0; i < num_lanes; ++i) {
    if ((wave.exec() >> i & 1) == 0) continue;
    const std::uint32_t number =
        wave.vectors[address.first].lanes[i] + static_cast<std::uint32_t>(instruction.modifiers.offset);
    const std::uint32_t to = number / 4 % num_lanes;
    if (to / reach != i / reach) across |= std::uint64_t{1} << i;
    senders[i / reach * reach + to % reach] = i;
  }
  if (wave.finds_mistakes() && across != 0)
    return wave.fail("gives its value to a lane of the wave's other half", across);
  shuffle(wave, instruction, instruction.operands[kData], [&](std::uint32_t i) { return senders[i]; });
}

/// `immediate` is the offset. If its bit 15 is set, the lower bits permute each group of four lanes; otherwise they are
/// masks for the lane index within 32 lanes.
void run_swizzle(Wave& wave, const Instruction& instruction) {
  const auto offset = static_cast<std::uint32_t>(instruction.immediate);
  shuffle(wave, instruction, instruction.operands[kAddress], [&](std::uint32_t i) {
    if ((offset & 0x8000) != 0) return (i & ~3u) | (offset >> (2 * (i & 3)) & 3);
    const std::uint32_t and_mask = offset & 31, or_mask = offset >> 5 & 31, xor_mask = offset >> 10 & 31;
    return (i & ~31u) | (((i & and_mask) | or_mask) ^ xor_mask);
  });
}

Status adapt_shuffle(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  const Row& row = *instruction.row;
  std::size_t num_expected = 0;
  while (row.types[num_expected] != Type::kNone) ++num_expected;
  if (text.operands.size() != num_expected) {
    return unimplemented(fmt::format("it has {} operands, expected {}", text.operands.size(), num_expected));
  }
  for (std::size_t i = 0; i < num_expected; ++i) {
    MILLRACE_TRY(decode_memory_operand(text.operands[i], row.types[i], machine, i, instruction));
    if (!instruction.operands[i].is_vector()) return unimplemented("an operand is not a vector register");
  }
  return {};
}

Status adapt_permute(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  MILLRACE_TRY(adapt_shuffle(text, machine, instruction));
  return decode_memory_modifiers(text, instruction);
}

std::uint32_t mask_offset(std::uint32_t and_mask, std::uint32_t or_mask, std::uint32_t xor_mask) {
  return (and_mask & 31) | (or_mask & 31) << 5 | (xor_mask & 31) << 10;
}

/// The mode and its arguments: "SWAP,4".
Result<std::uint32_t> swizzle_offset(std::string_view text) {
  const auto not_modelled = [&] { return unimplemented(fmt::format("swizzle '{}' is not modelled", text)); };
  const std::size_t comma = std::min(text.find(','), text.size());
  const std::string_view mode = text.substr(0, comma);
  const std::string_view rest = text.substr(std::min(comma + 1, text.size()));
  if (mode == "BITMASK_PERM") {  // one character per bit of the lane index, highest first, in quotes
    if (rest.size() != 7) return not_modelled();
    std::uint32_t masks[3] = {};
    for (std::uint32_t i = 0; i < 5; ++i) {
      const std::uint32_t bit = 1u << (4 - i);
      const char c = rest[i + 1];
      if (c == 'p' || c == 'i') masks[0] |= bit;
      if (c == '1') masks[1] |= bit;
      if (c == 'i') masks[2] |= bit;
    }
    return mask_offset(masks[0], masks[1], masks[2]);
  }
  MILLRACE_TRY_ASSIGN(const std::vector<std::uint32_t> numbers, parse_list(fmt::format("[{}]", rest)));
  if (mode == "SWAP" && numbers.size() == 1) return mask_offset(31, 0, numbers[0]);
  if (mode == "REVERSE" && numbers.size() == 1) return mask_offset(31, 0, numbers[0] - 1);
  if (mode == "BROADCAST" && numbers.size() == 2) return mask_offset(32 - numbers[0], numbers[1], 0);
  if (mode == "QUAD_PERM" && numbers.size() == 4) {
    return 0x8000 | numbers[0] | numbers[1] << 2 | numbers[2] << 4 | numbers[3] << 6;
  }
  return not_modelled();
}

Status adapt_swizzle(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  MILLRACE_TRY(adapt_shuffle(text, machine, instruction));
  for (const ModifierText& modifier : text.modifiers) {
    if (modifier.name != "offset") return unimplemented(fmt::format("modifier '{}' is not modelled", modifier.name));
    std::string_view value = modifier.value;
    if (const std::optional<std::int64_t> number = parse_integer(value)) {
      if (*number >= 0xc000) return unimplemented(fmt::format("swizzle '{}' is not modelled", value));
      instruction.immediate = *number;
      continue;
    }
    if (!value.starts_with("swizzle(") || !value.ends_with(')')) {
      return unimplemented(fmt::format("offset '{}' is not modelled", value));
    }
    value = value.substr(8, value.size() - 9);
    MILLRACE_TRY_ASSIGN(instruction.immediate, swizzle_offset(value));
  }
  return {};
}

constexpr Row shuffle_row(const char* name, Handler run, Adaptor adapt, Type data) {
  return {.name = name,
          .kind = Class::kLocal,
          .run = run,
          .num_results = 1,
          .types = {Type::kB32, Type::kB32, data},
          .adapt = adapt};
}

constexpr Row kRows[] = {
    shuffle_row("ds_bpermute_b32", &run_bpermute, &adapt_permute, Type::kB32),
    shuffle_row("ds_permute_b32", &run_permute, &adapt_permute, Type::kB32),
    shuffle_row("ds_swizzle_b32", &run_swizzle, &adapt_swizzle, Type::kNone),
};

}  // namespace

std::span<const Row> local_shuffle_rows() { return kRows; }

}  // namespace millrace::isa
