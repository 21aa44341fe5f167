// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/sorting_network.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "jit/lanes/bitonic_network.h"

namespace millrace {
namespace {

void compare(LaneBuilder& b, LaneValue& low, LaneValue& high) {
  const LaneValue least = b.binary(LaneOp::kMin, low, high);
  high = b.binary(LaneOp::kMax, low, high);
  low = least;
}

/// Merges two sorted runs that follow one another. Elements from `num_elements` on are not compared.
void add_merge(std::vector<Comparator>& comparators, int begin, int run, int num_elements) {
  const int end = std::min(begin + 2 * run, num_elements);
  for (int distance = run; distance >= 1; distance /= 2) {
    for (int first = begin + distance % run; first + distance < end; first += 2 * distance) {
      for (int i = first; i < first + distance && i + distance < end; ++i) comparators.push_back({i, i + distance});
    }
  }
}

int bits_for(std::int64_t count) { return std::countr_zero(static_cast<std::uint64_t>(count)); }

}  // namespace

std::vector<Comparator> sorting_network(int num_elements) {
  std::vector<Comparator> comparators;
  const int size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(num_elements)));
  // Two runs are merged as soon as both are sorted: registers hold few of them.
  for (int end = 2; end <= size; end += 2) {
    for (int run = 1; end % (2 * run) == 0; run *= 2) add_merge(comparators, end - 2 * run, run, num_elements);
  }
  return comparators;
}

void sort_lanes(LaneBuilder& b, std::span<LaneValue> vectors) {
  for (const Comparator& comparator : sorting_network(static_cast<int>(vectors.size()))) {
    compare(b, vectors[static_cast<std::size_t>(comparator.low)], vectors[static_cast<std::size_t>(comparator.high)]);
  }
  const int vector_bits = bits_for(std::ssize(vectors)), lane_bits = bits_for(b.num_lanes());
  // Columns have the lowest bits. Those of lanes may be in any order, unless there is one vector, which stays as it is:
  // in this one, vectors of AVX2 come home soonest.
  const int first_lane_bit = vector_bits > 0 ? 2 : 0;
  std::vector<int> places;
  for (int place = 0; place < lane_bits; ++place) places.push_back(vector_bits + (place + first_lane_bit) % lane_bits);
  for (int place = 0; place < vector_bits; ++place) places.push_back(place);
  BitonicNetwork network(b, vectors, std::move(places));
  for (int bit = vector_bits; bit < vector_bits + lane_bits; ++bit) {
    network.compare_mirrored(bit);
    for (int lower = bit - 1; lower >= 0; --lower) network.compare(lower);
  }
  network.finish();
}

void merge_bitonic_lanes(LaneBuilder& b, std::span<LaneValue> vectors) {
  const int num_bits = bits_for(std::ssize(vectors)) + bits_for(b.num_lanes());
  std::vector<int> places(static_cast<std::size_t>(num_bits));
  std::iota(places.begin(), places.end(), 0);
  BitonicNetwork network(b, vectors, std::move(places));
  for (int bit = num_bits - 1; bit >= 0; --bit) network.compare(bit);
  network.finish();
}

LaneValue reverse_lanes(LaneBuilder& b, LaneValue vector) {
  return b.unary(LaneOp::kXorLanes, vector, b.num_lanes() - 1);
}

}  // namespace millrace
