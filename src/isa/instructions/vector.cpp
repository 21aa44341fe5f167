// SPDX-License-Identifier: Apache-2.0
// Fetches the sources and commits the results of vector instructions, with all their modifiers.
// Source: RDNA 3 ISA, 7.1 "Microcode Encodings" (modifiers), 7.7 "Data Parallel Processing"; Vega ISA, 13.3.7
// "SDWA".
#include "isa/instructions/vector.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace millrace::isa {
namespace {

constexpr std::uint32_t part_shift(Part part) {
  switch (part) {
    case Part::kByte1:
      return 8;
    case Part::kByte2:
      return 16;
    case Part::kByte3:
      return 24;
    case Part::kWord1:
      return 16;
    default:
      return 0;
  }
}

constexpr std::uint32_t part_mask(Part part) {
  switch (part) {
    case Part::kWhole:
      return ~0u;
    case Part::kWord0:
    case Part::kWord1:
      return 0xffff;
    default:
      return 0xff;
  }
}

std::uint64_t sign_bit(Type type) {
  if (type == Type::kF64) return std::uint64_t{1} << 63;
  return type == Type::kF16 ? 0x8000 : 0x8000'0000;
}

/// Applies |x|, -x, sext and the selection of a part.
template <class Bits>
void apply_modifiers(const Operand& operand, std::uint32_t num_lanes, Lanes<Bits>& lanes) {
  if (operand.part != Part::kWhole) {
    const std::uint32_t shift = part_shift(operand.part), mask = part_mask(operand.part);
    const Bits sign = (mask + 1) / 2;
    for (std::uint32_t i = 0; i < num_lanes; ++i) {
      Bits value = (lanes.values[i] >> shift) & mask;
      if (operand.is_sign_extended) value = (value ^ sign) - sign;
      lanes.values[i] = value;
    }
  }
  if (!operand.is_absolute && !operand.is_negated) return;
  const Bits sign = static_cast<Bits>(sign_bit(operand.type));
  const Bits keep = operand.is_absolute ? ~sign : ~Bits{0}, flip = operand.is_negated ? sign : 0;
  for (std::uint32_t i = 0; i < num_lanes; ++i) lanes.values[i] = (lanes.values[i] & keep) ^ flip;
}

/// Applies the modifiers to undefined bits. |x| and -x do not move them.
template <class Bits>
void apply_part(const Operand& operand, std::uint32_t num_lanes, Lanes<Bits>& undefined) {
  if (operand.part == Part::kWhole) return;
  Operand part{.is_sign_extended = operand.is_sign_extended, .part = operand.part};
  // Sign extension copies the undefined bit of a sign too, so every bit above an undefined sign becomes undefined.
  apply_modifiers(part, num_lanes, undefined);
}

/// Arranges the halves of a packed operand according to op_sel and op_sel_hi. The halves of a value may be negated.
template <class Bits>
void arrange_halves(const Operand& operand, bool is_value, std::uint32_t num_lanes, Lanes<Bits>& lanes) {
  constexpr std::uint32_t kHalf = sizeof(Bits) * 4;
  constexpr Bits kMask = (Bits{1} << kHalf) - 1, kSign = Bits{1} << (kHalf - 1);
  const std::uint32_t low_shift = operand.low_from_high ? kHalf : 0, high_shift = operand.high_from_high ? kHalf : 0;
  const Bits flip = is_value ? (operand.negates_low ? kSign : 0) | (operand.negates_high ? kSign << kHalf : 0) : 0;
  for (std::uint32_t i = 0; i < num_lanes; ++i) {
    const Bits value = lanes.values[i];
    lanes.values[i] = ((value >> low_shift & kMask) | (value >> high_shift & kMask) << kHalf) ^ flip;
  }
}

bool is_packed(Type type) { return type == Type::kPackedB16 || type == Type::kPackedF16 || type == Type::kPackedF32; }

/// A lane that reads the value of an inactive lane gets 0, or keeps its result: RDNA 3 ISA, 7.7.1 "DPP16". Here that is
/// a mistake, because no kernel intends it.
template <class Bits>
void take_from_lanes(Wave& wave, const Instruction& instruction, Lanes<Bits>& lanes) {
  const LaneControl& control = *instruction.lane_control;
  const Lanes<Bits> before = lanes;
  const std::uint64_t exec = wave.exec(), written = written_lanes(wave, instruction);
  std::uint64_t from_off = 0;
  for (std::uint32_t i = 0; i < wave.machine.num_lanes; ++i) {
    const std::uint8_t source = control.source[i];
    lanes.values[i] = source == LaneControl::kNobody ? 0 : before.values[source];
    if (source == LaneControl::kNobody || control.fetches_inactive) continue;
    if ((exec >> source & 1) == 0 && (written >> i & 1) != 0) from_off |= std::uint64_t{1} << i;
  }
  if (from_off != 0) wave.fail("reads the value of an inactive lane", from_off);
}

template <class Bits>
void load(const std::vector<LaneWords>& file, const Operand& operand, std::uint32_t num_lanes, Lanes<Bits>& lanes) {
  const auto& low = file[operand.first].lanes;
  if constexpr (sizeof(Bits) == 4) {
    std::copy_n(low.begin(), num_lanes, lanes.values);
  } else if (operand.count == 1) {  // 32 bits for a 64-bit source
    for (std::uint32_t i = 0; i < num_lanes; ++i) lanes.values[i] = low[i];
  } else {
    const auto& high = file[operand.first + 1u].lanes;
    for (std::uint32_t i = 0; i < num_lanes; ++i) lanes.values[i] = low[i] | static_cast<std::uint64_t>(high[i]) << 32;
  }
}

/// Calls `f` with each lane and whether it is in the mask; vectorised.
template <class F>
void for_mask(std::uint64_t mask, std::uint32_t num_lanes, F f) {
  static constexpr auto kBits = [] {
    std::array<std::uint32_t, 32> bits = {};
    for (std::uint32_t i = 0; i < 32; ++i) bits[i] = 1u << i;
    return bits;
  }();
  for (std::size_t first = 0; first < num_lanes; first += 32) {
    const auto half = static_cast<std::uint32_t>(mask >> first);
    for (std::size_t i = 0; i < 32; ++i) f(first + i, (half & kBits[i]) != 0);
  }
}

/// A mask's bits, one for each lane.
template <class Bits>
void spread(std::uint64_t mask, std::uint32_t num_lanes, Lanes<Bits>& lanes) {
  for_mask(mask, num_lanes, [&](std::size_t lane, bool is_set) { lanes.values[lane] = is_set; });
}

template <class Bits>
void fetch_bits(Wave& wave, const Instruction& instruction, std::size_t source, Lanes<Bits>& lanes) {
  const Operand& operand = instruction.source(source);
  const std::uint32_t num_lanes = wave.machine.num_lanes;
  if (operand.is_vector()) {
    load(wave.vectors, operand, num_lanes, lanes);
  } else if (operand.type == Type::kMask) {
    return spread(wave.read_scalar(operand), num_lanes, lanes);
  } else {
    std::fill_n(lanes.values, num_lanes, static_cast<Bits>(wave.read_scalar(operand)));
  }
  if (source == 0 && instruction.lane_control != nullptr) take_from_lanes(wave, instruction, lanes);
  if (is_packed(operand.type)) return arrange_halves(operand, true, num_lanes, lanes);
  apply_modifiers(operand, num_lanes, lanes);
}

template <class Bits>
void fetch_undefined_bits(Wave& wave, const Instruction& instruction, std::size_t source, Lanes<Bits>& lanes) {
  const Operand& operand = instruction.source(source);
  const std::uint32_t num_lanes = wave.machine.num_lanes;
  if (operand.is_vector()) {
    load(wave.undefined_vectors, operand, num_lanes, lanes);
  } else if (operand.type == Type::kMask) {
    return spread(wave.undefined_bits(operand), num_lanes, lanes);
  } else {
    std::fill_n(lanes.values, num_lanes, static_cast<Bits>(wave.undefined_bits(operand)));
  }
  if (source == 0 && instruction.lane_control != nullptr) take_from_lanes(wave, instruction, lanes);
  if (is_packed(operand.type)) return arrange_halves(operand, false, num_lanes, lanes);
  apply_part(operand, num_lanes, lanes);
  // The other half of the register does not matter.
  if ((operand.type == Type::kB16 || operand.type == Type::kF16) && operand.part == Part::kWhole) {
    for (std::uint32_t i = 0; i < num_lanes; ++i) lanes.values[i] &= 0xffff;
  }
}

void write_word(Wave& wave, std::uint32_t vector_register, std::uint64_t written, const std::uint32_t* values) {
  auto& lanes = wave.vectors[vector_register].lanes;
  if (written == wave.machine.all_lanes()) {
    std::copy_n(values, wave.machine.num_lanes, lanes.begin());
    return;
  }
  std::uint32_t* to = lanes.data();
  for_mask(written, wave.machine.num_lanes,
           [&](std::size_t lane, bool is_written) { to[lane] = is_written ? values[lane] : to[lane]; });
}

void write_undefined(Wave& wave, std::uint32_t vector_register, std::uint64_t written, const std::uint32_t* undefined) {
  if (!wave.finds_mistakes()) return;
  if (undefined == nullptr) return wave.set_defined(vector_register, written);
  LaneWords bits;
  std::copy_n(undefined, wave.machine.num_lanes, bits.lanes.begin());
  wave.set_undefined(vector_register, written, bits);
}

/// Whether an instruction with a 16-bit result keeps the other half of the register. GFX9 zeroes the other half, except
/// in instructions that are new in GFX9.
/// Source: LLVM, GCNSubtarget::zeroesHigh16BitsOfDest.
bool keeps_other_half(const Wave& wave, const Instruction& instruction) {
  const Type type = instruction.row->types[0];
  if (type != Type::kB16 && type != Type::kF16) return false;
  return wave.machine.major >= 10 || instruction.row->keeps_other_half;
}

/// Writes a result to its part of the register, and sets or keeps the rest of the register according to the modifiers.
void merge_part(const Instruction& instruction, Part part, bool keeps_rest, const LaneWords& old,
                std::uint32_t num_lanes, std::uint32_t* values) {
  const std::uint32_t shift = part_shift(part), mask = part_mask(part) << shift;
  const std::uint32_t sign = (part_mask(part) + 1) / 2 << shift;
  for (std::uint32_t i = 0; i < num_lanes; ++i) {
    std::uint32_t value = values[i] << shift & mask;
    if (keeps_rest) value |= old.lanes[i] & ~mask;
    if (instruction.modifiers.sign_extends_rest && (value & sign) != 0) value |= ~(mask | (sign - 1));
    values[i] = value;
  }
}

/// Applies omod and clamp to float results. The hardware ignores omod if subnormals are not flushed or MODE's IEEE bit
/// is set; otherwise it gives +0 for -0 and for subnormals. Source: RDNA 3 ISA, 7.2.3.1 "Output Operand Modifiers".
template <class T, class Bits>
void scale_and_clamp(const Wave& wave, const Instruction& instruction, Lanes<Bits>& results) {
  const Modifiers& modifiers = instruction.modifiers;
  const bool flushes = sizeof(T) == 4 ? wave.mode.flushes_f32_results : wave.mode.flushes_f16_f64_results;
  const bool is_scaled = modifiers.factor != 1 && flushes && !wave.mode.is_ieee;
  for (std::uint32_t i = 0; i < wave.machine.num_lanes; ++i) {
    T value = std::bit_cast<T>(results.values[i]);
    if (is_scaled) {
      value *= static_cast<T>(modifiers.factor);
      if (std::abs(value) < std::numeric_limits<T>::min()) value = 0;
    }
    if (modifiers.clamps) {
      if (value > 0)
        value = std::min(value, T{1});
      else if (value <= 0 || wave.mode.clamps_nan_to_zero)
        value = 0;
    }
    results.values[i] = std::bit_cast<Bits>(value);
  }
}

}  // namespace

