// SPDX-License-Identifier: Apache-2.0
// Records which waves touched a place of memory, to decide whether the next access there is a race.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "millrace/hal/memory_observer.h"

namespace millrace::isa {

/// An execution of an instruction by a wave.
struct WaveAccess {
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  std::uint32_t group = 0;
  std::uint32_t wave = kNobody;
  std::uint32_t phase = 0;    // the number of barriers that its workgroup has passed
  std::uint32_t address = 0;  // the instruction's, from the kernel's entry
  std::uint32_t serial = 0;   // the serial number of this execution

  bool is_somebody() const { return wave != kNobody; }
  /// Barriers order the waves of a workgroup. Nothing orders workgroups.
  bool is_unordered_with(const WaveAccess& later) const {
    if (!is_somebody()) return false;
    return group != later.group || (phase == later.phase && wave != later.wave);
  }
};

/// The accesses to a granule of memory that decide whether the next one races. Two waves that read, and two that update
/// atomically, are enough: the next wave differs from at least one of the two.
class WaveHistory {
 public:
  struct Race {
    WaveAccess other;
    AccessKind kind = AccessKind::kLoad;
  };

  /// Adds an access. Returns an earlier access with which it races, if any.
  std::optional<Race> add(AccessKind kind, const WaveAccess& me) {
    if (add_of_owner(kind, me)) return std::nullopt;
    if (is_repeated_load(kind, me)) return std::nullopt;
    last_loader_ = kind == AccessKind::kLoad ? me.wave : WaveAccess::kNobody;
    last_phase_ = me.phase, last_group_ = me.group;
    owner_ = owner_.is_somebody() ? WaveAccess{.wave = kShared} : me;
    std::optional<Race> race = find(stored_, AccessKind::kStore, me);
    if (!race && kind != AccessKind::kLoad) race = find(loaded_[0], loaded_[1], AccessKind::kLoad, me);
    if (!race && kind != AccessKind::kAtomic) race = find(updated_[0], updated_[1], AccessKind::kAtomic, me);
    if (kind == AccessKind::kStore) stored_ = me;
    if (kind == AccessKind::kLoad) remember(loaded_, me);
    if (kind == AccessKind::kAtomic) remember(updated_, me);
    return race;
  }

  /// Adds an access if no other wave has accessed the granule in this phase, which is the usual case. Returns false if
  /// another wave may have.
  bool add_of_owner(AccessKind kind, const WaveAccess& me) {
    if (owner_.wave != me.wave || owner_.phase != me.phase || owner_.group != me.group) return false;
    (kind == AccessKind::kStore ? stored_ : kind == AccessKind::kLoad ? loaded_[0] : updated_[0]) = me;
    return true;
  }
  /// The phase of the first access.
  std::uint32_t phase() const { return phase_; }
  void begin_phase(std::uint32_t phase) {
    *this = {};
    phase_ = phase;
  }

  /// Whether another lane of the same execution stored here.
  bool is_stored_by(const WaveAccess& me) const { return stored_.is_somebody() && stored_.serial == me.serial; }

 private:
  /// Whether the previous access was a load of the same wave in the same phase, so that another load adds nothing.
  bool is_repeated_load(AccessKind kind, const WaveAccess& me) const {
    return kind == AccessKind::kLoad && last_loader_ == me.wave && last_phase_ == me.phase && last_group_ == me.group;
  }

  static std::optional<Race> find(const WaveAccess& earlier, AccessKind kind, const WaveAccess& me) {
    return earlier.is_unordered_with(me) ? std::optional(Race{earlier, kind}) : std::nullopt;
  }
  static std::optional<Race> find(const WaveAccess& a, const WaveAccess& b, AccessKind kind, const WaveAccess& me) {
    const std::optional<Race> race = find(a, kind, me);
    return race ? race : find(b, kind, me);
  }
  static void remember(WaveAccess (&two)[2], const WaveAccess& me) {
    // A barrier separates earlier accesses of this workgroup from everything that follows.
    if (two[0].is_somebody() && two[0].group == me.group && two[0].phase != me.phase) {
      two[0] = two[1].is_unordered_with(me) ? two[1] : WaveAccess{};
      two[1] = {};
    }
    if (!two[0].is_somebody()) {
      two[0] = me;
    } else if (two[0].is_unordered_with(me) && !two[1].is_unordered_with(me)) {
      two[1] = me;
    }
  }

