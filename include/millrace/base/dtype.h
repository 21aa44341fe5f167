// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "millrace/base/float16.h"

namespace millrace {

enum class DType : std::uint8_t {
#define MILLRACE_DTYPE(name, text, host, size, kind) name,
#include "millrace/base/dtype_table.inc"
};

enum class DTypeClass : std::uint8_t { kPredicate, kSigned, kUnsigned, kFloat };

inline constexpr DType kAllDTypes[] = {
#define MILLRACE_DTYPE(name, text, host, size, kind) DType::name,
#include "millrace/base/dtype_table.inc"
};

/// Bytes of one stored element. A bool is one byte, 0 or 1.
constexpr std::size_t size_bytes(DType dtype) {
  constexpr std::size_t kSizes[] = {
#define MILLRACE_DTYPE(name, text, host, size, kind) size,
#include "millrace/base/dtype_table.inc"
  };
  return kSizes[static_cast<std::size_t>(dtype)];
}

constexpr DTypeClass dtype_class(DType dtype) {
  constexpr DTypeClass kClasses[] = {
#define MILLRACE_DTYPE(name, text, host, size, kind) DTypeClass::kind,
#include "millrace/base/dtype_table.inc"
  };
  return kClasses[static_cast<std::size_t>(dtype)];
}

constexpr std::string_view to_text(DType dtype) {
  constexpr std::string_view kNames[] = {
#define MILLRACE_DTYPE(name, text, host, size, kind) text,
#include "millrace/base/dtype_table.inc"
  };
  return kNames[static_cast<std::size_t>(dtype)];
}

constexpr bool is_float(DType dtype) { return dtype_class(dtype) == DTypeClass::kFloat; }
constexpr bool is_signed(DType dtype) { return dtype_class(dtype) == DTypeClass::kSigned; }
constexpr bool is_unsigned(DType dtype) { return dtype_class(dtype) == DTypeClass::kUnsigned; }
constexpr bool is_integer(DType dtype) { return is_signed(dtype) || is_unsigned(dtype); }

/// "f32" -> kF32; empty for an unknown name.
std::optional<DType> parse_dtype(std::string_view text);

namespace detail {
template <class T>
struct DTypeOf;
#define MILLRACE_DTYPE(name, text, host, size, kind) \
  template <>                                        \
  struct DTypeOf<host> {                             \
    static constexpr DType value = DType::name;      \
  };
#include "millrace/base/dtype_table.inc"
}  // namespace detail

/// dtype_of<float> is DType::kF32.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::value;

/// Calls `f.template operator()<Host>()` with the host type of `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
#define MILLRACE_DTYPE(name, text, host, size, kind) \
  case DType::name:                                  \
    return f.template operator()<host>();
#include "millrace/base/dtype_table.inc"
  }
  __builtin_unreachable();
}

}  // namespace millrace
