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
      : bytes_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}
  explicit SharedBytes(std::span<const std::byte> bytes)
      : SharedBytes(std::vector<std::byte>(bytes.begin(), bytes.end())) {}

  const std::byte* data() const { return bytes_ ? bytes_->data() : nullptr; }
  std::size_t size() const { return bytes_ ? bytes_->size() : 0; }
  bool empty() const { return size() == 0; }
  const std::byte* begin() const { return data(); }
  const std::byte* end() const { return data() + size(); }
  const std::byte& operator[](std::size_t i) const { return (*bytes_)[i]; }

  /// Whether both are the same memory.
  bool is_shared_with(const SharedBytes& other) const { return bytes_ == other.bytes_; }
  friend bool operator==(const SharedBytes& a, const SharedBytes& b) {
    return a.is_shared_with(b) || std::ranges::equal(a, b);
  }

 private:
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

}  // namespace millrace
