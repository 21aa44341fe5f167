// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "millrace/base/shape.h"
#include "millrace/hal/buffer.h"

namespace millrace {

/// The extents of a tensor argument, outermost first, stored inline: binding them for a run allocates nothing.
class Extents {
 public:
  Extents() = default;
  Extents(std::initializer_list<std::int64_t> extents) : Extents(std::span(extents.begin(), extents.size())) {}
  explicit Extents(std::span<const std::int64_t> extents) : rank_(extents.size()) {
    for (std::size_t i = 0; i < rank_ && i < kMaxRank; ++i) extents_[i] = extents[i];
  }

  /// A rank above kMaxRank is kept, but its extents are not; it matches no argument.
  std::size_t rank() const { return rank_; }
  /// Precondition: axis < kMaxRank.
  std::int64_t operator[](std::size_t axis) const { return extents_[axis]; }
  friend bool operator==(const Extents&, const Extents&) = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  std::size_t rank_ = 0;
};

/// An argument of a run: row-major elements in the caller's memory or in a buffer of the program's device. `extents`
/// are needed if the argument's declared extents contain symbols. Non-owning: the memory must stay valid until the run
/// has ended.
struct TensorBinding {
  void* data = nullptr;  // in the caller's memory
  std::size_t size_bytes = 0;
  const Buffer* buffer = nullptr;  // null: caller memory
  std::size_t offset_bytes = 0;    // where the first element is in `buffer`
  Extents extents = {};
  bool has_extents = false;         // may be false if the argument's declared extents are constant
  std::optional<DType> dtype = {};  // the bound elements' dtype, if their C++ type has one
  bool is_const = false;            // whether the C++ type is const
  std::string_view name = {};       // the argument's name; empty: bound by position

  BufferBinding memory() const { return {data, size_bytes, buffer, offset_bytes}; }
};

/// The value of a symbol that no input's extents determine, such as a dynamic k.
struct DimBinding {
  std::string_view name;
  std::int64_t value = 0;
};

/// The dtype of a C++ element type; empty for types without one, such as std::byte.
template <class T>
constexpr std::optional<DType> element_dtype() {
  if constexpr (requires { detail::DTypeOf<T>::value; }) {
    return dtype_of<T>;
  } else if constexpr (std::is_same_v<T, long long>) {  // on Linux, a different type from std::int64_t
    return DType::kI64;
  } else if constexpr (std::is_same_v<T, unsigned long long>) {
    return DType::kU64;
  } else {
    return std::nullopt;
  }
}

/// A container of elements: a vector, an array, a span of any extent. A Buffer does not count: bind() has an overload
/// that binds a Buffer as a whole.
template <class T>
concept ElementContainer = requires(T& container) { std::span(container.data(), container.size()); };

/// A list of arguments as a parameter: a braced list, an array, a vector or a span. Non-owning.
template <class T>
class ListView : public std::span<const T> {
 public:
  ListView() = default;
  ListView(std::initializer_list<T> list) : std::span<const T>(list.begin(), list.size()) {}
  template <class Range>
    requires std::convertible_to<const Range&, std::span<const T>>
  ListView(const Range& range) : std::span<const T>(range) {}
};

// bind() describes the memory of an argument. Only outputs are written, and a const output is refused. A temporary
// passed to bind() lives until the end of the full expression: long enough for run(), but not for submit().

/// bind(pixels): a vector, an array or a span.
template <ElementContainer Container>
TensorBinding bind(Container&& container) {
  const std::span elements(container.data(), container.size());
  using Element = typename decltype(elements)::element_type;
  TensorBinding binding{.data = const_cast<void*>(static_cast<const void*>(elements.data())),
                        .size_bytes = elements.size_bytes()};
  binding.dtype = element_dtype<std::remove_const_t<Element>>();
  binding.is_const = std::is_const_v<Element>;
  return binding;
}
/// A C array of any rank.
template <class T, std::size_t kCount>
TensorBinding bind(T (&elements)[kCount]) {
  using Element = std::remove_all_extents_t<T>;
  return bind(std::span(reinterpret_cast<Element*>(elements), sizeof(elements) / sizeof(Element)));
}
/// A scalar.
template <class T>
  requires(element_dtype<std::remove_cvref_t<T>>().has_value())
TensorBinding bind(T&& scalar) {
  return bind(std::span(&scalar, 1));
}
/// A whole buffer of the program's device: a run then copies nothing through the host.
inline TensorBinding bind(const Buffer& buffer) { return {.size_bytes = buffer.size_bytes(), .buffer = &buffer}; }
/// Binds with extents, for an argument whose own extents are symbols: bind(pixels, {batch, 1, 8, 8}).
template <class T>
TensorBinding bind(T&& memory, Extents extents) {
  TensorBinding binding = bind(std::forward<T>(memory));
  binding.extents = extents;
  binding.has_extents = true;
  return binding;
}
/// Binds by the argument's name: bind("pixels", pixels). If one input is bound by name, all inputs must be, in any
/// order; the same holds for outputs.
template <class Name, class T>
  requires std::convertible_to<const Name&, std::string_view>  // so that this overload beats std::bind from ADL
TensorBinding bind(Name&& name, T&& memory) {
  TensorBinding binding = bind(std::forward<T>(memory));
  binding.name = name;
  return binding;
}
template <class Name, class T>
  requires std::convertible_to<const Name&, std::string_view>
TensorBinding bind(Name&& name, T&& memory, Extents extents) {
  TensorBinding binding = bind(std::forward<T>(memory), extents);
  binding.name = name;
  return binding;
}

}  // namespace millrace
