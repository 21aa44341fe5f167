// SPDX-License-Identifier: Apache-2.0
// The meaning of each lanewise op on host values: `HostOp<op>::apply`. Both evaluate() and the interpreter call these
// functions.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "millrace/base/check.h"
#include "millrace/base/dtype.h"
#include "millrace/jit/kernel_op.h"

namespace millrace::host_ops {

template <class T>
concept HostInteger = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept HostFloat = std::floating_point<T>;
template <class T>
concept StoredFloat = std::same_as<T, Half> || std::same_as<T, BFloat16>;

/// The type in which to compute so that overflow wraps: unsigned, and no narrower than int, because C++ promotes
/// narrower types to signed int.
template <HostInteger T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <HostInteger T>
constexpr Wrapping<T> wrapping(T value) {
  return static_cast<Wrapping<T>>(value);
}

template <HostInteger T>
constexpr unsigned shift_count(T count) {
  return static_cast<unsigned>(static_cast<std::make_unsigned_t<T>>(count) & (sizeof(T) * 8 - 1));
}

template <KernelOp kOp>
struct HostOp;

template <>
struct HostOp<KernelOp::kAdd> {
  static constexpr auto apply(HostFloat auto a, HostFloat auto b) { return a + b; }
  template <HostInteger T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(wrapping(a) + wrapping(b));
  }
};

template <>
struct HostOp<KernelOp::kSub> {
  static constexpr auto apply(HostFloat auto a, HostFloat auto b) { return a - b; }
  template <HostInteger T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(wrapping(a) - wrapping(b));
  }
};

template <>
struct HostOp<KernelOp::kMul> {
  static constexpr bool apply(bool a, bool b) { return a && b; }
  static constexpr auto apply(HostFloat auto a, HostFloat auto b) { return a * b; }
  template <HostInteger T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(wrapping(a) * wrapping(b));
  }
};

template <>
struct HostOp<KernelOp::kDiv> {
  static constexpr auto apply(HostFloat auto a, HostFloat auto b) { return a / b; }
  template <HostInteger T>
  static constexpr T apply(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - wrapping(a));  // the processor traps on lowest / -1
    }
    return static_cast<T>(a / b);
  }
};

template <>
struct HostOp<KernelOp::kRem> {
  template <HostInteger T>
  static constexpr T apply(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;  // the processor traps on lowest % -1
    }
    return static_cast<T>(a % b);
  }
};

template <>
struct HostOp<KernelOp::kMulAdd> {
  template <HostFloat T>
  static T apply(T a, T b, T c) {
    return std::fma(a, b, c);
  }
  template <HostInteger T>
  static constexpr T apply(T a, T b, T c) {
    return static_cast<T>(wrapping(a) * wrapping(b) + wrapping(c));
  }
};

template <>
struct HostOp<KernelOp::kNeg> {
  static constexpr auto apply(HostFloat auto a) { return -a; }
  template <HostInteger T>
  static constexpr T apply(T a) {
    return static_cast<T>(0 - wrapping(a));
  }
};

template <>
struct HostOp<KernelOp::kAbs> {
  static auto apply(HostFloat auto a) { return std::fabs(a); }
  template <HostInteger T>
  static constexpr T apply(T a) {
    return a < 0 ? static_cast<T>(0 - wrapping(a)) : a;
  }
};

template <>
struct HostOp<KernelOp::kMin> {
  template <HostFloat T>
  static T apply(T a, T b) {
    if (a != a || a < b) return a;
    if (b != b || b < a) return b;
    return std::signbit(a) ? a : b;
  }
  template <std::integral T>
  static constexpr T apply(T a, T b) {
    return b < a ? b : a;
  }
};

template <>
struct HostOp<KernelOp::kMax> {
  template <HostFloat T>
  static T apply(T a, T b) {
    if (a != a || a > b) return a;
    if (b != b || b > a) return b;
    return std::signbit(a) ? b : a;
  }
  template <std::integral T>
  static constexpr T apply(T a, T b) {
    return a < b ? b : a;
  }
};

