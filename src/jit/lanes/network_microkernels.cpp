// SPDX-License-Identifier: Apache-2.0
// Builds the microkernels that sort and merge a few vectors in registers.
#include "jit/lanes/network_microkernels.h"

#include <array>
#include <bit>
#include <optional>
#include <span>

#include "jit/lanes/sorting_network.h"

namespace millrace {
namespace {

/// The masks of a few vectors whose first `count` lanes are in use. The first `num_whole` vectors are fully used.
class TailMasks {
 public:
  TailMasks(LaneBuilder& b, int count, int num_whole) : b_(b), count_(b.broadcast(count)), num_whole_(num_whole) {}

  LaneValue of(int vector) const {
    if (vector < num_whole_) return kNoLaneValue;
    const LaneValue position = b_.binary(LaneOp::kAdd, b_.numbers(), b_.constant(vector * b_.num_lanes()));
    return b_.binary(LaneOp::kLess, position, count_);
  }
  /// The number of lanes in use from `vector` on. kNoLaneValue if store_indices() does not read the number: emitters do
  /// not eliminate unused values, so the number is not computed then.
  LaneValue count_from(int vector) const {
    if (b_.lane_bits() == 64 || vector < num_whole_) return kNoLaneValue;
    return b_.binary(LaneOp::kAdd, count_, b_.constant(-vector * b_.num_lanes()));
  }
  LaneValue load(int pointer, int vector, LaneElement element, LaneValue others) const {
    return b_.load_masked(pointer, vector * b_.vector_bytes(element), element, of(vector), others);
  }

 private:
  LaneBuilder& b_;
  LaneValue count_;
  int num_whole_;
};

/// Stores sorted keys, or the results made from them.
class KeyWriter {
 public:
  /// If `keys` is null, stores the sorted keys themselves.
  KeyWriter(LaneBuilder& b, int pointer, const TailMasks& masks, const LaneKeys* keys)
      : b_(b), pointer_(pointer), masks_(masks), keys_(keys) {}

  /// Stores the vectors from index `i` on.
  void store_from(int i, std::span<const LaneValue> keys) const {
    for (const LaneValue key : keys) store(i++, key);
  }

 private:
  void store(int i, LaneValue key) const {
    if (keys_ == nullptr) {
      b_.store(pointer_, i * b_.vector_bytes(), key, masks_.of(i));
    } else if (keys_->with_index) {
      const std::int32_t offset = i * b_.num_lanes() * kIndexBytes;
      store_indices(b_, pointer_, offset, key, *keys_, masks_.of(i), masks_.count_from(i));
    } else {
      const LaneElement element = element_of(keys_->dtype);
      b_.store(pointer_, i * b_.vector_bytes(element), element, value_of(b_, key, *keys_), masks_.of(i));
    }
  }

