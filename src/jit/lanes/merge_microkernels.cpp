// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/merge_microkernels.h"

#include <array>
#include <functional>

#include "hal/host/routines/row_sorter.h"
#include "jit/lanes/few_vectors.h"
#include "jit/lanes/sorting_network.h"

namespace millrace {
namespace {

/// Two runs that are merged: the first one has so many vectors, and the second one a power of two.
constexpr int kFirstRun = 1 << (RowSorterCode::kNumFew - 1);
/// The vectors that are whole: a shorter second run has a function of its own.
constexpr int whole_of_merged(int num_vectors) {
  return num_vectors == RowSorterCode::kMergedVectors[0] ? kFirstRun : RowSorterCode::kMergedVectors[0];
}

/// Merges sorted runs that follow one another at `from`, whose first run's memory is used up. Stores vector by vector.
void merge_runs(LaneBuilder& b, int from, int num_vectors, const FewMasks& masks,
                const std::function<void(int vector, LaneValue key)>& store) {
  const int vector_bytes = b.num_lanes() * b.lane_element().bytes;
  // The second run backwards behind the first one is a bitonic run, and so is each half of it after an exchange. What
  // the second run lacks is greatest: the first vectors have no exchange.
  const int first_exchanged = 2 * kFirstRun - num_vectors;
  std::vector<LaneValue> least, greatest;
  for (int i = first_exchanged; i < kFirstRun; ++i) {
    const int last = 2 * kFirstRun - 1 - i;
    const LaneValue low = b.load(from, i * vector_bytes, b.lane_element());
    const LaneValue high =
        reverse_lanes(b, masks.load(from, last * vector_bytes, b.lane_element(), last, b.greatest()));
    b.store(from, i * vector_bytes, b.lane_element(), b.binary(LaneOp::kMin, low, high));
    greatest.push_back(b.binary(LaneOp::kMax, low, high));
  }
  merge_bitonic_lanes(b, greatest);
  for (int i = 0; i < std::ssize(greatest); ++i) store(kFirstRun + i, greatest[static_cast<std::size_t>(i)]);
  for (int i = 0; i < kFirstRun; ++i) least.push_back(b.load(from, i * vector_bytes, b.lane_element()));
  merge_bitonic_lanes(b, least);
  for (int i = 0; i < kFirstRun; ++i) store(i, least[static_cast<std::size_t>(i)]);
}

}  // namespace

MicrokernelCode<MergeFew> merge_few_function(IsaLevel isa, int lane_bits, int num_vectors) {
  enum { kFrom, kTo, kCount };
  LaneBuilder b(isa, lane_bits);
  const FewMasks masks(b, kCount, whole_of_merged(num_vectors));
  merge_runs(b, kFrom, num_vectors, masks, [&](int i, LaneValue key) { store_key(b, kTo, i, key, masks); });
  return {b.finish_with(kTo)};
}

MicrokernelCode<MergeFew> merge_few_results_function(IsaLevel isa, const LaneKeys& keys, SortResult result,
                                                     int num_vectors) {
  enum { kFrom, kResults, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const FewMasks masks(b, kCount, whole_of_merged(num_vectors));
  merge_runs(b, kFrom, num_vectors, masks,
             [&](int i, LaneValue key) { store_result(b, kResults, i, key, keys, result, masks); });
  return {b.finish_with(kResults)};
}

MicrokernelCode<ChangeKeys> exchange_halves_function(IsaLevel isa, int lane_bits) {
  enum { kKeys };
  LaneBuilder b(isa, lane_bits);
  const int vector_bytes = b.num_lanes() * b.lane_element().bytes;
  // Pairs from both ends of both halves are exchanged together: each is stored where the other was.
  for (int i = 0; i < kFirstRun; ++i) {
    const int places[] = {i, 2 * kFirstRun - 1 - i, 2 * kFirstRun + i, 4 * kFirstRun - 1 - i};
    std::array<LaneValue, 4> keys;
    for (std::size_t p = 0; p < 4; ++p) keys[p] = b.load(kKeys, places[p] * vector_bytes, b.lane_element());
    for (const auto& [low, high, to] : {std::array{0, 3, 2}, std::array{1, 2, 3}}) {
      const LaneValue least = keys[static_cast<std::size_t>(low)];
      const LaneValue other = reverse_lanes(b, keys[static_cast<std::size_t>(high)]);
      b.store(kKeys, places[low] * vector_bytes, b.lane_element(), b.binary(LaneOp::kMin, least, other));
      b.store(kKeys, places[to] * vector_bytes, b.lane_element(), b.binary(LaneOp::kMax, least, other));
    }
  }
  return {b.finish_with(kKeys)};
}

MicrokernelCode<ChangeKeys> merge_bitonic_function(IsaLevel isa, int lane_bits) {
  enum { kKeys };
  LaneBuilder b(isa, lane_bits);
  const int vector_bytes = b.num_lanes() * b.lane_element().bytes;
  std::vector<LaneValue> half;
  for (int i = 0; i < kFirstRun; ++i) {
    const LaneValue low = b.load(kKeys, i * vector_bytes, b.lane_element());
    const LaneValue high = b.load(kKeys, (kFirstRun + i) * vector_bytes, b.lane_element());
    b.store(kKeys, i * vector_bytes, b.lane_element(), b.binary(LaneOp::kMin, low, high));
    half.push_back(b.binary(LaneOp::kMax, low, high));
  }
  for (const int first : {kFirstRun, 0}) {
    for (int i = 0; first == 0 && i < kFirstRun; ++i) {
      half[static_cast<std::size_t>(i)] = b.load(kKeys, i * vector_bytes, b.lane_element());
    }
    merge_bitonic_lanes(b, half);
    for (int i = 0; i < kFirstRun; ++i) {
      b.store(kKeys, (first + i) * vector_bytes, b.lane_element(), half[static_cast<std::size_t>(i)]);
    }
  }
  return {b.finish_with(kKeys)};
}

}  // namespace millrace
