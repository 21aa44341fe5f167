// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "hal/host/routines/microkernel.h"

namespace millrace {

/// Microkernels for keys of one width. Unneeded ones are absent.
struct RowSorterCode {
  static constexpr std::size_t kNumNetworks = 5;     // for up to 1, 2, 4, 8 and 16 vectors
  static constexpr int kMergedVectors[] = {24, 32};  // the maximum number of vectors of each merge function
  static constexpr std::size_t kNumMerges = std::size(kMergedVectors);
  std::int64_t num_lanes;
  Microkernels<SortInRegisters, kNumNetworks> sort_in_registers;
  Microkernels<MergeRuns, kNumMerges> merge_runs;
  Microkernel<ChangeKeys> exchange_halves, merge_bitonic;
  Microkernel<PartitionKeys> partition_less, partition_at_most;

  std::int64_t max_network_keys() const { return num_lanes << (kNumNetworks - 1); }
  /// The maximum number of keys that merge_runs merges; exchange_halves and merge_bitonic merge twice as many.
  std::int64_t max_merged() const { return 2 * max_network_keys(); }
  std::int64_t max_short() const { return 2 * max_merged(); }
};

/// Microkernels that write contiguous results.
struct SortedWriter {
  Microkernels<SortInRegisters, RowSorterCode::kNumNetworks> sort_in_registers;  // like RowSorterCode's, to results
  Microkernels<MergeRuns, RowSorterCode::kNumMerges> merge_runs;                 // like RowSorterCode's, to results
  Microkernel<WriteFromKeys> write;
  std::int64_t result_bytes;
  std::int64_t writes_indices;  // whether the results are the indices in the keys
};

/// Keys that are split: the lower ones are at `keys`, and the others at `other`. Both have room for all keys.
template <class Key>
struct SplitKeys {
  Key* keys;
  Key* other;
  std::int64_t count, num_low;
};

/// The memory of one call, in addition to the keys.
struct RowSorterMemory {
  static constexpr std::int64_t kMaxVectorBytes = 64;
  static constexpr std::int64_t kSampleBytes = (4 << (RowSorterCode::kNumNetworks - 1)) * kMaxVectorBytes;
  static constexpr std::int64_t kCountBytes = 20 << 10;
  std::byte* sample;  // kSampleBytes; also for merging four runs
  std::byte* counts;  // kCountBytes
};

/// Which part of a key orders its element: the whole key, or only the upper half, with an index in the lower half.
enum class KeyParts : std::uint8_t { kWhole, kUpperHalf };  // indices ascend before the sort

/// Sorts signed keys of 32 or 64 bits by vectors: partitions at a sampled median between two arrays, sorts up to 16
/// vectors by networks in registers, and merges up to four such runs. Keys equal to a low pivot are split off together.
/// If samples mislead, a radix sort takes over, so that the time is O(n log n) for all keys. With narrow vectors, keys
/// with an index in the lower half are sorted by the digits of the upper half once they are few enough: partitions are
/// stable, so keys with equal upper halves stay in index order. Source: Hoare, "Quicksort", 1962; Musser,
/// "Introspective sorting and selection algorithms", 1997.
template <class Key>
class RowSorter {
 public:
  RowSorter(const void* entry, const RowSorterCode& code, const RowSorterMemory& memory,
            KeyParts parts = KeyParts::kWhole)
      : entry_(entry), code_(code), memory_(memory), parts_(parts) {}

  /// Whether the keys after the wanted ones are kept, in any order.
  enum class Rest { kDiscarded, kKept };

  /// Sorts `count` keys so that the first `wanted` are in their places. `other` has room for `count` keys.
  void sort(Key* keys, Key* other, std::int64_t count, std::int64_t wanted, Rest rest = Rest::kDiscarded) {
    sort({keys, other, count, count}, wanted, rest);
  }

  /// Sorts keys that are already split.
  void sort(const SplitKeys<Key>& keys, std::int64_t wanted, Rest rest = Rest::kDiscarded);

  /// Sorts, and writes the results of the first `wanted` keys, each part as soon as it is sorted, which saves a pass.
  /// The keys are lost.
  void sort_to(const SplitKeys<Key>& keys, std::int64_t wanted, const SortedWriter& writer, std::byte* results);

  /// Sorts `count` keys, at most RowSorterCode::max_network_keys().
  void sort_in_registers(const Key* from, Key* to, std::int64_t count);

