// SPDX-License-Identifier: Apache-2.0
// Finds free places in the slab quickly, for schedules with thousands of transients.
#include "graph/stream/slab_space.h"

#include "millrace/base/saturating.h"

namespace millrace {

/// Collects the intervals that are taken at some timepoint of the lifespan.
void SlabSpace::collect(const Part& part, Lifespan life, std::vector<const IntervalSet*>& taken) const {
  if (!part.meets(life)) return;
  const Node& node = nodes_[part.node];
  if (node.sometimes.empty()) return;
  if (part.is_in(life)) return taken.push_back(&node.sometimes);
  if (!node.always.empty()) taken.push_back(&node.always);
  collect(part.first_half(), life, taken);
  collect(part.second_half(), life, taken);
}

std::int64_t SlabSpace::find_free(std::int64_t bytes, Lifespan life) const {
  std::vector<const IntervalSet*> taken;
  collect({0, 0, num_timepoints_}, life, taken);
  std::int64_t offset = 0;
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (const IntervalSet* set : taken) {
      const std::optional<std::int64_t> end = set->end_of_overlap(offset, saturating::add(offset, bytes));
      if (!end) continue;
      offset = *end;
      has_moved = true;
    }
  }
  return offset;
}

void SlabSpace::take(std::int64_t offset, std::int64_t bytes, Lifespan life) {
  take({0, 0, num_timepoints_}, offset, saturating::add(offset, bytes), life);
}

void SlabSpace::take(const Part& part, std::int64_t begin, std::int64_t end, Lifespan life) {
  if (!part.meets(life)) return;
  nodes_[part.node].sometimes.insert(begin, end);
  if (part.is_in(life)) return nodes_[part.node].always.insert(begin, end);
  take(part.first_half(), begin, end, life);
  take(part.second_half(), begin, end, life);
}

}  // namespace millrace
