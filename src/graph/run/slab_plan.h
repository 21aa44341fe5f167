// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/run/slab_packer.h"
#include "millrace/base/status.h"

namespace millrace {

/// The bytes of the slab that a transient of this size takes. A negative size, which every run refuses, takes none.
std::int64_t align_slab_bytes(std::int64_t bytes);

/// How a program with transients of symbolic size uses its slab. Each transient is a binding of its own, which a run
/// places once it has bound the sizes.
struct SlabPlan {
  struct Transient {
    Lifespan life;
    std::optional<std::uint32_t> slot = {};  // the slot, if the size is symbolic; absent: it is at `offset_bytes`
    std::int64_t offset_bytes = 0;
  };
  std::vector<Transient> transients;  // in the order of the command list's last bindings
  std::int64_t fixed_bytes = 0;       // where the slots begin
  std::uint32_t num_slots = 0;
};

/// Checks placements of the same transients, independently of the code that made them. A check allocates nothing.
class PlacementCheck {
 public:
  explicit PlacementCheck(std::span<const Lifespan>);

  /// Fails with kInternal and the transients' indices if two that live at the same time share bytes, or if one extends
  /// beyond the slab. O(transients + pairs that live together).
  Status run(std::span<const std::int64_t> bytes, std::span<const std::int64_t> offsets, std::int64_t slab_bytes);

 private:
  struct Numbered {
    Lifespan life;
    std::uint32_t number = 0;
  };
  std::vector<Numbered> transients_;  // sorted by first timepoint
  std::vector<Numbered> living_;
};

/// Places a session's transients for the sizes of one run: packed, or in the schedule's slots if those need less.
/// Allocates nothing after its construction.
class SlabPlacement {
 public:
  explicit SlabPlacement(const SlabPlan&);

  /// `bytes` has one size per transient. Returns the bytes that the slab needs: never more than Schedule::slab_bytes.
  /// Stops at the first placement within `available_bytes`, which the session already has.
  Result<std::int64_t> place(std::span<const std::int64_t> bytes, std::int64_t available_bytes = 0);
  /// One offset per transient, a multiple of Buffer::kAlignment.
  std::span<const std::int64_t> offsets() const { return offsets_; }

 private:
  std::int64_t place_in_slots();

  const SlabPlan& plan_;
  std::optional<SlabPacker> packer_;
  std::optional<PlacementCheck> check_;
  std::vector<std::int64_t> bytes_, offsets_, slot_begins_;
};

}  // namespace millrace