std::uint64_t written_lanes(const Wave& wave, const Instruction& instruction) {
  std::uint64_t lanes = wave.exec();
  if (instruction.lane_control == nullptr) return lanes;
  const LaneControl& control = *instruction.lane_control;
  lanes &= control.written;
  if (control.bound_control) return lanes;
  for (std::uint32_t i = 0; i < wave.machine.num_lanes; ++i) {
    if (control.source[i] == LaneControl::kNobody) lanes &= ~(std::uint64_t{1} << i);
  }
  return lanes;
}

void fetch(Wave& wave, const Instruction& instruction, std::size_t source, Lanes<std::uint32_t>& lanes) {
  fetch_bits(wave, instruction, source, lanes);
}
void fetch(Wave& wave, const Instruction& instruction, std::size_t source, Lanes<std::uint64_t>& lanes) {
  fetch_bits(wave, instruction, source, lanes);
}
void fetch_undefined(Wave& wave, const Instruction& instruction, std::size_t source, Lanes<std::uint32_t>& lanes) {
  fetch_undefined_bits(wave, instruction, source, lanes);
}
void fetch_undefined(Wave& wave, const Instruction& instruction, std::size_t source, Lanes<std::uint64_t>& lanes) {
  fetch_undefined_bits(wave, instruction, source, lanes);
}

