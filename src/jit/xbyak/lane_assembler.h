// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <span>

#include <xbyak/xbyak.h>

namespace millrace {

/// Extends xbyak with tables of constants behind the code. Emits position-independent code into the caller's buffer.
class LaneAssembler : public Xbyak::CodeGenerator {
 public:
  using Table = std::array<std::uint64_t, 8>;  // 64 bytes

  explicit LaneAssembler(std::span<std::byte> buffer) : Xbyak::CodeGenerator(buffer.size(), buffer.data()) {}

  /// The address of a constant vector; equal ones share it.
  Xbyak::Address table(const Table& words);
  /// Writes the tables. Call once, last.
  void finish();

 private:
  struct Entry {
    Table words;
    Xbyak::Label label;
  };
  std::list<Entry> tables_;  // a list: labels must not move
};

}  // namespace millrace
