// SPDX-License-Identifier: Apache-2.0
// Handlers of vector memory instructions: loads, stores and atomics, whatever memory they access.
#pragma once

#include <bit>
#include <cstring>

#include "isa/memory_access.h"

namespace millrace::isa {

/// The format in memory of one register or several.
struct Format {
  std::uint8_t num_bytes = 4;
  bool is_signed = false;    // a byte or half that is sign-extended
  Part part = Part::kWhole;  // where in its register a byte or half goes; the rest is kept
  constexpr std::uint32_t num_words() const { return (num_bytes + 3u) / 4; }
  constexpr std::uint32_t shift() const { return part == Part::kWord1 ? 16 : 0; }
  /// The bits of a register that are stored.
  constexpr std::uint32_t bits() const { return (num_bytes >= 4 ? ~0u : (1u << num_bytes * 8) - 1) << shift(); }
};

constexpr Type type_of(Format format) {
  constexpr Type kTypes[] = {Type::kNone, Type::kB32, Type::kB64, Type::kB96, Type::kB128};
  return kTypes[format.num_words()];
}

/// Calls `f` with each lane of `lanes`.
template <class F>
void for_active(const Wave& wave, std::uint64_t lanes, F f) {
  if (lanes == wave.machine.all_lanes()) {
    for (std::uint32_t lane = 0; lane < wave.machine.num_lanes; ++lane) f(lane);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

template <Format kFormat>
std::uint32_t extend(const std::byte* from, std::uint32_t old) {
  std::uint32_t value = 0;
  if constexpr (kFormat.num_bytes == 1) {
    const auto byte = std::to_integer<std::uint8_t>(*from);
    value = kFormat.is_signed ? static_cast<std::uint32_t>(static_cast<std::int8_t>(byte)) : byte;
  } else {
    std::uint16_t half = 0;
    std::memcpy(&half, from, sizeof(half));
    value = kFormat.is_signed ? static_cast<std::uint32_t>(static_cast<std::int16_t>(half)) : half;
  }
  if constexpr (kFormat.part == Part::kWord0) value = (value & 0xffff) | (old & 0xffff'0000);
  if constexpr (kFormat.part == Part::kWord1) value = value << 16 | (old & 0xffff);
  return value;
}

/// Reads memory into words of lanes.
template <Format kFormat>
void read_lanes(const Wave& wave, const Places& places, std::uint64_t base, LaneWords* words) {
  for_active(wave, places.lanes, [&](std::uint32_t lane) {
    const auto* from = reinterpret_cast<const std::byte*>(base + places.addresses.values[lane]);
    if constexpr (kFormat.num_bytes < 4) {
      words->lanes[lane] = extend<kFormat>(from, words->lanes[lane]);
    } else {
      std::uint32_t values[kFormat.num_words()];
      std::memcpy(values, from, kFormat.num_bytes);
      for (std::uint32_t i = 0; i < kFormat.num_words(); ++i) words[i].lanes[lane] = values[i];
    }
  });
}

template <Format kFormat>
void take_words(const LaneWords* words, std::uint32_t lane, std::byte* bytes) {
  if constexpr (kFormat.num_bytes < 4) {
    const std::uint32_t value = words->lanes[lane] >> kFormat.shift();
    std::memcpy(bytes, &value, kFormat.num_bytes);
  } else {
    std::uint32_t values[kFormat.num_words()];
    for (std::uint32_t i = 0; i < kFormat.num_words(); ++i) values[i] = words[i].lanes[lane];
    std::memcpy(bytes, values, kFormat.num_bytes);
  }
}

template <Format kFormat>
void write_lanes(const Wave& wave, const Places& places, std::uint64_t base, const LaneWords* words) {
  for_active(wave, places.lanes, [&](std::uint32_t lane) {
    take_words<kFormat>(words, lane, reinterpret_cast<std::byte*>(base + places.addresses.values[lane]));
  });
}

/// Writes words when several lanes store to the same bytes. Fails if their values differ.
template <Format kFormat>
void write_overlapping(Wave& wave, const Instruction& instruction, const Places& places, const LaneWords* words) {
  std::uint64_t differing = 0;
  for_active(wave, places.lanes, [&](std::uint32_t lane) {
    std::byte bytes[16];
    take_words<kFormat>(words, lane, bytes);
    auto* to = reinterpret_cast<std::byte*>(places.base + places.addresses.values[lane]);
    if ((places.overlapping_lanes >> lane & 1) != 0) {
      for (std::uint32_t i = 0; i < kFormat.num_bytes; ++i) {
        if ((places.overlapping_bytes[lane] >> i & 1) != 0 && to[i] != bytes[i]) differing |= std::uint64_t{1} << lane;
      }
    }
    std::memcpy(to, bytes, kFormat.num_bytes);
  });
  if (differing != 0) fail_overlap(wave, instruction, kFormat.num_bytes, places, differing);
}

/// Writes a load's result and its undefined bits.
template <Format kFormat>
void load_words(Wave& wave, const Places& places, std::uint32_t first_register) {
  read_lanes<kFormat>(wave, places, places.base, &wave.vectors[first_register]);
  if (!wave.finds_mistakes()) return;
  if (places.shadow == 0 && kFormat.part == Part::kWhole) {
    for (std::uint32_t i = 0; i < kFormat.num_words(); ++i) wave.set_defined(first_register + i, places.lanes);
    return;
  }
  LaneWords undefined[kFormat.num_words()];
  if constexpr (kFormat.part != Part::kWhole) undefined[0] = wave.undefined_vectors[first_register];
  if (places.shadow != 0) {
    read_lanes<kFormat>(wave, places, places.base + places.shadow, undefined);
  } else {
    for (std::uint32_t& bits : undefined[0].lanes) bits &= kFormat.part == Part::kWord1 ? 0xffff : 0xffff'0000;
  }
  for (std::uint32_t i = 0; i < kFormat.num_words(); ++i) {
    wave.set_undefined(first_register + i, places.lanes, undefined[i]);
  }
}

/// Whether the data may be stored.
template <Format kFormat>
bool check_store(Wave& wave, const Instruction& instruction, const Operand& data, Places& places) {
  if (!wave.finds_mistakes()) return true;
  return check_stored_bits(wave, data, kFormat.bits(), places) &&
         check_order(wave, instruction, kFormat.num_bytes, AccessKind::kStore, places);
}

template <Format kFormat>
void store_words(Wave& wave, const Instruction& instruction, const Operand& data, const Places& places) {
  if (places.overlapping_lanes != 0) {
    write_overlapping<kFormat>(wave, instruction, places, &wave.vectors[data.first]);
  } else {
    write_lanes<kFormat>(wave, places, places.base, &wave.vectors[data.first]);
  }
  if (places.shadow != 0) {
    write_lanes<kFormat>(wave, places, places.base + places.shadow, &wave.undefined_vectors[data.first]);
  }
}

template <Format kFormat>
void run_load(Wave& wave, const Instruction& instruction) {
  Places places;
  if (!find_places(wave, instruction, instruction.modifiers.offset, kFormat.num_bytes, AccessKind::kLoad, places))
    return;
  if (wave.finds_mistakes() && !check_order(wave, instruction, kFormat.num_bytes, AccessKind::kLoad, places)) return;
  load_words<kFormat>(wave, places, instruction.operands[kResult].first);
  finish_access(wave, instruction, kFormat.num_bytes, AccessKind::kLoad, places);
}

template <Format kFormat>
void run_store(Wave& wave, const Instruction& instruction) {
  const Operand& data = instruction.operands[kData];
  Places places;
  if (!find_places(wave, instruction, instruction.modifiers.offset, kFormat.num_bytes, AccessKind::kStore, places))
    return;
  if (!check_store<kFormat>(wave, instruction, data, places)) return;
  store_words<kFormat>(wave, instruction, data, places);
  finish_access(wave, instruction, kFormat.num_bytes, AccessKind::kStore, places);
}

/// Applies an atomic to memory: computes the new value from the old one and the operands.
template <class T, auto kOp>
void run_atomic(Wave& wave, const Instruction& instruction) {
  constexpr Format kFormat{.num_bytes = sizeof(T)};
  constexpr std::uint32_t kWords = kFormat.num_words();
  const Operand& data = instruction.operands[kData];
  const Operand& second = instruction.operands[kData1];
  Places places;
  if (!find_places(wave, instruction, instruction.modifiers.offset, sizeof(T), AccessKind::kAtomic, places)) return;
  if (wave.finds_mistakes()) {
    Places defined;  // has no shadow, so undefined data of an atomic is a mistake in any memory
    defined.lanes = places.lanes;
    if (!check_stored_bits(wave, data, ~0u, defined)) return;
    if (second.is_vector() && !check_stored_bits(wave, second, ~0u, defined)) return;
    if (!check_order(wave, instruction, sizeof(T), AccessKind::kAtomic, places)) return;
  }
  LaneWords old[kWords], undefined[kWords];
  // Compare-and-swap has its comparand after its data, or in a separate operand.
  const std::uint32_t second_register = second.is_vector() ? second.first : data.first + data.count - kWords;
  bool any_undefined = false;
  for_active(wave, places.lanes, [&](std::uint32_t lane) {
    auto* place = reinterpret_cast<std::byte*>(places.base + places.addresses.values[lane]);
    T before, a, b;
    std::memcpy(&before, place, sizeof(T));
    take_words<kFormat>(&wave.vectors[data.first], lane, reinterpret_cast<std::byte*>(&a));
    take_words<kFormat>(&wave.vectors[second_register], lane, reinterpret_cast<std::byte*>(&b));
    const T after = kOp(before, a, b);
    std::uint32_t words[kWords];
    std::memcpy(words, &before, sizeof(T));
    for (std::uint32_t i = 0; i < kWords; ++i) old[i].lanes[lane] = words[i];
    std::memcpy(place, &after, sizeof(T));
    if (places.shadow == 0) return;
    std::memcpy(words, place + places.shadow, sizeof(T));
    std::uint32_t any = 0;
    for (std::uint32_t i = 0; i < kWords; ++i) any |= undefined[i].lanes[lane] = words[i];
    if (any != 0) std::memset(place + places.shadow, 0xff, sizeof(T)), any_undefined = true;
  });
  if (const Operand& result = instruction.operands[kResult]; result.is_vector()) {
    for (std::uint32_t i = 0; i < kWords; ++i) {
      for_active(wave, places.lanes,
                 [&](std::uint32_t lane) { wave.vectors[result.first + i].lanes[lane] = old[i].lanes[lane]; });
      if (!wave.finds_mistakes()) continue;
      if (any_undefined)
        wave.set_undefined(result.first + i, places.lanes, undefined[i]);
      else
        wave.set_defined(result.first + i, places.lanes);
    }
  }
  finish_access(wave, instruction, sizeof(T), AccessKind::kAtomic, places);
}

// The operations of atomics.
namespace atomics {
inline constexpr auto kAdd = [](auto old, auto data, auto) { return static_cast<decltype(old)>(old + data); };
inline constexpr auto kSubtract = [](auto old, auto data, auto) { return static_cast<decltype(old)>(old - data); };
inline constexpr auto kSubtractFrom = [](auto old, auto data, auto) { return static_cast<decltype(old)>(data - old); };
inline constexpr auto kMin = [](auto old, auto data, auto) { return data < old ? data : old; };
inline constexpr auto kMax = [](auto old, auto data, auto) { return data > old ? data : old; };
inline constexpr auto kAnd = [](auto old, auto data, auto) { return static_cast<decltype(old)>(old & data); };
inline constexpr auto kOr = [](auto old, auto data, auto) { return static_cast<decltype(old)>(old | data); };
inline constexpr auto kXor = [](auto old, auto data, auto) { return static_cast<decltype(old)>(old ^ data); };
inline constexpr auto kSwap = [](auto, auto data, auto) { return data; };
/// kIncrement counts up to the data, then restarts at 0; kDecrement counts down to 0, then restarts at the data.
inline constexpr auto kIncrement = [](auto old, auto data, auto) {
  return static_cast<decltype(old)>(old >= data ? 0 : old + 1);
};
inline constexpr auto kDecrement = [](auto old, auto data, auto) {
  return static_cast<decltype(old)>(old == 0 || old > data ? data : old - 1);
};
inline constexpr auto kCompareSecond = [](auto old, auto data, auto second) { return old == second ? data : old; };
inline constexpr auto kCompareFirst = [](auto old, auto data, auto second) { return old == data ? second : old; };
}  // namespace atomics

}  // namespace millrace::isa