void commit(Wave& wave, const Instruction& instruction, Lanes<std::uint32_t>& results,
            const Lanes<std::uint32_t>* undefined) {
  const Operand& result = instruction.result();
  const std::uint64_t written = written_lanes(wave, instruction);
  const std::uint32_t num_lanes = wave.machine.num_lanes;
  const Modifiers& modifiers = instruction.modifiers;
  if (instruction.row->types[0] == Type::kF32 && (modifiers.clamps || modifiers.factor != 1)) {
    scale_and_clamp<float>(wave, instruction, results);
  }
  Part part = modifiers.result_part;
  bool keeps_rest = modifiers.preserves_rest;
  if (part == Part::kWhole && keeps_other_half(wave, instruction)) {
    part = modifiers.op_selects_high_result ? Part::kWord1 : Part::kWord0;
    keeps_rest = true;
  }
  Lanes<std::uint32_t> shadow;
  if (wave.finds_mistakes() && (undefined != nullptr || (keeps_rest && wave.has_undefined[result.first] != 0))) {
    if (undefined != nullptr)
      shadow = *undefined;
    else
      std::fill_n(shadow.values, num_lanes, 0u);
    if (part != Part::kWhole) {
      merge_part(instruction, part, keeps_rest, wave.undefined_vectors[result.first], num_lanes, shadow.values);
    }
    undefined = &shadow;
  }
  if (part != Part::kWhole) {
    merge_part(instruction, part, keeps_rest, wave.vectors[result.first], num_lanes, results.values);
  }
  write_word(wave, result.first, written, results.values);
  write_undefined(wave, result.first, written, undefined == nullptr ? nullptr : undefined->values);
}

