// SPDX-License-Identifier: Apache-2.0
// Allocates the registers and stack slots of a lane function in one pass.
#include "jit/lanes/linear_scan.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "millrace/base/check.h"

namespace millrace {
namespace {

/// Up to 32 registers, allocated in rotation.
class Registers {
 public:
  explicit Registers(int count) : count_(count), free_(static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1)) {
    MILLRACE_CHECK(count <= 32);
  }
  /// Allocates the next free register after the one allocated last.
  int take() {
    const std::uint32_t behind = free_ & (~std::uint32_t{0} << next_);
    const int taken = std::countr_zero(behind != 0 ? behind : free_);
    free_ &= ~(std::uint32_t{1} << taken);
    next_ = (taken + 1) % count_;
    return taken;
  }
  void give_back(int number) { free_ |= std::uint32_t{1} << number; }

 private:
  int count_, next_ = 0;
  std::uint32_t free_;
};

int end_of_block(const LaneFunction& f, int at) {
  while (f.instructions[static_cast<std::size_t>(at)].op != LaneOp::kEnd) ++at;
  return at;
}

}  // namespace

Allocation allocate_registers(std::span<const LiveRange> ranges, int num_registers) {
  Allocation allocation;
  allocation.locations.resize(ranges.size());
  Registers registers(num_registers);
  std::vector<std::size_t> active;  // the ranges that are in registers
  active.reserve(static_cast<std::size_t>(num_registers) + 1);
  int next_end = std::numeric_limits<int>::max();  // the earliest end of the active ranges
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (next_end <= ranges[i].first) {
      next_end = std::numeric_limits<int>::max();
      std::erase_if(active, [&](std::size_t one) {
        // A value that is never read still needs its register while it is written.
        const bool has_ended = ranges[one].last <= ranges[i].first && ranges[one].first < ranges[i].first;
        if (has_ended) registers.give_back(allocation.locations[one].number);
        if (!has_ended) next_end = std::min(next_end, ranges[one].last);
        return has_ended;
      });
    }
    active.push_back(i);
    next_end = std::min(next_end, ranges[i].last);
    if (static_cast<int>(active.size()) <= num_registers) {
      allocation.locations[i] = {registers.take(), false};
      continue;
    }
    const auto longest = std::ranges::max_element(active, {}, [&](std::size_t one) { return ranges[one].last; });
    if (*longest != i) allocation.locations[i] = allocation.locations[*longest];
    allocation.locations[*longest] = {allocation.num_slots++, true};
    active.erase(longest);
  }
  return allocation;
}

LaneLocations::LaneLocations(const LaneFunction& f, LaneValueClass value_class, int num_registers) {
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
