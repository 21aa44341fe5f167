// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <type_traits>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// Whether the reduction is a sum that rounds. Long sums of this kind use several levels (jit/map/sum_levels.h).
inline bool is_float_sum(const Reduction& reduction) {
  return reduction.kind == ReductionKind::kSum && is_float(reduction.dtype);
}

/// The state of an accumulator. Only kArgMin and kArgMax use `index`.
template <class V>
struct ReductionValue {
  V value;
  V index;
};
using ReductionState = ReductionValue<Scalar>;

/// The result of an empty reduction, and the initial value of every reduction. kArgMax starts at the lowest value and
/// index 0: if no element is greater, the first element is the maximum. kArgMin starts at the highest.
inline Scalar identity_of(const Reduction& reduction) {
  return visit_dtype(reduction.dtype, [&]<class T>() -> Scalar {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      using Limits = std::numeric_limits<T>;
      switch (reduction.kind) {
        case ReductionKind::kSum:
          return Scalar::of<T>(0);
        case ReductionKind::kProd:
          return Scalar::of<T>(1);
        case ReductionKind::kMin:
        case ReductionKind::kArgMin:
          return Scalar::of<T>(Limits::has_infinity ? Limits::infinity() : Limits::max());
        case ReductionKind::kMax:
        case ReductionKind::kArgMax:
          return Scalar::of<T>(Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest());
      }
    }
    MILLRACE_CHECK(false && "verify refuses such an accumulator");
    return {};
  });
}

inline ReductionState initial_state(const Reduction& reduction) {
  return {identity_of(reduction), Scalar::of<std::int64_t>(0)};
}

/// Whether kArgMin or kArgMax replaces `best` by `value`. NaN beats any number. Of equal values, the first stays.
template <ScalarBuilder B>
typename B::Value is_better(B& b, ReductionKind kind, typename B::Value value, typename B::Value best) {
  const auto beyond = kind == ReductionKind::kArgMin ? b.lt(value, best) : b.lt(best, value);
  if (!is_float(value.dtype)) return beyond;
  const auto is_nan = b.ne(value, value);
  return b.bit_or(beyond, b.bit_and(is_nan, b.eq(best, best)));
}

/// Adds one term. `index` is the term's position along the reduction dim (kArgMin and kArgMax only).
template <ScalarBuilder B>
ReductionValue<typename B::Value> combine(B& b, ReductionKind kind, ReductionValue<typename B::Value> state,
                                          typename B::Value term, typename B::Value index) {
  switch (kind) {
    case ReductionKind::kSum:
      return {b.add(state.value, term), state.index};
    case ReductionKind::kProd:
      return {b.mul(state.value, term), state.index};
    case ReductionKind::kMin:
      return {b.min(state.value, term), state.index};
    case ReductionKind::kMax:
      return {b.max(state.value, term), state.index};
    case ReductionKind::kArgMin:
    case ReductionKind::kArgMax: {
      const auto is_new = is_better(b, kind, term, state.value);
      return {b.select(is_new, term, state.value), b.select(is_new, index, state.index)};
    }
  }
  MILLRACE_CHECK(false);
  return state;
}

}  // namespace millrace