void commit(Wave& wave, const Instruction& instruction, Lanes<std::uint64_t>& results,
            const Lanes<std::uint64_t>* undefined) {
  const std::uint64_t written = written_lanes(wave, instruction);
  const Modifiers& modifiers = instruction.modifiers;
  if (instruction.row->types[0] == Type::kF64 && (modifiers.clamps || modifiers.factor != 1)) {
    scale_and_clamp<double>(wave, instruction, results);
  }
  for (std::uint32_t word = 0; word < 2; ++word) {
    const std::uint32_t vector_register = instruction.result().first + word;
    std::uint32_t values[kMaxLanes];
    const auto take_word = [&](const Lanes<std::uint64_t>& from) {
      for (std::uint32_t i = 0; i < wave.machine.num_lanes; ++i) {
        values[i] = static_cast<std::uint32_t>(from.values[i] >> (32 * word));
      }
    };
    take_word(results);
    write_word(wave, vector_register, written, values);
    if (undefined != nullptr) take_word(*undefined);
    write_undefined(wave, vector_register, written, undefined == nullptr ? nullptr : values);
  }
}

void commit_mask(Wave& wave, const Operand& result, std::uint64_t lanes, std::uint64_t undefined) {
  const std::uint64_t exec = wave.exec();
  wave.write_scalar(result, lanes & exec, undefined & exec);
}

void commit_mask(Wave& wave, const Instruction& instruction, std::uint64_t lanes, std::uint64_t undefined) {
  const std::uint64_t written = written_lanes(wave, instruction);
  wave.write_scalar(instruction.result(), lanes & written, undefined & written);
}

}  // namespace millrace::isa
