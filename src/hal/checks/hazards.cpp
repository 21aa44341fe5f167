// SPDX-License-Identifier: Apache-2.0
// Finds commands that race, because no barrier separates a write from another access to the same bytes.
#include "hal/checks/hazards.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/byte_rows.h"
#include "base/byte_set.h"
#include "hal/checks/access.h"
#include "hal/command_text.h"

namespace millrace {
namespace {

/// Computes ends in 128 bits: in an invalid list, offset + length may overflow int64.
bool constants_overlap(std::int64_t a_offset, std::int64_t a_length, std::int64_t b_offset, std::int64_t b_length) {
  if (a_length <= 0 || b_length <= 0) return false;
  __extension__ using Wide = __int128;
  return a_offset < Wide{b_offset} + b_length && b_offset < Wide{a_offset} + a_length;
}

bool has_sizes(const CommandList& list, const BufferRange& range) {
  return list.sizes.contains(range.offset_bytes) && list.sizes.contains(range.length_bytes);
}

bool may_conflict(const CommandList& list, const RangeAccess& access) {
  const BindingIndex binding = access.range.binding;
  const auto& [touched, rows] = access.touched;
  return touched.binding == binding && list.bindings.contains(binding) && is_writable(list.bindings[binding].kind) &&
         has_sizes(list, access.range) && has_sizes(list, touched) &&
         std::ranges::all_of(rows, [&](const TouchedRange::Rows& each) {
           return list.sizes.contains(each.pitch_bytes) && list.sizes.contains(each.row_bytes);
         });
}

struct Touch {
  CommandId command;
  RangeAccess access;
};

std::string hazard_line(const CommandList& list, const Touch& earlier, const Touch& later) {
  const SizeText size(list);
  const auto verb = [](const Touch& touch) { return touch.access.writes ? "writes" : "reads"; };
  return fmt::format("{} {}: {} {} at {}, which {} {} {} at {}; put a barrier between them",
                     describe_command(list, later.command), to_text(later.access), verb(later),
                     describe(list, later.access.touched.range.binding), size.interval(later.access.touched),
                     describe_command(list, earlier.command), to_text(earlier.access), verb(earlier),
                     size.interval(earlier.access.touched));
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

namespace {

ByteRange bytes_of(const CommandList& list, const TouchedRange& touched) {
  const auto& [range, rows] = touched;
  ByteRange bytes{list.sizes[range.offset_bytes], list.sizes[range.length_bytes]};
  for (const auto& [pitch, row] : rows) bytes.rows.push_back({list.sizes[pitch], list.sizes[row]});
  return bytes;
}

bool may_overlap(const CommandList& list, const RangeAccess& a, const RangeAccess& b) {
  return may_overlap(list, a.touched.range, b.touched.range) && may_overlap(list, a.range, b.range) &&
         !have_disjoint_columns(bytes_of(list, a.touched), bytes_of(list, b.touched));
}

/// The ranges that commands name, and the bytes that they touch within them; two accesses conflict only if both the
/// ranges and the touched bytes overlap. The ranges are needed because two slots of a slab are disjoint for all sizes,
/// which the touched bytes alone may not show.
class AccessedBytes {
 public:
  bool may_overlap(const CommandList& list, const RangeAccess& access) const {
    return touched_.may_overlap(bytes_of(list, access.touched)) && ranges_.may_overlap(bytes_of(list, access.range));
  }
  void add(const CommandList& list, const RangeAccess& access) {
    touched_.add(bytes_of(list, access.touched));
    ranges_.add(bytes_of(list, access.range));
  }

 private:
  ByteSet touched_, ranges_;
};

/// The accesses of one binding since the last barrier.
struct BindingTouches {
  std::vector<Touch> touches;
  AccessedBytes accessed, written;
};

class HazardFinder {
 public:
  HazardFinder(const CommandList& list, std::vector<std::string>& lines)
      : list_(list), lines_(lines), bindings_(list.bindings.size()) {}

  /// Returns the id after the last command's. The first command has the id `id`.
  CommandId run(const std::vector<Command>& commands, CommandId id) {
    for (const Command& command : commands) {
      if (std::holds_alternative<BarrierCommand>(command)) {
        pass_barrier();
        id = next_id(id);
        continue;
      }
      const std::vector<RangeAccess> accesses = all_accesses_of(list_, command);
      for (const RangeAccess& access : accesses) {
        if (may_conflict(list_, access)) check({id, access});
      }
      for (const RangeAccess& access : accesses) {
        if (may_conflict(list_, access)) add({id, access});
      }
      id = next_id(id);
      for (const CommandBlock* block : blocks_of(command)) id = HazardFinder(list_, lines_).run(block->commands, id);
    }
    return id;
  }

 private:
  void pass_barrier() {
    for (const BindingIndex binding : open_) bindings_[index_of(binding)] = {};
    open_.clear();
  }

  /// Compares an access with every earlier one, but only if the sets of bytes cannot rule out a conflict.
  void check(const Touch& later) {
    const BindingTouches& before = bindings_[index_of(later.access.range.binding)];
    const AccessedBytes& bytes = later.access.writes ? before.accessed : before.written;
    if (!bytes.may_overlap(list_, later.access)) return;
    for (const Touch& earlier : before.touches) {
      if (!(earlier.access.writes || later.access.writes)) continue;
      if (may_overlap(list_, earlier.access, later.access)) lines_.push_back(hazard_line(list_, earlier, later));
    }
  }

  void add(const Touch& touch) {
    const BindingIndex binding = touch.access.range.binding;
    BindingTouches& before = bindings_[index_of(binding)];
    if (before.touches.empty()) open_.push_back(binding);
    before.touches.push_back(touch);
    before.accessed.add(list_, touch.access);
    if (touch.access.writes) before.written.add(list_, touch.access);
  }

  const CommandList& list_;
  std::vector<std::string>& lines_;
  std::vector<BindingTouches> bindings_;
  std::vector<BindingIndex> open_;  // bindings with accesses since the last barrier
};

}  // namespace

void find_hazards(const CommandList& list, std::vector<std::string>& lines) {
  HazardFinder(list, lines).run(list.commands, list.first_command);
}

}  // namespace millrace