template <>
struct HostOp<KernelOp::kFloor> {
  static auto apply(HostFloat auto a) { return std::floor(a); }
};
template <>
struct HostOp<KernelOp::kCeil> {
  static auto apply(HostFloat auto a) { return std::ceil(a); }
};
template <>
struct HostOp<KernelOp::kTrunc> {
  static auto apply(HostFloat auto a) { return std::trunc(a); }
};
template <>
struct HostOp<KernelOp::kRoundEven> {
  static auto apply(HostFloat auto a) { return std::nearbyint(a); }  // kernels run in the default rounding mode
};
template <>
struct HostOp<KernelOp::kSqrt> {
  static auto apply(HostFloat auto a) { return std::sqrt(a); }
};

template <>
struct HostOp<KernelOp::kAnd> {
  template <std::integral T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
template <>
struct HostOp<KernelOp::kOr> {
  template <std::integral T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
template <>
struct HostOp<KernelOp::kXor> {
  template <std::integral T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
template <>
struct HostOp<KernelOp::kShl> {
  template <HostInteger T>
  static constexpr T apply(T a, T count) {
    return static_cast<T>(wrapping(a) << shift_count(count));
  }
};
template <>
struct HostOp<KernelOp::kShr> {
  template <HostInteger T>
  static constexpr T apply(T a, T count) {
    return static_cast<T>(a >> shift_count(count));
  }
};

template <>
struct HostOp<KernelOp::kEq> {
  template <class T>
  static constexpr bool apply(T a, T b) {
    return a == b;
  }
};
template <>
struct HostOp<KernelOp::kNe> {
  template <class T>
  static constexpr bool apply(T a, T b) {
    return a != b;
  }
};
template <>
struct HostOp<KernelOp::kLt> {
  template <class T>
  static constexpr bool apply(T a, T b) {
    return a < b;
  }
};
template <>
struct HostOp<KernelOp::kLe> {
  template <class T>
  static constexpr bool apply(T a, T b) {
    return a <= b;
  }
};
template <>
struct HostOp<KernelOp::kSelect> {
  template <class T>
  static constexpr T apply(bool condition, T a, T b) {
    return condition ? a : b;
  }
};

/// Rounds towards zero and saturates; NaN becomes 0. A plain C++ conversion of an out-of-range value is undefined.
template <HostInteger To, HostFloat From>
constexpr To truncate_saturating(From value) {
  // 2^digits, one above the highest value. A float represents it exactly, but not always the highest value.
  constexpr From kEnd = From(2) * static_cast<From>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1));
  constexpr From kLowest = std::is_signed_v<To> ? -kEnd : From(0);
  if (value != value) return 0;
  if (value >= kEnd) return std::numeric_limits<To>::max();
  if (value <= kLowest) return std::numeric_limits<To>::lowest();
  return static_cast<To>(value);
}

/// The meaning of kConvert.
template <class To, class From>
To convert(From value) {
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (StoredFloat<From>) {
    return convert<To>(static_cast<float>(value));  // exact
  } else if constexpr (std::same_as<To, bool>) {
    return value != From(0);
  } else if constexpr (StoredFloat<To> && std::same_as<From, bool>) {
    return To(value ? 1.0f : 0.0f);
  } else if constexpr (StoredFloat<To>) {
    return To(value);
  } else if constexpr (HostFloat<From> && HostInteger<To>) {
    return truncate_saturating<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

/// Calls `f.template operator()<op>()` for a lanewise op.
template <class F>
decltype(auto) visit_lanewise(KernelOp op, F&& f) {
  switch (op) {
#define MILLRACE_KERNEL_OP(name, text, operands, rule, dtypes, meaning) \
  case KernelOp::name:                                                  \
    if constexpr (is_lanewise(KernelOp::name)) return f.template operator()<KernelOp::name>();
#include "millrace/jit/kernel_ops.inc"
  }
  MILLRACE_CHECK(is_lanewise(op));
  __builtin_unreachable();
}

}  // namespace millrace::host_ops
