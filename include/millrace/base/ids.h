// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace millrace {

/// A dense 32-bit index with its own type: `enum class NodeId : std::uint32_t {};`.
template <class T>
concept DenseId = std::is_enum_v<T> && std::same_as<std::underlying_type_t<T>, std::uint32_t>;

template <DenseId Id>
constexpr std::uint32_t index_of(Id id) {
  return static_cast<std::uint32_t>(id);
}

/// The id after `id`.
template <DenseId Id>
constexpr Id next_id(Id id) {
  return static_cast<Id>(index_of(id) + 1);
}

/// A vector indexed only by its own id type.
template <DenseId Id, class T>
class IdVector {
 public:
  using value_type = T;

  Id push_back(T value) {
    items_.push_back(std::move(value));
    return static_cast<Id>(items_.size() - 1);
  }
  T& operator[](Id id) { return items_[index_of(id)]; }
  const T& operator[](Id id) const { return items_[index_of(id)]; }
  bool contains(Id id) const { return index_of(id) < items_.size(); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void resize(std::size_t size) { items_.resize(size); }
  void reserve(std::size_t capacity) { items_.reserve(capacity); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  std::vector<T> items_;
};

}  // namespace millrace
