// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/sorting_network.h"

namespace millrace {
namespace {

void compare(LaneBuilder& b, LaneValue& low, LaneValue& high) {
  const LaneValue least = b.binary(LaneOp::kMin, low, high);
  high = b.binary(LaneOp::kMax, low, high);
  low = least;
}

/// The lanes whose number has the bit `distance`: in an exchange of lanes that far apart, they keep the greater.
std::uint64_t upper_lanes(int num_lanes, int distance) {
  std::uint64_t lanes = 0;
  for (int lane = 0; lane < num_lanes; ++lane) {
    if ((lane & distance) != 0) lanes |= std::uint64_t{1} << lane;
  }
  return lanes;
}

/// Exchanges each lane with the one that is `distance` apart, so that the lower lane has the smaller element.
void compare_lanes(LaneBuilder& b, LaneValue& vector, int distance) {
  const LaneValue other = b.unary(LaneOp::kXorLanes, vector, distance);
  vector = b.exchange(vector, other, upper_lanes(b.num_lanes(), distance));
}

/// Merges across vectors: a bitonic run in the same lanes of all of them.
void merge_across(LaneBuilder& b, std::span<LaneValue> vectors) {
  for (std::size_t distance = vectors.size() / 2; distance > 0; distance /= 2) {
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      if ((i & distance) == 0) compare(b, vectors[i], vectors[i + distance]);
    }
  }
}

/// Merges neighbouring runs of `columns` sorted columns to runs of twice as many. A run goes down its first column,
/// then down the second, and so on.
void merge_columns(LaneBuilder& b, std::span<LaneValue> vectors, int columns) {
  const int rows = static_cast<int>(vectors.size());
  const auto row = [&](int i) -> LaneValue& { return vectors[static_cast<std::size_t>(i)]; };
  // The first run ascending and the second one backwards are one bitonic run.
  const std::vector<LaneValue> before(vectors.begin(), vectors.end());
  for (int i = 0; i < rows; ++i) {
    const LaneValue other = b.unary(LaneOp::kXorLanes, before[static_cast<std::size_t>(rows - 1 - i)], 2 * columns - 1);
    row(i) = b.exchange(before[static_cast<std::size_t>(i)], other, upper_lanes(b.num_lanes(), columns));
  }
  for (int distance = columns / 2; distance > 0; distance /= 2) {
    for (LaneValue& vector : vectors) compare_lanes(b, vector, distance);
  }
  merge_across(b, vectors);
}

/// Turns columns into rows: each round rotates the bits of every element's position by one.
void turn_columns(LaneBuilder& b, std::span<LaneValue> vectors) {
  const std::size_t half = vectors.size() / 2;
  for (std::size_t round = 1; round < vectors.size(); round *= 2) {
    const std::vector<LaneValue> before(vectors.begin(), vectors.end());
    for (std::size_t i = 0; i < half; ++i) {
      vectors[2 * i] = b.binary(LaneOp::kInterleaveLow, before[i], before[i + half]);
      vectors[2 * i + 1] = b.binary(LaneOp::kInterleaveHigh, before[i], before[i + half]);
    }
  }
}

}  // namespace

std::vector<Comparator> sorting_network(int num_elements) {
  std::vector<Comparator> comparators;
  for (int run = 1; run < num_elements; run *= 2) {
    for (int distance = run; distance >= 1; distance /= 2) {
      for (int first = distance % run; first + distance < num_elements; first += 2 * distance) {
        for (int i = first; i < first + distance && i + distance < num_elements; ++i) {
          if (i / (2 * run) == (i + distance) / (2 * run)) comparators.push_back({i, i + distance});
        }
      }
    }
  }
  return comparators;
}

void sort_lanes(LaneBuilder& b, std::span<LaneValue> vectors) {
  for (const Comparator& comparator : sorting_network(static_cast<int>(vectors.size()))) {
    compare(b, vectors[static_cast<std::size_t>(comparator.low)], vectors[static_cast<std::size_t>(comparator.high)]);
  }
  for (int columns = 1; columns < b.num_lanes(); columns *= 2) merge_columns(b, vectors, columns);
  turn_columns(b, vectors);
}

void merge_bitonic_lanes(LaneBuilder& b, std::span<LaneValue> vectors) {
  merge_across(b, vectors);
  for (int distance = b.num_lanes() / 2; distance > 0; distance /= 2) {
    for (LaneValue& vector : vectors) compare_lanes(b, vector, distance);
  }
}

LaneValue reverse_lanes(LaneBuilder& b, LaneValue vector) {
  return b.unary(LaneOp::kXorLanes, vector, b.num_lanes() - 1);
}

}  // namespace millrace
