// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/interval_set.h"
#include "graph/run/slab_packer.h"

namespace millrace {

/// Which bytes of a slab are taken, and when. A binary tree over the timepoints: each node stores the bytes that are
/// taken in all of its timepoints, and the bytes that are taken in at least one.
class SlabSpace {
 public:
  explicit SlabSpace(std::uint32_t num_timepoints) : num_timepoints_(num_timepoints), nodes_(2 * num_timepoints) {}

  /// The lowest offset at which `bytes` bytes are free for the whole lifespan. O(log timepoints * log intervals) for
  /// each gap that is too small.
  std::int64_t find_free(std::int64_t bytes, Lifespan) const;
  /// Marks the bytes as taken. O(log timepoints * log intervals).
  void take(std::int64_t offset, std::int64_t bytes, Lifespan);

 private:
  struct Node {
    IntervalSet always;     // taken in all of the node's timepoints
    IntervalSet sometimes;  // taken in at least one timepoint of the node
  };
  /// Timepoints [begin, end) and their node. In `nodes_`, a node is followed by the subtree of its first half, then by
  /// that of its second half.
  struct Part {
    std::size_t node = 0;
    std::uint32_t begin = 0, end = 0;

    bool meets(Lifespan life) const { return begin <= life.last && life.first < end; }
    bool is_in(Lifespan life) const { return life.first <= begin && end <= life.last + 1; }
    std::uint32_t middle() const { return begin + (end - begin) / 2; }
    Part first_half() const { return {node + 1, begin, middle()}; }
    Part second_half() const { return {node + 2 * std::size_t{middle() - begin}, middle(), end}; }
  };

  void collect(const Part&, Lifespan, std::vector<const IntervalSet*>& taken) const;
  void take(const Part&, std::int64_t begin, std::int64_t end, Lifespan);

  std::uint32_t num_timepoints_;
  std::vector<Node> nodes_;
};

}  // namespace millrace
