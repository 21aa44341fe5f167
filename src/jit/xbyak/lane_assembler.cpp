// SPDX-License-Identifier: Apache-2.0
// Emits lane functions with the emitter of their CPU level.
#include "jit/xbyak/lane_assembler.h"

#include <ranges>

namespace millrace {

CoreTuning host_tuning() {
  static const CoreTuning kTuning = [] {
    __builtin_cpu_init();
    return CoreTuning{.has_one_minimum_port = __builtin_cpu_is("intel") != 0};
  }();
  return kTuning;
}

std::string_view to_text(const CoreTuning& tuning) {
  return tuning.has_one_minimum_port ? "cores with one port for minima" : "any core";
}

Xbyak::Address LaneAssembler::table(const Table& words) {
  // The same table is often requested several times in a row.
  for (Entry& entry : std::views::reverse(tables_)) {
    if (entry.words == words) return ptr[rip + entry.label];
  }
  tables_.push_back({words, Xbyak::Label()});
  return ptr[rip + tables_.back().label];
}

void LaneAssembler::finish() {
  for (Entry& entry : tables_) {
    align(64);
    L(entry.label);
    for (const std::uint64_t word : entry.words) dq(word);
  }
}

}  // namespace millrace
