// SPDX-License-Identifier: Apache-2.0
// Makes the row of a vector instruction from a function of its sources' values in one lane.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "isa/instruction.h"
#include "isa/known.h"
#include "isa/wave.h"

namespace millrace::isa {

// The types of a lane's values. Floats without a C++ type are held as bits.
struct f16 {
  std::uint16_t bits;
};
struct PackedB16 {
  std::uint16_t low, high;
};
struct PackedF32 {
  float low, high;
};
using f32 = float;
using f64 = double;
using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, f16>) return Type::kF16;
  if constexpr (std::is_same_v<T, PackedB16>) return Type::kPackedB16;
  if constexpr (std::is_same_v<T, PackedF32>) return Type::kPackedF32;
  if constexpr (std::is_same_v<T, float>) return Type::kF32;
  if constexpr (std::is_same_v<T, double>) return Type::kF64;
  if constexpr (std::is_same_v<T, bool>) return Type::kMask;
  if constexpr (sizeof(T) == 2) return Type::kB16;
  if constexpr (sizeof(T) == 4) return Type::kB32;
  return std::is_signed_v<T> ? Type::kI64 : Type::kB64;
}

/// The unsigned integer that holds a value's bits, at least 32 bits wide.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
struct alignas(64) Lanes {
  T values[kMaxLanes];
};

/// Calls `f` with each lane, active or not. Loops of constant length, whose index cannot wrap, are vectorised best.
template <class F>
void for_all_lanes(std::uint32_t num_lanes, F f) {
  constexpr std::size_t kBlock = 32;
  for (std::size_t first = 0; first < num_lanes; first += kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) f(first + i);
  }
}

/// A mask of lanes that is built with one byte per lane, as SSE2 compares produce them, and then packed to one bit per
/// lane.
class LaneMask {
 public:
  void set(std::size_t lane, bool is_set) { bytes_[lane] = is_set; }
  std::uint64_t bits(std::uint32_t num_lanes) const {
    std::uint64_t mask = 0;
    for (std::uint32_t first = 0; first < num_lanes; first += 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, bytes_ + first, sizeof(bytes));
      // Each byte is 0 or 1; the product gathers them in its highest byte.
      mask |= (bytes * 0x0102'0408'1020'4080u >> 56) << first;
    }
    return mask;
  }

 private:
  std::uint8_t bytes_[kMaxLanes];
};

/// The lanes that an instruction with results writes: EXEC's, without those that DPP masks.
std::uint64_t written_lanes(const Wave&, const Instruction&);

/// The bits of a source, lane by lane, with its modifiers (part, sign, DPP) applied.
void fetch(Wave&, const Instruction&, std::size_t source, Lanes<std::uint32_t>&);
void fetch(Wave&, const Instruction&, std::size_t source, Lanes<std::uint64_t>&);
/// Like fetch(), without a copy where possible: a pointer to the register if its bits are the source's value, otherwise
/// to `lanes`.
inline const std::uint32_t* view(Wave& wave, const Instruction& instruction, std::size_t source,
                                 Lanes<std::uint32_t>& lanes) {
  const Operand& operand = instruction.source(source);
  if (operand.is_plain_vector() && (source != 0 || instruction.lane_control == nullptr)) {
    return wave.vectors[operand.first].lanes.data();
  }
  fetch(wave, instruction, source, lanes);
  return lanes.values;
}
inline const std::uint64_t* view(Wave& wave, const Instruction& instruction, std::size_t source,
                                 Lanes<std::uint64_t>& lanes) {
  fetch(wave, instruction, source, lanes);
  return lanes.values;
}
/// The undefined bits of a source, moved in the same way as its values.
void fetch_undefined(Wave&, const Instruction&, std::size_t source, Lanes<std::uint32_t>&);
void fetch_undefined(Wave&, const Instruction&, std::size_t source, Lanes<std::uint64_t>&);
/// Writes a result in the written lanes: the whole register, or only the part or half given. `undefined` may be null.
void commit(Wave&, const Instruction&, Lanes<std::uint32_t>&, const Lanes<std::uint32_t>* undefined);
void commit(Wave&, const Instruction&, Lanes<std::uint64_t>&, const Lanes<std::uint64_t>* undefined);
/// Writes a mask of lanes, as a compare does: inactive lanes give 0, and so do those that DPP masks.
void commit_mask(Wave&, const Instruction&, std::uint64_t lanes, std::uint64_t undefined);
/// Writes a mask of lanes as a result other than the first.
void commit_mask(Wave&, const Operand& result, std::uint64_t lanes, std::uint64_t undefined);

template <class T, class Bits>
T from_bits(Bits bits) {
  if constexpr (std::is_same_v<T, bool>) return (bits & 1) != 0;
  if constexpr (std::is_integral_v<T>) return static_cast<T>(bits);
  if constexpr (sizeof(T) == 2) return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
  if constexpr (!std::is_integral_v<T> && sizeof(T) != 2) return std::bit_cast<T>(bits);
}

template <class T>
BitsOf<T> to_bits(T value) {
  if constexpr (std::is_integral_v<T>) return static_cast<BitsOf<T>>(static_cast<std::make_unsigned_t<T>>(value));
  if constexpr (sizeof(T) == 2) return std::bit_cast<std::uint16_t>(value);
  if constexpr (!std::is_integral_v<T> && sizeof(T) != 2) return std::bit_cast<BitsOf<T>>(value);
}

