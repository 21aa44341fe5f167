// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace millrace {

/// The first and the last timepoint at which a transient lives, both included.
struct Lifespan {
  std::uint32_t first = 0, last = 0;

  bool meets(const Lifespan& other) const { return first <= other.last && other.first <= last; }
};

/// A transient to be packed; its size is known, and a multiple of Buffer::kAlignment.
struct PackedTransient {
  std::int64_t bytes = 0;
  Lifespan life;
  std::uint32_t number = 0;
};

/// The orders in which transients are placed, each at the lowest offset that is free while it lives. No order is best
/// for all schedules, so a packing tries them and keeps the smallest result.
enum class PackOrder : std::uint8_t { kLargest, kLargestArea, kLongest, kEarliest };
inline constexpr PackOrder kPackOrders[] = {PackOrder::kLargest, PackOrder::kLargestArea, PackOrder::kLongest,
                                            PackOrder::kEarliest};
bool is_packed_before(PackOrder, const PackedTransient&, const PackedTransient&);

/// The maximum number of repairs of a packing. A repair moves the transient with the highest end to the front of the
/// order.
inline constexpr int kMaxRepairs = 24;
/// With more transients than this, a packing uses only the order that is best on average.
inline constexpr std::size_t kMaxRepaired = 2000;

/// Tries several orders of `transients`. `place()` packs them in their present order and returns the highest end;
/// `end_of(transient)` returns where that transient ends; `keep()` saves the present packing as the best so far. Stops
/// when a packing ends at `min_bytes` or before. Returns the end of the best packing.
template <class Place, class EndOf, class Keep>
std::int64_t find_best_packing(std::vector<PackedTransient>& transients, std::int64_t min_bytes, const Place& place,
                               const EndOf& end_of, const Keep& keep) {
  std::optional<std::int64_t> best;
  const auto attempt = [&] {
    const std::int64_t end = place();
    if (best && *best <= end) return false;
    best = end;
    keep();
    return true;
  };
  const auto sort = [&](PackOrder order) {
    std::ranges::sort(transients, [&](const auto& a, const auto& b) { return is_packed_before(order, a, b); });
  };
  PackOrder best_order{};
  for (const PackOrder order : kPackOrders) {
    sort(order);
    if (attempt()) best_order = order;
    if (*best <= min_bytes) return *best;
  }
  if (transients.size() > kMaxRepaired) return *best;
  sort(best_order);
  place();
  for (int i = 0; i < kMaxRepairs && *best > min_bytes; ++i) {
    const auto last = std::ranges::max_element(transients, {}, end_of);
    std::rotate(transients.begin(), last, last + 1);
    attempt();
  }
  return *best;
}

/// The maximum, over all timepoints, of the bytes that are live. No packing needs less.
std::int64_t max_live_bytes(std::span<const PackedTransient>);

/// Packs the same transients repeatedly, for sizes that differ between runs.
class SlabPacker {
 public:
  /// Empty if more than a million pairs of transients live together: the list of pairs would take more memory than the
  /// packing saves.
  static std::optional<SlabPacker> create(std::span<const Lifespan>);

  /// `bytes` has one size per life, a multiple of Buffer::kAlignment. Returns the bytes that the slab needs; stops
  /// early once they are no more than `enough_bytes`. Allocates nothing.
  std::int64_t pack(std::span<const std::int64_t> bytes, std::int64_t enough_bytes = 0);
  /// The offset that pack() gave each transient.
  std::span<const std::int64_t> offsets() const { return offsets_; }

 private:
  struct Interval {
    std::int64_t begin = 0, end = 0;
  };
  SlabPacker() = default;
  std::int64_t place_all();
  std::int64_t lowest_place(const PackedTransient&);

  std::vector<PackedTransient> transients_;   // in the order in which they are placed
  std::vector<std::uint32_t> neighbours_;     // for each transient, those that live at the same time
  std::vector<std::size_t> first_neighbour_;  // each transient's first index in neighbours_, then the end
  std::vector<std::int64_t> bytes_, offsets_, trial_;
  std::vector<bool> is_placed_;
  std::vector<Interval> taken_;
  std::vector<std::int64_t> changes_;  // changes of the live bytes, per timepoint
};

}  // namespace millrace
