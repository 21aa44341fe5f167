// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace millrace {

/// A set of integers stored as disjoint intervals [begin, end) that do not touch. Each operation is O(log intervals),
/// amortised.
class IntervalSet {
 public:
  bool empty() const { return ends_.empty(); }

  /// The end of the first interval that overlaps [begin, end); empty if none does.
  std::optional<std::int64_t> end_of_overlap(std::int64_t begin, std::int64_t end) const {
    if (begin >= end) return {};
    const auto after = ends_.upper_bound(begin);
    if (after != ends_.begin() && std::prev(after)->second > begin) return std::prev(after)->second;
    if (after != ends_.end() && after->first < end) return after->second;
    return {};
  }
  bool overlaps(std::int64_t begin, std::int64_t end) const { return end_of_overlap(begin, end).has_value(); }

  /// Whether all of [begin, end) is in the set.
  bool contains(std::int64_t begin, std::int64_t end) const {
    if (begin >= end) return true;
    const auto after = ends_.upper_bound(begin);
    return after != ends_.begin() && std::prev(after)->second >= end;
  }

  void insert(std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    auto at = ends_.upper_bound(begin);
    if (at != ends_.begin() && std::prev(at)->second >= begin) {
      at = std::prev(at);
      if (at->second >= end) return;
      begin = at->first;
    }
    while (at != ends_.end() && at->first <= end) {
      if (at->second > end) end = at->second;
      at = ends_.erase(at);
    }
    ends_.emplace_hint(at, begin, end);
  }

 private:
  std::map<std::int64_t, std::int64_t> ends_;  // begin -> end
};

}  // namespace millrace