  static constexpr std::uint32_t kShared = WaveAccess::kNobody - 1;
  WaveAccess owner_;  // if one wave made all accesses, in one phase: its first access; otherwise kShared
  std::uint32_t phase_ = 0;
  std::uint32_t last_loader_ = WaveAccess::kNobody, last_phase_ = 0, last_group_ = 0;
  WaveAccess stored_;
  WaveAccess loaded_[2];
  WaveAccess updated_[2];
};

/// The histories of a stretch of memory, created when they are first touched.
class MemoryHistory {
 public:
  /// `granule_bytes` is a power of two. `is_reset_by_barriers`: barriers order all accesses, as in a group segment.
  MemoryHistory(std::uint64_t begin, std::uint64_t end, std::uint32_t granule_bytes, bool is_reset_by_barriers)
      : begin_(begin),
        is_reset_by_barriers_(is_reset_by_barriers),
        granule_shift_(std::countr_zero(granule_bytes)),
        chunks_(((end - begin) >> granule_shift_) / kChunk + 1) {}

  std::uint64_t begin() const { return begin_; }

  /// Adds an access to `num_bytes` from `address` on. Sets the bit in `overlap` of each byte that another lane of the
  /// same execution also stored.
  std::optional<WaveHistory::Race> add(std::uint64_t address, std::uint32_t num_bytes, AccessKind kind,
                                       const WaveAccess& me, std::uint32_t& overlap) {
    const std::uint64_t first = address - begin_, end = first + num_bytes;
    const int chunk_shift = granule_shift_ + kChunkShift;
    std::optional<WaveHistory::Race> race;
    for (std::uint64_t from = first; from < end;) {
      const std::uint64_t number = from >> chunk_shift;
      const std::uint64_t to = std::min(end, (number + 1) << chunk_shift);
      Chunk& chunk = chunks_[number];
      prepare(chunk, from | to);
      const std::uint64_t chunk_begin = number << chunk_shift;
      const std::uint32_t step = 1u << chunk.shift;
      for (; from < to; from += step) {
        WaveHistory& history = chunk.histories[(from - chunk_begin) >> chunk.shift];
        if (kind == AccessKind::kStore && history.is_stored_by(me)) overlap |= ((1u << step) - 1) << (from - first);
        if (is_reset_by_barriers_ && history.phase() != me.phase) history.begin_phase(me.phase);
        if (history.add_of_owner(kind, me)) continue;
        const auto found = history.add(kind, me);
        if (!race) race = found;
      }
    }
    return race;
  }

 private:
  static constexpr int kChunkShift = 8;
  static constexpr std::uint64_t kChunk = std::uint64_t{1} << kChunkShift;  // granules
  struct Chunk {
    std::unique_ptr<WaveHistory[]> histories;
    int shift = 0;  // log2 of the bytes per history: a whole granule, or one byte
  };

  /// Makes the chunk's histories. After the first access that ends within a granule, there is one history per byte,
  /// each a copy of its granule's.
  void prepare(Chunk& chunk, std::uint64_t ends) {
    if (chunk.histories == nullptr) {
      chunk.histories = std::make_unique<WaveHistory[]>(kChunk);
      chunk.shift = granule_shift_;
    }
    if ((ends & ((std::uint64_t{1} << chunk.shift) - 1)) == 0) return;
    auto bytes = std::make_unique<WaveHistory[]>(kChunk << granule_shift_);
    for (std::uint64_t i = 0; i < kChunk << granule_shift_; ++i) bytes[i] = chunk.histories[i >> granule_shift_];
    chunk = {std::move(bytes), 0};
  }

  std::uint64_t begin_ = 0;
  bool is_reset_by_barriers_ = false;
  int granule_shift_ = 2;
  std::vector<Chunk> chunks_;
};

}  // namespace millrace::isa
