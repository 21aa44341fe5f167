// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "jit/lanes/lane_function.h"

namespace millrace {

/// Compares the elements at two indices. The smaller element goes to index `low`.
struct Comparator {
  int low = 0;
  int high = 0;
};

/// The comparators that sort `num_elements`, in the order in which to apply them.
/// Source: Batcher, "Sorting networks and their applications", AFIPS 1968 (odd-even merge sort).
std::vector<Comparator> sorting_network(int num_elements);

/// Sorts the lanes of 2^n vectors, ascending through the first vector's lanes, then the second's, and so on. Columns
/// are sorted by a network across vectors, then bitonic merges double the columns of a sorted run.
/// Source: Batcher 1968; the form in registers: Blacher et al., "Vectorized and performance-portable Quicksort", 2022.
void sort_lanes(LaneBuilder&, std::span<LaneValue> vectors);

/// Sorts the lanes of 2^n vectors whose elements ascend and then descend, or the other way round.
/// Source: Batcher 1968 (bitonic merge).
void merge_bitonic_lanes(LaneBuilder&, std::span<LaneValue> vectors);
/// The lanes of a vector, the last one first.
LaneValue reverse_lanes(LaneBuilder&, LaneValue vector);

}  // namespace millrace
