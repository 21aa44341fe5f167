// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include <xbyak/xbyak.h>

#include "jit/xbyak/core_tuning.h"

namespace millrace {

/// Extends xbyak with tables of constants behind the code. Emits position-independent code into the caller's buffer.
class LaneAssembler : public Xbyak::CodeGenerator {
 public:
  using Table = std::vector<std::uint64_t>;

  explicit LaneAssembler(std::span<std::byte> buffer, const CoreTuning& tuning = host_tuning())
      : Xbyak::CodeGenerator(buffer.size(), buffer.data()), tuning_(tuning) {}

  const CoreTuning& tuning() const { return tuning_; }

  /// The address of constants, aligned to 64 bytes; equal ones share it.
  Xbyak::Address table(const Table& words);
  /// Writes the tables. Call once, last.
  void finish();

 private:
  struct Entry {
    Table words;
    Xbyak::Label label;
  };
  CoreTuning tuning_;
  std::list<Entry> tables_;  // a list: labels must not move
};

}  // namespace millrace
