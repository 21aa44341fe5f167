// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <string_view>
#include <vector>

#include <xbyak/xbyak.h>

#include "jit/lanes/lane_function.h"

namespace millrace {

/// Properties of the cores, beyond their ISA level, for which code is tuned. Tuned code computes the same results on
/// any core of that level, so a program saved on another machine is at worst slower.
struct CoreTuning {
  /// Whether 512-bit minimum and maximum instructions run on one port, while logical instructions run on two. Intel's
  /// cores with AVX-512 are like this.
  bool has_one_minimum_port = false;
};

/// The tuning for this machine's cores.
CoreTuning host_tuning();
/// "any core", "cores with one port for minima".
std::string_view to_text(const CoreTuning&);

/// Extends xbyak with tables of constants after the code. Emits position-independent code into the caller's buffer.
class LaneAssembler : public Xbyak::CodeGenerator {
 public:
  using Table = std::vector<std::uint64_t>;

  explicit LaneAssembler(std::span<std::byte> buffer, const CoreTuning& tuning = host_tuning())
      : Xbyak::CodeGenerator(buffer.size(), buffer.data()), tuning_(tuning) {}

  const CoreTuning& tuning() const { return tuning_; }

  /// The address of a table, aligned to 64 bytes. Equal tables share an address.
  Xbyak::Address table(const Table& words);
  /// Writes the tables. Call once, last.
  void finish();

 private:
  struct Entry {
    Table words;
    Xbyak::Label label;
  };
  CoreTuning tuning_;
  std::list<Entry> tables_;  // a list, because labels must not move
};

/// Emits a function at the current position, for the C calling convention: arguments in order, the result as i64.
void emit_lanes(LaneAssembler&, const LaneFunction&);

}  // namespace millrace