  /// Chooses the pivot for a row of `count` keys. take(place, to) writes the keys of the vector at that place of the
  /// row to `to`.
  template <class Take>
  Key choose_pivot(std::int64_t count, const Take& take) {
    const std::int64_t wanted_samples = count < kMinForManySamples ? kFewSamples : kManySamples;
    const std::size_t network = network_of(std::min(wanted_samples, code_.max_network_keys()));
    const std::int64_t num_vectors = std::int64_t{1} << network, stride = count / num_vectors;
    Key* const sample = reinterpret_cast<Key*>(memory_.sample);
    for (std::int64_t i = 0; i < num_vectors; ++i) {
      take(i * stride + (stride - code_.num_lanes) / 2, sample + i * code_.num_lanes);
    }
    const std::int64_t num_samples = num_vectors * code_.num_lanes;
    at(code_.sort_in_registers[network])(sample, sample, num_samples);
    return sample[num_samples / 2];
  }

  /// Whether `count` keys, all of them wanted, are sorted by digits without being split first.
  bool prefers_digits(std::int64_t count) const;

  /// Splits keys from a separate array: appends the keys below the pivot to `low`, and the others to `high`. Returns
  /// the number of keys below the pivot.
  std::int64_t split(const Key* from, std::int64_t count, Key pivot, Key* low, Key* high);

  /// Divides keys, already split at the middle cut, into buckets. Cut i separates bucket i from bucket i + 1, which has
  /// the keys that are at least the cut. Writes the buckets, one after the other, to `to`, which does not overlap the
  /// keys; keeps the order within a bucket. Writes the start of each bucket, and the end of the last, to `starts`.
  /// Precondition: at least one cut; cuts ascend and differ.
  void divide(const SplitKeys<Key>& keys, std::span<const Key> cuts, Key* to, std::uint32_t* starts);
  static Key middle_of(std::span<const Key> cuts) { return cuts[cuts.size() / 2]; }

  /// The number of keys that all calls read, as a measure of work.
  std::int64_t keys_read() const { return keys_read_; }

 private:
  /// Keys that belong to places [first, first + count) of the row. They are at `place` or at `other`.
  struct Part {
    Key* place;
    Key* other;
    std::int64_t count;
    std::int64_t first;
    bool is_in_place;
    std::int32_t bad_splits_left;

    Key* data() const { return is_in_place ? place : other; }
  };

  static constexpr std::int64_t kMinForManySamples = 4096, kFewSamples = 32, kManySamples = 128;

  template <class Function>
  Function at(Microkernel<Function> microkernel) const {
    return microkernel.at(entry_);
  }
  std::size_t network_of(std::int64_t count) const;
  /// Sorts at most RowSorterCode::max_short() keys, and writes them to `to`; with a SortedWriter, writes their results
  /// instead. The keys at `from` are lost.
  template <class Code>
  void sort_short(const Code&, Key* from, void* to, std::int64_t count);
  void write_short(const RowSorterCode&, const Key* keys, void* to, std::int64_t count) const {
    std::copy_n(keys, count, static_cast<Key*>(to));
  }
  void write_short(const SortedWriter& writer, const Key* keys, void* to, std::int64_t count) const {
    at(writer.write)(keys, to, count);
  }
  /// Sorts a part that is not divided further.
  void finish(const Part&, std::int64_t wanted, Rest rest);
  /// If there is a writer, writes the results of `count` keys to their places from `first` on.
  void write(const Key* keys, std::int64_t first, std::int64_t count, std::int64_t wanted);
  /// A radix sort, lowest digit first.
  void sort_by_all_digits(const Part&);
  /// A radix sort of keys with an index in the lower half; also writes their results.
  void sort_by_upper_digits(const Part&, std::int64_t wanted);
  /// Splits off the keys that `partition` selects.
  std::int64_t split(const Part&, Microkernel<PartitionKeys> partition, Key pivot);
  /// The steps of divide(): divide_split() takes a part that is already split at the middle cut, divide_part() one that
  /// is not. Both write the start of the part's first bucket to starts[0].
  void divide_split(const Part&, std::int64_t num_low, std::span<const Key> cuts, Key* to, std::uint32_t* starts);
  void divide_part(const Part&, std::span<const Key> cuts, Key* to, std::uint32_t* starts);
  static Part low_part(const Part& part, std::int64_t num_low);
  static Part high_part(const Part& part, std::int64_t num_low);

  const void* entry_;
  const RowSorterCode& code_;
  RowSorterMemory memory_;
  KeyParts parts_;
  std::int64_t keys_read_ = 0;
  const SortedWriter* writer_ = nullptr;  // while results are written
  std::byte* results_ = nullptr;
};

extern template class RowSorter<std::int32_t>;
extern template class RowSorter<std::int64_t>;

}  // namespace millrace
