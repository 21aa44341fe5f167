// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/lane_places.h"

#include <algorithm>

namespace millrace {
namespace {

int end_of_block(const LaneFunction& f, int at) {
  while (f.instructions[static_cast<std::size_t>(at)].op != LaneOp::kEnd) ++at;
  return at;
}

}  // namespace

LanePlaces::LanePlaces(const LaneFunction& f, LaneValueClass value_class, int num_registers) {
  std::vector<LiveRange> ranges;
  index_.assign(f.instructions.size(), -1);
  for (std::size_t at = 0; at < f.instructions.size(); ++at) {
    const LaneOp op = f.instructions[at].op;
    const bool is_ours = (value_class != LaneValueClass::kMask && makes_vector(op)) ||
                         (value_class != LaneValueClass::kVector && makes_mask(op));
    if (!is_ours) continue;
    index_[at] = static_cast<int>(ranges.size());
    ranges.push_back({2 * static_cast<int>(at), 2 * static_cast<int>(at)});
  }
  if (ranges.empty()) return;  // a sorting network has no masks
  int loop_start = -1, loop_end = -1;
  for (int at = 0; at < static_cast<int>(f.instructions.size()); ++at) {
    const LaneInstruction& instruction = f.instructions[static_cast<std::size_t>(at)];
    if (instruction.op == LaneOp::kForEachWhole) {
      loop_start = at;
      loop_end = end_of_block(f, at);
    }
    if (instruction.op == LaneOp::kEnd) loop_start = -1;
    for (const LaneValue read : {instruction.a, instruction.b, instruction.mask}) {
      if (read == kNoLaneValue || index_[static_cast<std::size_t>(read)] < 0) continue;
      LiveRange& range = ranges[static_cast<std::size_t>(index_[static_cast<std::size_t>(read)])];
      range.last = std::max(range.last, 2 * at + has_trait(instruction.op, lane_table::kWritesEarly));
      if (range.first < 2 * loop_start) range.last = std::max(range.last, 2 * loop_end);
    }
  }
  allocation_ = allocate_registers(ranges, num_registers);
}

}  // namespace millrace
