// SPDX-License-Identifier: Apache-2.0
// Makes the row of a scalar instruction from a function of its sources' values.
#pragma once

#include <concepts>
#include <utility>

#include "isa/instructions/vector.h"

namespace millrace::isa {

/// A result and its condition code.
template <class T>
struct WithScc {
  T value;
  bool scc;
};

/// The old condition code, as the first parameter of an operation that reads it.
struct Scc {
  bool value;
};
template <class F, class R, class... A>
struct Signature<R (F::*)(Scc, A...) const> {
  using Result = R;
  using Sources = std::tuple<A...>;
  static constexpr bool takes_wave = false;
};
template <class F>
inline constexpr bool kTakesScc = false;
template <class F, class R, class... A>
inline constexpr bool kTakesScc<R (F::*)(Scc, A...) const> = true;

/// The rule for selections by the condition code: the first source if it is set, otherwise the second.
struct OfSelected {};
inline constexpr OfSelected kOfSelected;

namespace detail {

template <class T>
struct ScalarResult {
  using Value = T;
  static constexpr bool has_scc = false;
};
template <class T>
struct ScalarResult<WithScc<T>> {
  using Value = T;
  static constexpr bool has_scc = true;
};

template <auto kOp, auto kRule, std::size_t... I>
struct ScalarHandler {
  using S = SignatureOf<kOp>;
  using R = ScalarResult<typename S::Result>;
  using Value = typename R::Value;
  template <std::size_t N>
  using Source = std::tuple_element_t<N, typename S::Sources>;
  /// s_cmp_eq_u32: the condition code is the only result.
  static constexpr bool kIsCompare = std::same_as<Value, bool>;

  static constexpr bool kReadsScc = kTakesScc<decltype(&std::remove_const_t<decltype(kOp)>::operator())>;

  template <std::size_t N>
  static Source<N> read(const Wave& wave, const Instruction& instruction) {
    const Operand& operand = instruction.source(N);
    auto bits = static_cast<BitsOf<Source<N>>>(wave.read_scalar(operand));
    if constexpr (!std::is_integral_v<Source<N>>) {  // "-s0", "|s0|"
      constexpr auto kSign = BitsOf<Source<N>>{1} << (8 * sizeof(Source<N>) - 1);
      if (operand.is_absolute) bits &= ~kSign;
      if (operand.is_negated) bits ^= kSign;
    }
    return from_bits<Source<N>>(bits);
  }

  static auto compute(const Wave& wave, const Instruction& instruction) {
    if constexpr (kReadsScc) {
      return kOp(Scc{wave.scc}, read<I>(wave, instruction)...);
    } else if constexpr (S::takes_wave) {
      return kOp(wave, read<I>(wave, instruction)...);
    } else {
      return kOp(read<I>(wave, instruction)...);
    }
  }

  static void run(Wave& wave, const Instruction& instruction) {
    const auto result = compute(wave, instruction);
    const BitsOf<Value> undefined = undefined_result(wave, instruction);
    if constexpr (kIsCompare) {
      wave.scc = result;
      wave.is_scc_undefined = undefined != 0;
    } else if constexpr (R::has_scc) {
      wave.write_scalar(instruction.result(), to_bits<Value>(result.value), undefined);
      wave.scc = result.scc;
      wave.is_scc_undefined = undefined != 0;
    } else {
      wave.write_scalar(instruction.result(), to_bits<Value>(result), undefined);
    }
  }

  static BitsOf<Value> undefined_result(const Wave& wave, const Instruction& instruction) {
    if (!wave.finds_mistakes()) return 0;
    if (kReadsScc && wave.is_scc_undefined) return ~BitsOf<Value>{0};
    if (((wave.undefined_bits(instruction.source(I)) == 0) && ...)) return 0;
    if constexpr (std::is_same_v<std::remove_const_t<decltype(kRule)>, AnyToAll>) {
      return static_cast<BitsOf<Value>>(~BitsOf<Value>{0});
    } else if constexpr (std::is_same_v<std::remove_const_t<decltype(kRule)>, OfSelected>) {
      return static_cast<BitsOf<Value>>(wave.undefined_bits(instruction.source(wave.scc ? 0 : 1)));
    } else {
      return static_cast<BitsOf<Value>>(kRule(
          Known<BitsOf<Source<I>>>{static_cast<BitsOf<Source<I>>>(wave.read_scalar(instruction.source(I))),
                                   static_cast<BitsOf<Source<I>>>(wave.undefined_bits(instruction.source(I)))}...));
    }
  }
};

template <auto kOp, auto kRule, std::size_t... I>
constexpr Row scalar_row(const char* name, std::index_sequence<I...>) {
  using Handler = ScalarHandler<kOp, kRule, I...>;
  Row row{.name = name, .kind = Class::kScalar, .run = &Handler::run};
  std::size_t next = 0;
  if (!Handler::kIsCompare) {
    row.num_results = 1;
    row.types[next++] = type_of<typename Handler::Value>();
  }
  ((row.types[next++] = type_of<typename Handler::template Source<I>>()), ...);
  return row;
}

}  // namespace detail

/// A scalar instruction. kOp returns the result, or WithScc, or, if the condition code is the only result, bool.
template <auto kOp, auto kRule = kAnyToAll>
constexpr Row scalar(const char* name) {
  using Sources = typename SignatureOf<kOp>::Sources;
  return detail::scalar_row<kOp, kRule>(name, std::make_index_sequence<std::tuple_size_v<Sources>>());
}

/// An instruction of the form SOPK, which reads its result and a 16-bit constant: "s_addk_i32 s0, 5".
template <auto kOp, auto kRule = kAnyToAll>
constexpr Row accumulating_scalar(const char* name) {
  Row row = scalar<kOp, kRule>(name);
  row.reads_result = true;
  row.types[std::tuple_size_v<typename SignatureOf<kOp>::Sources>] = Type::kNone;
  return row;
}

}  // namespace millrace::isa