  LaneBuilder& b_;
  int pointer_;
  const TailMasks& masks_;
  const LaneKeys* keys_;
};

/// Sorts keys, and stores them or, if `keys` is not null, the results made from them.
MicrokernelCode<SortInRegisters> sort_in_registers(IsaLevel isa, int lane_bits, const LaneKeys* keys, int num_vectors) {
  enum { kFrom, kTo, kCount };
  LaneBuilder b(isa, lane_bits);
  const TailMasks masks(b, kCount, num_vectors / 2);
  std::vector<LaneValue> vectors;
  for (int i = 0; i < num_vectors; ++i) vectors.push_back(masks.load(kFrom, i, b.lane_element(), b.greatest()));
  sort_lanes(b, vectors);
  KeyWriter(b, kTo, masks, keys).store_from(0, vectors);
  return {b.finish_with(kTo)};
}

/// The number of vectors in the first of two merged runs. The second run is at most as long. Its length is also a power
/// of two.
constexpr int kFirstRun = 1 << (RowSorterCode::kNumNetworks - 1);

std::vector<LaneValue> load_vectors(LaneBuilder& b, int pointer, int first, int count) {
  std::vector<LaneValue> vectors;
  for (int i = first; i < first + count; ++i) vectors.push_back(b.load(pointer, i * b.vector_bytes()));
  return vectors;
}

/// Merges two adjacent sorted runs of `num_vectors` vectors in total. Overwrites the first run.
MicrokernelCode<MergeRuns> merge_runs(IsaLevel isa, int lane_bits, const LaneKeys* keys, int num_vectors) {
  enum { kFrom, kTo, kCount };
  LaneBuilder b(isa, lane_bits);
  // Two runs with at most this many vectors in total have their own merge function.
  constexpr int kFewer = RowSorterCode::kMergedVectors[0];
  const TailMasks masks(b, kCount, num_vectors == kFewer ? kFirstRun : kFewer);
  const KeyWriter writer(b, kTo, masks, keys);
  // The first run followed by the second one in reverse is bitonic, and so is each half after an exchange. A shorter
  // second run is padded with the greatest key, so that the first vectors need no exchange.
  std::vector<LaneValue> greater;
  for (int i = 2 * kFirstRun - num_vectors; i < kFirstRun; ++i) {
    const LaneValue low = b.load(kFrom, i * b.vector_bytes());
    const LaneValue high = reverse_lanes(b, masks.load(kFrom, 2 * kFirstRun - 1 - i, b.lane_element(), b.greatest()));
    b.store(kFrom, i * b.vector_bytes(), b.binary(LaneOp::kMin, low, high));
    greater.push_back(b.binary(LaneOp::kMax, low, high));
  }
  merge_bitonic_lanes(b, greater);
  writer.store_from(kFirstRun, greater);
  std::vector<LaneValue> lesser = load_vectors(b, kFrom, 0, kFirstRun);
  merge_bitonic_lanes(b, lesser);
  writer.store_from(0, lesser);
  return {b.finish_with(kTo)};
}

/// Moves the smaller half of all keys of two sorted runs to the first run. Each run has 32 vectors, and becomes
/// bitonic.
MicrokernelCode<ChangeKeys> exchange_halves(IsaLevel isa, int lane_bits) {
  enum { kKeys };
  LaneBuilder b(isa, lane_bits);
  // Each iteration handles one vector from each end of both runs, because a result may be stored in the place of
  // another of these four.
  for (int i = 0; i < kFirstRun; ++i) {
    const int places[] = {i, 2 * kFirstRun - 1 - i, 2 * kFirstRun + i, 4 * kFirstRun - 1 - i};
    std::array<LaneValue, 4> keys;
    for (std::size_t p = 0; p < 4; ++p) keys[p] = b.load(kKeys, places[p] * b.vector_bytes());
    for (const auto& [low, high, to] : {std::array{0, 3, 2}, std::array{1, 2, 3}}) {
      const LaneValue first = keys[static_cast<std::size_t>(low)];
      const LaneValue other = reverse_lanes(b, keys[static_cast<std::size_t>(high)]);
      b.store(kKeys, places[low] * b.vector_bytes(), b.binary(LaneOp::kMin, first, other));
      b.store(kKeys, places[to] * b.vector_bytes(), b.binary(LaneOp::kMax, first, other));
    }
  }
  return {b.finish_with(kKeys)};
}

/// Sorts 32 bitonic vectors.
MicrokernelCode<ChangeKeys> merge_bitonic(IsaLevel isa, int lane_bits) {
  enum { kKeys };
  LaneBuilder b(isa, lane_bits);
  std::vector<LaneValue> greater;
  for (int i = 0; i < kFirstRun; ++i) {
    const LaneValue low = b.load(kKeys, i * b.vector_bytes());
    const LaneValue high = b.load(kKeys, (kFirstRun + i) * b.vector_bytes());
    b.store(kKeys, i * b.vector_bytes(), b.binary(LaneOp::kMin, low, high));
    greater.push_back(b.binary(LaneOp::kMax, low, high));
  }
  const auto merge = [&](int first, std::vector<LaneValue> half) {
    merge_bitonic_lanes(b, half);
    for (const LaneValue keys : half) b.store(kKeys, first++ * b.vector_bytes(), keys);
  };
  merge(kFirstRun, std::move(greater));
  merge(0, load_vectors(b, kKeys, 0, kFirstRun));
  return {b.finish_with(kKeys)};
}

/// Sorts a row in registers: loads its elements, and stores the sorted values, or their indices if `keys` have indices.
LaneFunction sort_row(IsaLevel isa, const LaneKeys& keys, int num_elements) {
  enum { kRow, kResults, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const int num_lanes = b.num_lanes(), num_needed = (num_elements + num_lanes - 1) / num_lanes;
  const TailMasks masks(b, kCount, num_elements / num_lanes);
  const LaneElement element = element_of(keys.dtype);
  std::optional<SpecialFloats> special;
  if (is_float(keys.dtype) && !keys.with_index) special.emplace(b, keys.dtype);
  std::vector<LaneValue> vectors;
  for (int i = 0; i < static_cast<int>(std::bit_ceil(static_cast<unsigned>(num_needed))); ++i) {
    const LaneValue x = masks.load(kRow, i, element, b.constant(0));
    LaneValue key = kNoLaneValue;
    if (keys.with_index) {
      const LaneValue index = b.binary(LaneOp::kAdd, b.numbers(), b.constant(i * num_lanes));
      key = with_index(b, exact_key(b, x, keys, kNoLaneValue), index, keys);
    } else {
      if (special) special->add(x);
      key = coarse_key(b, x, keys.coarse());
    }
    const LaneValue mask = masks.of(i);
    vectors.push_back(mask == kNoLaneValue ? key : b.select(mask, key, b.greatest()));
  }
  const LaneValue found = special ? special->found() : b.constant(0);
  sort_lanes(b, vectors);
  if (keys.with_index) {
    KeyWriter(b, kResults, masks, &keys).store_from(0, vectors);
    return b.finish_with(kResults);
  }
  for (int i = 0; i < std::ssize(vectors); ++i) {
    const LaneValue value = element_of_coarse(b, vectors[static_cast<std::size_t>(i)], keys.coarse());
    b.store(kResults, i * b.vector_bytes(element), element, value, masks.of(i));
  }
  return b.finish_with_any(found);
}

/// Appends the functions that RowSorterCode and SortedWriter have in common.
template <class Code>
void append_all(Code& code, const MicrokernelSink& sink, int lane_bits, const LaneKeys* keys,
                const SorterFunctions& functions) {
  for (std::size_t i = functions.first; i < functions.end; ++i) {
    code.sort_in_registers[i] = sink.append(sort_in_registers(sink.isa, lane_bits, keys, 1 << i));
  }
  for (std::size_t i = 0; functions.merges && i < RowSorterCode::kNumMerges; ++i) {
    code.merge_runs[i] = sink.append(merge_runs(sink.isa, lane_bits, keys, RowSorterCode::kMergedVectors[i]));
  }
}

}  // namespace

void append_networks(RowSorterCode& code, const MicrokernelSink& sink, int lane_bits,
                     const SorterFunctions& functions) {
  append_all(code, sink, lane_bits, nullptr, functions);
  if (!functions.merges) return;
  code.exchange_halves = sink.append(exchange_halves(sink.isa, lane_bits));
  code.merge_bitonic = sink.append(merge_bitonic(sink.isa, lane_bits));
}

void append_networks(SortedWriter& writer, const MicrokernelSink& sink, const LaneKeys& keys) {
  append_all(writer, sink, keys.lane_bits(), &keys, SorterFunctions{});
}

void append_row_networks(SortRowsParameters& p, const MicrokernelSink& sink, const LaneKeys& keys,
                         std::int64_t num_elements) {
  const LaneFunction sort = sort_row(sink.isa, keys, static_cast<int>(num_elements));
  if (keys.with_index) {
    p.sort_indices = sink.append(MicrokernelCode<SortIndices>{sort});
  } else {
    p.sort_values = sink.append(MicrokernelCode<SortValues>{sort});
  }
}

}  // namespace millrace
