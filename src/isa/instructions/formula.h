// SPDX-License-Identifier: Apache-2.0
// Makes rows of integer instructions from formulas. A formula is a generic function of 32- or 64-bit words; on the
// Known words of known.h, it also computes which bits of the result are undefined. 16-bit sources are extended
// according to their type; a lane of a mask is 0 or ~0.
#pragma once

#include "isa/instructions/vector.h"
#include "isa/known.h"

namespace millrace::isa {
namespace detail {

template <class A>
constexpr BitsOf<A> widen_source(BitsOf<A> bits) {
  if constexpr (std::is_same_v<A, bool>) return (bits & 1) != 0 ? ~BitsOf<A>{0} : 0;
  if constexpr (std::is_same_v<A, i16>) return sign_extend<16>(bits);
  if constexpr (std::is_same_v<A, u16>) return bits & 0xffff;
  return bits;
}
template <class A>
constexpr Known<BitsOf<A>> widen_source(Known<BitsOf<A>> known) {
  return {widen_source<A>(known.value), widen_source<A>(known.undefined)};
}

template <auto kFormula, class R, class... A>
inline constexpr auto kValueOf =
    [](A... source) -> R { return static_cast<R>(kFormula(widen_source<A>(static_cast<BitsOf<A>>(source))...)); };
template <auto kFormula, class... A>
inline constexpr auto kUndefinedOf =
    [](Known<BitsOf<A>>... source) { return kFormula(widen_source<A>(source)...).undefined; };

/// An instruction whose second result is a mask of lanes, such as a carry.
template <auto kFormula, class R, class... A>
struct CarryHandler {
  static void run(Wave& wave, const Instruction& instruction) {
    run(wave, instruction, std::index_sequence_for<A...>());
  }

  template <std::size_t... I>
  static void run(Wave& wave, const Instruction& instruction, std::index_sequence<I...>) {
    std::tuple<Lanes<BitsOf<A>>...> copies;
    const std::tuple<const BitsOf<A>*...> sources{view(wave, instruction, I, std::get<I>(copies))...};
    Lanes<BitsOf<R>> results, undefined;
    LaneMask carries;
    std::uint64_t undefined_carries = 0;
    for_all_lanes(wave.machine.num_lanes, [&](std::size_t lane) {
      const auto result = kFormula(widen_source<A>(std::get<I>(sources)[lane])...);
      results.values[lane] = result.value;
      carries.set(lane, result.carry);
    });
    const bool is_defined = !(wave.may_be_undefined(instruction.source(I)) || ...);
    if (!is_defined) {
      std::tuple<Lanes<BitsOf<A>>...> bits;
      (fetch_undefined(wave, instruction, I, std::get<I>(bits)), ...);
      for (std::uint32_t lane = 0; lane < wave.machine.num_lanes; ++lane) {
        const auto result =
            kFormula(widen_source<A>(Known<BitsOf<A>>(std::get<I>(sources)[lane], std::get<I>(bits).values[lane]))...);
        undefined.values[lane] = result.value.undefined;
        undefined_carries |= std::uint64_t{result.is_carry_undefined} << lane;
      }
    }
    commit(wave, instruction, results, is_defined ? nullptr : &undefined);
    commit_mask(wave, instruction.result(1), carries.bits(wave.machine.num_lanes), undefined_carries);
  }
};

}  // namespace detail

/// An instruction with one result.
template <auto kFormula, class R, class... A>
constexpr Row formula(const char* name) {
  return vector<detail::kValueOf<kFormula, R, A...>, detail::kUndefinedOf<kFormula, A...>>(name);
}

/// A word, and the carry out of it.
template <class W>
struct WithCarry {
  W value;
  bool carry;
};
template <class W>
struct WithCarry<Known<W>> {
  Known<W> value;
  bool is_carry_undefined;
};

/// An instruction with two results: kFormula returns WithCarry.
template <auto kFormula, class R, class... A>
constexpr Row carrying(const char* name) {
  return {.name = name,
          .kind = Class::kVector,
          .run = &detail::CarryHandler<kFormula, R, A...>::run,
          .num_results = 2,
          .types = {type_of<R>(), Type::kMask, type_of<A>()...}};
}

/// Adds the modifier "clamp" to a row: with it, the row acts like the row `saturating`.
constexpr Row with_clamp(Row row, const Row& saturating) {
  row.run_clamped = saturating.run;
  return row;
}

}  // namespace millrace::isa
