// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "millrace/hal/memory_observer.h"

namespace millrace {

/// A thread that executes an instruction.
struct Accessor {
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  std::uint32_t group = 0;
  std::uint32_t thread = kNobody;
  std::uint32_t line = 0;
  bool is_somebody() const { return thread != kNobody; }
  bool is_other_than(const Accessor& me) const { return is_somebody() && (thread != me.thread || group != me.group); }
};

/// The threads that touched a granule of memory since the last barrier, limited to those that decide whether the next
/// access races. Two readers, and two atomic updaters, are enough: at least one of the two differs from the next
/// thread.
class AccessHistory {
 public:
  struct Race {
    Accessor other;
    AccessKind kind = AccessKind::kLoad;
  };

  /// Adds an access of `me` in `phase`. Returns an earlier access of the same phase with which it races, if any.
  std::optional<Race> add(AccessKind kind, const Accessor& me, std::uint32_t phase) {
    if (phase != phase_) *this = AccessHistory(phase);
    std::optional<Race> race = find(stored_, AccessKind::kStore, me);
    if (!race && kind != AccessKind::kLoad) race = find(loaded_[0], loaded_[1], AccessKind::kLoad, me);
    if (!race && kind != AccessKind::kAtomic) race = find(updated_[0], updated_[1], AccessKind::kAtomic, me);
    if (kind == AccessKind::kStore) stored_ = me;
    if (kind == AccessKind::kLoad) remember(loaded_, me);
    if (kind == AccessKind::kAtomic) remember(updated_, me);
    return race;
  }

  AccessHistory() = default;

 private:
  explicit AccessHistory(std::uint32_t phase) : phase_(phase) {}

  static std::optional<Race> find(const Accessor& earlier, AccessKind kind, const Accessor& me) {
    return earlier.is_other_than(me) ? std::optional(Race{earlier, kind}) : std::nullopt;
  }
  static std::optional<Race> find(const Accessor& a, const Accessor& b, AccessKind kind, const Accessor& me) {
    const std::optional<Race> race = find(a, kind, me);
    return race ? race : find(b, kind, me);
  }
  static void remember(Accessor (&two)[2], const Accessor& me) {
    if (!two[0].is_somebody()) {
      two[0] = me;
    } else if (two[0].is_other_than(me) && !two[1].is_somebody()) {
      two[1] = me;
    }
  }

  std::uint32_t phase_ = 0;
  Accessor stored_;
  Accessor loaded_[2];
  Accessor updated_[2];
};

}  // namespace millrace
