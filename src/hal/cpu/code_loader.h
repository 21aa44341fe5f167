// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "millrace/base/status.h"

namespace millrace {

/// Machine code in memory of its own, unmapped with its owner. No page is ever writable and executable.
class MappedCode {
 public:
  static constexpr std::size_t kPageBytes = 4096;  // of every x86-64 system

  /// Copies `bytes` to fresh pages: [0, code_bytes) readable and executable, the rest readable.
  /// Precondition: 0 < code_bytes <= bytes.size(), and a multiple of kPageBytes unless it is bytes.size().
  static Result<MappedCode> map(std::span<const std::byte> bytes, std::size_t code_bytes);

  MappedCode() = default;
  MappedCode(MappedCode&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}
  MappedCode& operator=(MappedCode&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    return *this;
  }
  ~MappedCode();

  const std::byte* data() const { return data_; }

 private:
  MappedCode(std::byte* data, std::size_t mapped_bytes) : data_(data), mapped_bytes_(mapped_bytes) {}
  std::byte* data_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace millrace