/// The parts of a function's type: R(A...), or R(const Wave&, A...) if it depends on MODE or the processor.
template <class F>
struct Signature;
template <class F, class R, class... A>
struct Signature<R (F::*)(A...) const> {
  using Result = R;
  using Sources = std::tuple<A...>;
  static constexpr bool takes_wave = false;
};
template <class F, class R, class... A>
struct Signature<R (F::*)(const Wave&, A...) const> {
  using Result = R;
  using Sources = std::tuple<A...>;
  static constexpr bool takes_wave = true;
};
template <auto kOp>
using SignatureOf = Signature<decltype(&std::remove_const_t<decltype(kOp)>::operator())>;

/// The default rule: a lane's result is undefined if any bit of a source is.
struct AnyToAll {};
inline constexpr AnyToAll kAnyToAll;

namespace detail {

template <auto kOp, auto kRule, std::size_t... I>
struct VectorHandler {
  using S = SignatureOf<kOp>;
  using R = typename S::Result;
  template <std::size_t N>
  using Source = std::tuple_element_t<N, typename S::Sources>;

  static void run(Wave& wave, const Instruction& instruction) {
    std::tuple<Lanes<BitsOf<Source<I>>>...> copies;
    const std::tuple<const BitsOf<Source<I>>*...> sources{view(wave, instruction, I, std::get<I>(copies))...};
    const auto value = [&](std::size_t lane) -> R {
      if constexpr (S::takes_wave) {
        return kOp(wave, from_bits<Source<I>>(std::get<I>(sources)[lane])...);
      } else {
        return kOp(from_bits<Source<I>>(std::get<I>(sources)[lane])...);
      }
    };
    const std::uint32_t num_lanes = wave.machine.num_lanes;
    const bool is_defined = !(wave.may_be_undefined(instruction.source(I)) || ...);
    if constexpr (std::is_same_v<R, bool>) {
      LaneMask mask;
      std::uint64_t undefined = 0;
      for_all_lanes(num_lanes, [&](std::size_t lane) { mask.set(lane, value(lane)); });
      if (!is_defined) {
        for_undefined(wave, instruction, sources, [&](std::uint32_t lane, auto bits) {
          undefined |= static_cast<std::uint64_t>(bits & 1) << lane;
        });
      }
      commit_mask(wave, instruction, mask.bits(num_lanes), undefined);
    } else {
      Lanes<BitsOf<R>> results;
      if constexpr (requires { kOp.run_all(num_lanes, std::get<I>(sources)..., results.values); }) {
        kOp.run_all(num_lanes, std::get<I>(sources)..., results.values);
      } else {
        for_all_lanes(num_lanes, [&](std::size_t lane) { results.values[lane] = to_bits<R>(value(lane)); });
      }
      if (is_defined) return commit(wave, instruction, results, nullptr);
      Lanes<BitsOf<R>> undefined;
      for_undefined(wave, instruction, sources, [&](std::uint32_t lane, auto bits) { undefined.values[lane] = bits; });
      commit(wave, instruction, results, &undefined);
    }
  }

  /// Passes the undefined bits of each lane's result to `sink`.
  static void for_undefined(Wave& wave, const Instruction& instruction, const auto& sources, auto sink) {
    std::tuple<Lanes<BitsOf<Source<I>>>...> undefined;
    (fetch_undefined(wave, instruction, I, std::get<I>(undefined)), ...);
    for (std::uint32_t lane = 0; lane < wave.machine.num_lanes; ++lane) {
      if constexpr (std::is_same_v<std::remove_const_t<decltype(kRule)>, AnyToAll>) {
        const bool any = ((std::get<I>(undefined).values[lane] != 0) || ...);
        sink(lane, any ? static_cast<BitsOf<R>>(sizeof(R) == 2 ? 0xffffu : ~BitsOf<R>{0}) : BitsOf<R>{0});
      } else {
        const auto bits = static_cast<BitsOf<R>>(
            kRule(Known<BitsOf<Source<I>>>{std::get<I>(sources)[lane], std::get<I>(undefined).values[lane]}...));
        sink(lane, sizeof(R) == 2 ? bits & 0xffff : bits);
      }
    }
  }
};

template <auto kOp, auto kRule, std::size_t... I>
constexpr Row vector_row(const char* name, std::index_sequence<I...>) {
  using S = SignatureOf<kOp>;
  return {.name = name,
          .kind = Class::kVector,
          .run = &VectorHandler<kOp, kRule, I...>::run,
          .num_results = 1,
          .types = {type_of<typename S::Result>(), type_of<std::tuple_element_t<I, typename S::Sources>>()...}};
}

}  // namespace detail

/// A vector instruction with one result. kOp computes a lane's result from the sources' values in the assembler's
/// order; bool is a lane of a mask. If kOp has a `run_all`, that computes all lanes' bits at once. kRule computes the
/// undefined bits of the result from each source's Known.
template <auto kOp, auto kRule = kAnyToAll>
constexpr Row vector(const char* name) {
  using Sources = typename SignatureOf<kOp>::Sources;
  return detail::vector_row<kOp, kRule>(name, std::make_index_sequence<std::tuple_size_v<Sources>>());
}

/// Like vector(), for an instruction whose last source is the old value of its result, which the assembler does not
/// write (v_fmac_f32).
template <auto kOp, auto kRule = kAnyToAll>
constexpr Row accumulating(const char* name) {
  Row row = vector<kOp, kRule>(name);
  row.reads_result = true;
  row.types[std::tuple_size_v<typename SignatureOf<kOp>::Sources>] = Type::kNone;
  return row;
}

// Rules.

/// The sum, difference or product of integers: an undefined bit makes itself and the bits above it undefined.
inline constexpr auto kUpwards = [](const auto&... source) {
  const auto undefined = (source.undefined | ...);
  return undefined | (0 - undefined);
};
/// Every bit of the result depends only on the same bit of the sources.
inline constexpr auto kBitByBit = [](const auto&... source) { return (source.undefined | ...); };

}  // namespace millrace::isa
