// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

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

  /// A rank above kMaxRank is only recorded, and matches no argument.
  std::size_t rank() const { return rank_; }
  /// Precondition: axis < kMaxRank.
  std::int64_t operator[](std::size_t axis) const { return extents_[axis]; }
  friend bool operator==(const Extents&, const Extents&) = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  std::size_t rank_ = 0;
};

/// An argument of a run: row-major elements in the caller's memory or in a buffer of the program's device, and their
/// extents where the program's are symbols. Non-owning: the memory stays valid until the run has ended.
struct TensorBinding {
  void* data = nullptr;  // of the caller's memory
  std::size_t size_bytes = 0;
  const Buffer* buffer = nullptr;  // null: caller memory
  std::size_t offset_bytes = 0;    // of the first element in `buffer`
  Extents extents = {};
  bool has_extents = false;         // not needed if the argument's extents are constant
  std::optional<DType> dtype = {};  // the bound elements' dtype, if their C++ type tells

  BufferBinding memory() const { return {data, size_bytes, buffer, offset_bytes}; }
};

/// The value of a symbol that no input's extents determine, such as a dynamic k.
struct DimBinding {
  std::string_view name;
  std::int64_t value = 0;
};

/// The dtype of a C++ element type; empty for bytes and other types that are just storage.
template <class T>
constexpr std::optional<DType> element_dtype() {
  if constexpr (requires { detail::DTypeOf<T>::value; }) {
    return dtype_of<T>;
  } else {
    return std::nullopt;
  }
}

/// Inputs are never written, so dropping const is safe.
template <class T>
TensorBinding bind(std::span<T> elements) {
  TensorBinding binding{.data = const_cast<void*>(static_cast<const void*>(elements.data())),
                        .size_bytes = elements.size_bytes()};
  binding.dtype = element_dtype<std::remove_const_t<T>>();
  return binding;
}
/// bind(pixels, {batch, 1, 8, 8})
template <class T>
TensorBinding bind(std::span<T> elements, Extents extents) {
  TensorBinding binding = bind(elements);
  binding.extents = extents;
  binding.has_extents = true;
  return binding;
}
/// A whole buffer of the program's device: a run then moves nothing through the host.
inline TensorBinding bind(const Buffer& buffer) { return {.size_bytes = buffer.size_bytes(), .buffer = &buffer}; }
inline TensorBinding bind(const Buffer& buffer, Extents extents) {
  return {.size_bytes = buffer.size_bytes(), .buffer = &buffer, .extents = extents, .has_extents = true};
}
/// What holds elements: not a Buffer, which is bound whole.
template <class T>
concept ElementContainer = requires(T& container) { std::span(container.data(), container.size()); };
template <ElementContainer Container>
TensorBinding bind(Container& container) {
  return bind(std::span(container.data(), container.size()));
}
template <ElementContainer Container>
TensorBinding bind(Container& container, Extents extents) {
  return bind(std::span(container.data(), container.size()), extents);
}

}  // namespace millrace
