// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

/// One kernel's code and constants: [0, code_bytes) is executable, the rest is only read.
struct CodeBlock {
  std::span<const std::byte> bytes;
  std::size_t code_bytes = 0;  // at least 1; a multiple of kPageBytes (memory_pages.h), or bytes.size()
};

/// The machine code of any number of kernels in one mapping, unmapped with its owner. No page is ever writable and
/// executable at the same time.
class MappedCode {
 public:
  /// Copies the blocks to new pages and appends the offset of each to `offsets`. Blocks without constants are packed; a
  /// block with constants begins on a page. Blocks that refer to the same bytes are copied once.
  static Result<MappedCode> map(std::span<const CodeBlock> blocks, std::vector<std::size_t>& offsets);
  /// Maps a single block, at offset 0.
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
