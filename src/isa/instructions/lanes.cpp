// SPDX-License-Identifier: Apache-2.0
// Instructions by which lanes read other lanes, or whose result depends on the lane's index.
// Source: RDNA 3 ISA, 16.8 (V_READFIRSTLANE_B32, V_PERMLANE64_B32, V_SWAP_B32) and 16.12 (the others); CDNA 4 ISA, 12.8
// and 12.11.
#include <bit>

#include "isa/decode.h"
#include "isa/instructions/vector.h"
#include "isa/text.h"

namespace millrace::isa {
namespace {

std::uint64_t bit_of(std::uint32_t lane) { return std::uint64_t{1} << lane; }

/// Reads a lane, active or not.
void read_lane(Wave& wave, const Instruction& instruction, std::uint32_t lane) {
  const Operand& source = instruction.source(0);
  std::uint64_t value = 0, undefined = 0;
  if (source.is_vector()) {
    value = wave.vectors[source.first].lanes[lane];
    if (wave.finds_mistakes()) undefined = wave.undefined_vectors[source.first].lanes[lane];
  } else {
    value = wave.read_scalar(source);
    undefined = wave.undefined_bits(source);
  }
  // A partly undefined value is allowed: compilers read 16-bit values from lanes whose other half was never written.
  if (static_cast<std::uint32_t>(undefined) == ~0u) wave.fail("undefined data reaches a scalar register", bit_of(lane));
  wave.write_scalar(instruction.result(), value, undefined);
}

void read_first_lane(Wave& wave, const Instruction& instruction) {
  const std::uint64_t exec = wave.exec();
  read_lane(wave, instruction, exec == 0 ? 0 : static_cast<std::uint32_t>(std::countr_zero(exec)));
}

/// The lane that a scalar source names.
std::uint32_t chosen_lane(Wave& wave, const Operand& operand) {
  const std::uint32_t mask = wave.machine.num_lanes - 1;
  if ((wave.undefined_bits(operand) & mask) != 0) wave.fail("undefined data chooses a lane");
  return static_cast<std::uint32_t>(wave.read_scalar(operand)) & mask;
}

void read_chosen_lane(Wave& wave, const Instruction& instruction) {
  read_lane(wave, instruction, chosen_lane(wave, instruction.source(1)));
}

/// Writes a lane, active or not.
void write_lane(Wave& wave, const Instruction& instruction) {
  const std::uint32_t lane = chosen_lane(wave, instruction.source(1));
  const std::uint16_t result = instruction.result().first;
  wave.vectors[result].lanes[lane] = static_cast<std::uint32_t>(wave.read_scalar(instruction.source(0)));
  if (!wave.finds_mistakes()) return;
  LaneWords undefined;
  undefined.lanes[lane] = static_cast<std::uint32_t>(wave.undefined_bits(instruction.source(0)));
  wave.set_undefined(result, bit_of(lane), undefined);
}

/// Gives each active lane the first source's value in the lane `source_of(lane)`.
void permute_lanes(Wave& wave, const Instruction& instruction, bool fetches_inactive, auto source_of) {
  Lanes<std::uint32_t> before, undefined_before, results, undefined;
  fetch(wave, instruction, 0, before);
  const std::uint64_t exec = wave.exec();
  const bool is_defined = !wave.may_be_undefined(instruction.source(0));
  if (!is_defined) fetch_undefined(wave, instruction, 0, undefined_before);
  std::uint64_t from_off = 0;
  for (std::uint32_t lane = 0; lane < wave.machine.num_lanes; ++lane) {
    const std::uint32_t source = source_of(lane);
    results.values[lane] = before.values[source];
    if (!is_defined) undefined.values[lane] = undefined_before.values[source];
    if ((exec & bit_of(source)) == 0) from_off |= exec & bit_of(lane);
  }
  if (from_off != 0 && !fetches_inactive) wave.fail("reads the value of an inactive lane", from_off);
  commit(wave, instruction, results, is_defined ? nullptr : &undefined);
}

/// Gives each lane the value of a chosen lane in its own row of 16 lanes (kXor 0) or in the adjacent row (kXor 16). The
/// sources hold four bits per lane, which choose that lane.
template <std::uint32_t kXor>
void permute_row(Wave& wave, const Instruction& instruction) {
  const Operand& low = instruction.source(1);
  const Operand& high = instruction.source(2);
  if (wave.undefined_bits(low) != 0 || wave.undefined_bits(high) != 0) wave.fail("undefined data chooses a lane");
  const std::uint64_t order = (wave.read_scalar(low) & 0xffff'ffffu) | wave.read_scalar(high) << 32;
  permute_lanes(wave, instruction, instruction.immediate != 0, [order](std::uint32_t lane) {
    return ((lane & ~15u) ^ kXor) | static_cast<std::uint32_t>(order >> (4 * (lane & 15)) & 15);
  });
}

/// The first bit of op_sel is "fetch inactive". The second is "bound control": what a lane gets if it reads an inactive
/// lane. That is a mistake here, whatever the second bit says.
Status adapt_permute_row(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  MILLRACE_TRY(decode_operands(text, machine, instruction));
  for (const ModifierText& modifier : text.modifiers) {
    if (modifier.name != "op_sel") return unimplemented("a permutation with a modifier other than op_sel");
    MILLRACE_TRY_ASSIGN(const std::vector<std::uint32_t> digits, parse_list(modifier.value));
    instruction.immediate = digits[0];
  }
  return {};
}

/// Exchanges the halves of a wave of 64. In a wave of 32, does nothing.
void exchange_halves(Wave& wave, const Instruction& instruction) {
  if (wave.machine.num_lanes == 32) return;
  permute_lanes(wave, instruction, false, [](std::uint32_t lane) { return lane ^ 32; });
}

void swap_registers(Wave& wave, const Instruction& instruction) {
  const std::uint16_t a = instruction.operands[0].first, b = instruction.operands[1].first;
  const std::uint64_t exec = wave.exec();
  const LaneWords old_a = wave.vectors[a], old_b = wave.vectors[b];
  for (std::uint32_t lane = 0; lane < wave.machine.num_lanes; ++lane) {
    if ((exec & bit_of(lane)) == 0) continue;
    wave.vectors[a].lanes[lane] = old_b.lanes[lane];
    wave.vectors[b].lanes[lane] = old_a.lanes[lane];
  }
  if (!wave.finds_mistakes()) return;
  const LaneWords undefined_a = wave.undefined_vectors[a];
  wave.set_undefined(a, exec, LaneWords(wave.undefined_vectors[b]));
  wave.set_undefined(b, exec, undefined_a);
}

/// For each lane, counts the mask bits that are set for the lanes below it, and adds an operand. The mask has 32 bits,
/// for the lanes from kFirst on.
template <std::uint32_t kFirst>
void count_lanes_below(Wave& wave, const Instruction& instruction) {
  Lanes<std::uint32_t> masks, sums, undefined_masks, undefined_sums;
  fetch(wave, instruction, 0, masks);
  fetch(wave, instruction, 1, sums);
  const bool is_defined =
      !wave.may_be_undefined(instruction.source(0)) && !wave.may_be_undefined(instruction.source(1));
  if (!is_defined) {
    fetch_undefined(wave, instruction, 0, undefined_masks);
    fetch_undefined(wave, instruction, 1, undefined_sums);
  }
  for (std::uint32_t lane = 0; lane < wave.machine.num_lanes; ++lane) {
    const auto below = static_cast<std::uint32_t>((bit_of(lane) - 1) >> kFirst);
    if (is_defined) {
      sums.values[lane] += static_cast<std::uint32_t>(std::popcount(masks.values[lane] & below));
      continue;
    }
    const Known<std::uint32_t> mask(masks.values[lane], undefined_masks.values[lane]);
    const Known<std::uint32_t> sum = count_bits(mask & below) + Known(sums.values[lane], undefined_sums.values[lane]);
    sums.values[lane] += static_cast<std::uint32_t>(std::popcount(masks.values[lane] & below));
    undefined_sums.values[lane] = sum.undefined;
  }
  commit(wave, instruction, sums, is_defined ? nullptr : &undefined_sums);
}

constexpr Row lane_row(const char* name, Handler run, std::size_t num_sources, Adaptor adapt = nullptr) {
  Row row{.name = name, .kind = Class::kVector, .run = run, .num_results = 1, .adapt = adapt};
  for (std::size_t i = 0; i <= num_sources; ++i) row.types[i] = Type::kB32;
  return row;
}

/// The row of an instruction that copies a lane into a scalar register.
constexpr Row read_row(const char* name, Handler run, std::size_t num_sources) {
  Row row = lane_row(name, run, num_sources);
  row.has_scalar_result = true;
  return row;
}

constexpr Row kRows[] = {read_row("v_readfirstlane_b32", read_first_lane, 1),
                         read_row("v_readlane_b32", read_chosen_lane, 2),
                         lane_row("v_writelane_b32", write_lane, 2),
                         lane_row("v_permlane16_b32", permute_row<0>, 3, adapt_permute_row),
                         lane_row("v_permlanex16_b32", permute_row<16>, 3, adapt_permute_row),
                         lane_row("v_permlane64_b32", exchange_halves, 1),
                         lane_row("v_swap_b32", swap_registers, 1),
                         lane_row("v_mbcnt_lo_u32_b32", count_lanes_below<0>, 2),
                         lane_row("v_mbcnt_hi_u32_b32", count_lanes_below<32>, 2)};

}  // namespace

std::span<const Row> lane_rows() { return kRows; }

}  // namespace millrace::isa
