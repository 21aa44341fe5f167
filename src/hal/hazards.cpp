// SPDX-License-Identifier: Apache-2.0
#include "hal/hazards.h"

#include <fmt/format.h>

#include "hal/access.h"
#include "hal/command_text.h"

namespace millrace {
namespace {

/// Ends are computed in 128 bits: offset + length may leave int64 in a list that is not valid.
bool constants_overlap(std::int64_t a_offset, std::int64_t a_length, std::int64_t b_offset, std::int64_t b_length) {
  if (a_length <= 0 || b_length <= 0) return false;
  __extension__ using Wide = __int128;
  return a_offset < Wide{b_offset} + b_length && b_offset < Wide{a_offset} + a_length;
}

bool in_range(const CommandList& list, const BufferRange& range) {
  return list.bindings.contains(range.binding) && list.sizes.contains(range.offset_bytes) &&
         list.sizes.contains(range.length_bytes);
}

struct Touch {
  std::size_t command;
  RangeAccess access;
};

std::string hazard_line(const CommandList& list, const Touch& earlier, const Touch& later) {
  const SizeText size(list);
  const auto verb = [](const Touch& touch) { return touch.access.writes ? "writes" : "reads"; };
  return fmt::format("{} {}: {} {} at {}, which {} {} {} at {}; put a barrier between them",
                     describe_command(list, later.command), to_text(later.access), verb(later),
                     describe(list, later.access.range.binding), size.interval(later.access.range),
                     describe_command(list, earlier.command), to_text(earlier.access), verb(earlier),
                     size.interval(earlier.access.range));
}

}  // namespace

bool may_overlap(const CommandList& list, const BufferRange& a, const BufferRange& b) {
  const SizeExpr& a_offset = list.sizes[a.offset_bytes];
  const SizeExpr& a_length = list.sizes[a.length_bytes];
  const SizeExpr& b_offset = list.sizes[b.offset_bytes];
  const SizeExpr& b_length = list.sizes[b.length_bytes];
  if (a_offset.is_constant() && a_length.is_constant() && b_offset.is_constant() && b_length.is_constant()) {
    return constants_overlap(a_offset.constant(), a_length.constant(), b_offset.constant(), b_length.constant());
  }
  if (a_length.upper_bound() <= 0 || b_length.upper_bound() <= 0) return false;
  const bool a_before_b = (b_offset - (a_offset + a_length)).lower_bound() >= 0;
  const bool b_before_a = (a_offset - (b_offset + b_length)).lower_bound() >= 0;
  return !a_before_b && !b_before_a;
}

void find_hazards(const CommandList& list, std::vector<std::string>& lines) {
  std::vector<std::vector<Touch>> touched(list.bindings.size());  // since the last barrier, by binding
  for (std::size_t i = 0; i < list.commands.size(); ++i) {
    if (std::holds_alternative<BarrierCommand>(list.commands[i])) {
      for (auto& touches : touched) touches.clear();
      continue;
    }
    for (const RangeAccess& access : accesses_of(list, list.commands[i])) {
      if (!in_range(list, access.range)) continue;
      const Touch later{i, access};
      auto& touches = touched[index_of(access.range.binding)];
      for (const Touch& earlier : touches) {
        if (earlier.command == i || !(earlier.access.writes || access.writes)) continue;
        if (may_overlap(list, earlier.access.range, access.range)) lines.push_back(hazard_line(list, earlier, later));
      }
      touches.push_back(later);
    }
  }
}

}  // namespace millrace
