// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace millrace {

/// Bytes that never change. Copies share them.
class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(std::vector<std::byte> bytes)
      : SharedBytes(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}
  /// A copy of the bytes.
  explicit SharedBytes(std::span<const std::byte> bytes)
      : SharedBytes(std::vector<std::byte>(bytes.begin(), bytes.end())) {}
  /// Refers to the bytes without a copy. `owner` keeps them alive, and they must not change while it lives.
  SharedBytes(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  const std::byte* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  const std::byte* begin() const { return data(); }
  const std::byte* end() const { return data() + size(); }
  const std::byte& operator[](std::size_t i) const { return bytes_[i]; }
  /// Precondition: the range is within these bytes.
  SharedBytes part(std::size_t offset, std::size_t size) const { return {owner_, bytes_.subspan(offset, size)}; }

  /// The owner that keeps the bytes alive.
  const std::shared_ptr<const void>& owner() const { return owner_; }

  /// Whether both refer to the same memory.
  bool is_shared_with(const SharedBytes& other) const { return data() == other.data() && size() == other.size(); }
  friend bool operator==(const SharedBytes& a, const SharedBytes& b) {
    return a.is_shared_with(b) || std::ranges::equal(a, b);
  }

 private:
  explicit SharedBytes(const std::shared_ptr<const std::vector<std::byte>>& bytes) : owner_(bytes), bytes_(*bytes) {}

  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

}  // namespace millrace
