// SPDX-License-Identifier: Apache-2.0
// The four kernels of a sort of long rows: cuts, chunks, buckets, and runs of zeros and NaNs.
#include "hal/host/routines/sort/long_sort.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "hal/host/routines/prefetch.h"
#include "hal/host/routines/routine.h"
#include "hal/host/routines/sort/sort_walk.h"

namespace millrace {
namespace {

/// The current row, as the four routines see it.
template <class Key>
class LongRow {
 public:
  LongRow(const void* code, const SortRowsParameters& p, const KernelArgs& args)
      : walk_(code, p, args),
        p_(p),
        args_(args),
        sizes_(args.sizes + SortRowsSizes::kDims + p.num_other_dims * std::int64_t{SortRowsSizes::kPerDim}),
        sorter_(code, p.sorter, walk_.sorter_memory(),
                p.keys_have_index != 0 ? KeyParts::kUpperHalf : KeyParts::kWhole) {}

  /// Chooses the cuts of a row.
  void choose_cuts(std::int64_t row) {
    select_row(row);
    Key* const keys = part_memory();
    const std::int64_t num_samples = num_buckets() > 1 ? num_buckets() * LongSort::kSamplesPerBucket : 0;
    make_sample_keys(keys, num_samples);
    sorter_.sort(keys, keys + num_samples, num_samples, num_samples);
    Key *const cuts = cuts_of_row(), *const pivots = pivots_of_row();
    constexpr std::int64_t kPerBucket = LongSort::kSamplesPerBucket;
    std::int64_t num_cuts = 0;
    for (std::int64_t i = kPerBucket; i < num_samples; i += kPerBucket) {
      pivots[num_cuts] = keys[i - kPerBucket / 2];
      num_cuts = append_cut(cuts, num_cuts, keys[i]);
    }
    if (num_samples > 0) pivots[num_cuts] = keys[num_samples - kPerBucket / 2];
    num_cuts_of_row() = num_cuts;
  }

  /// Makes the keys of a chunk of a row, and divides them into buckets.
  void split_chunk(std::int64_t row, std::int64_t chunk) {
    select_row(row);
    const std::int64_t first = std::min(chunk * chunk_keys(), walk_.n());
    const std::int64_t count = std::min(chunk_keys(), walk_.n() - first);
    Key* const keys = part_memory();
    Key* const other = keys + kPartKeys;
    StridedElements elements = elements_of_row();
    elements.data += first * elements.stride * p_.element_bytes;
    elements.count = count;
    std::uint32_t* const starts = starts_of_chunk(chunk);
    Key* const to = chunk_keys_of_row() + first;
    bool has_special_floats = false;
    if (cuts().empty()) {
      has_special_floats = walk_.make_keys(elements, to, other, first);
      starts[0] = 0;
      starts[1] = static_cast<std::uint32_t>(count);
    } else {
      SplitKeys<Key> split = {keys, other, count, count};
      has_special_floats = walk_.split_elements(elements, RowSorter<Key>::middle_of(cuts()), first, split);
      sorter_.divide(split, cuts(), to, starts);
    }
    starts[num_buckets() + 1] = has_special_floats ? 1 : 0;
  }

  /// Sorts a bucket of a row, and writes the results of its elements.
  void sort_bucket(std::int64_t row, std::int64_t bucket) {
    select_row(row);
    const std::span<const Key> all = cuts();
    if (bucket > std::ssize(all)) return;
    std::int64_t first = 0, count = 0;
    for (std::int64_t chunk = 0; chunk < num_chunks(); ++chunk) {
      const std::uint32_t* const starts = starts_of_chunk(chunk);
      first += starts[bucket];
      count += starts[bucket + 1] - starts[bucket];
    }
    if (count == 0 || first >= walk_.k()) return;
    walk_.narrow_to(first, count);
    const bool fits = count <= kPartKeys;
    Key* const keys = fits ? part_memory() : bucket_keys_of_row() + 2 * first;
    Key* const other = keys + count;
    if (all.empty()) {
      gather(bucket, keys);
      walk_.sort_to_results(elements_of_row(), {keys, other, count, count}, has_special_floats());
    } else if (holds_one_key(bucket)) {
      gather(bucket, keys);
      walk_.write_results(elements_of_row(), keys, has_special_floats());
    } else {
      SplitKeys<Key> split = {keys, other, count, 0};
      split.num_low = split_bucket(bucket, keys, other);
      walk_.sort_to_results(elements_of_row(), split, has_special_floats());
    }
  }

  /// Puts the zeros and the NaNs into the order that they have in the row.
  void restore_runs(std::int64_t row) {
    select_row(row);
    if (has_special_floats()) walk_.restore_runs(elements_of_row(), bucket_keys_of_row());
  }

  std::int64_t num_chunks() const { return sizes_[LongSortSizes::kNumChunks]; }
  std::int64_t num_buckets() const { return sizes_[LongSortSizes::kNumBuckets]; }

 private:
  void select_row(std::int64_t row) {
    row_ = row;
    walk_.select_row(walk_.place_of(row));
  }
  StridedElements elements_of_row() const {
    return {walk_.place(SortTensor::kInput), walk_.stride(SortTensor::kInput), walk_.n()};
  }

  /// Makes the keys of a sample: one element from a pseudorandom place in each of `count` equal pieces of the row.
  void make_sample_keys(Key* keys, std::int64_t count) const {
    const StridedElements elements = elements_of_row();
    const std::int64_t piece = count > 0 ? walk_.n() / count : 0;
    const auto place = [&](std::int64_t i) {
      const std::uint64_t mixed = static_cast<std::uint64_t>(i + 1) * 0x9e37'79b9'7f4a'7c15;
      return i * piece + static_cast<std::int64_t>((mixed >> 32) % static_cast<std::uint64_t>(piece));
    };
    auto* const sample = reinterpret_cast<std::byte*>(keys + 2 * count);
    with_element_size(p_.element_bytes, [&](auto bytes) {
      for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(sample + i * bytes, elements.data + place(i) * elements.stride * bytes, bytes);
      }
    });
    walk_.make_keys({sample, 1, count}, keys, keys + count, 0);
    if (p_.keys_have_index == 0) return;
    // Truncated keys that differ only in their indices must be in the same bucket, so the index in a cut is then 0.
    for (std::int64_t i = 0; i < count; ++i) {
      keys[i] = static_cast<Key>((keys[i] & ~SortWalk<Key>::kIndexMask) | (p_.keys_are_truncated != 0 ? 0 : place(i)));
    }
  }
  /// Appends a cut at `key`, unless there is one already: then `key` is frequent, and gets a second cut right after it.
  std::int64_t append_cut(Key* cuts, std::int64_t num_cuts, Key key) const {
    if (num_cuts == 0 || cuts[num_cuts - 1] < key) {
      cuts[num_cuts] = key;
      return num_cuts + 1;
    }
    const Key step = p_.keys_are_truncated != 0 ? static_cast<Key>(SortWalk<Key>::kIndexMask + 1) : 1;
    if (cuts[num_cuts - 1] > key || key > std::numeric_limits<Key>::max() - step) return num_cuts;
    cuts[num_cuts] = key + step;
    return num_cuts + 1;
  }

  bool holds_one_key(std::int64_t bucket) const {
    const std::span<const Key> all = cuts();
    if (bucket == 0 || bucket == std::ssize(all)) return false;
    return all[static_cast<std::size_t>(bucket)] - 1 == all[static_cast<std::size_t>(bucket - 1)];
  }
  bool has_special_floats() const {
    bool has = false;
    for (std::int64_t chunk = 0; chunk < num_chunks(); ++chunk) has |= starts_of_chunk(chunk)[num_buckets() + 1] != 0;
    return has;
  }
  /// The keys of a bucket that come from one chunk.
  std::span<const Key> piece_of(std::int64_t bucket, std::int64_t chunk) const {
    const std::uint32_t* const starts = starts_of_chunk(chunk);
    return {chunk_keys_of_row() + chunk * chunk_keys() + starts[bucket], starts[bucket + 1] - starts[bucket]};
  }
  /// Copies a bucket's keys from all chunks, which keeps their order.
  void gather(std::int64_t bucket, Key* to) const {
    for (std::int64_t chunk = 0; chunk < num_chunks(); ++chunk) to = std::ranges::copy(piece_of(bucket, chunk), to).out;
  }
  void prefetch_piece(std::int64_t bucket, std::int64_t chunk) const {
    constexpr std::ptrdiff_t kMaxBytes = 4096;  // after these, the hardware prefetcher takes over
    if (chunk >= num_chunks()) return;
    const std::span<const Key> piece = piece_of(bucket, chunk);
    prefetch_to_read(piece.data(), std::min(std::ssize(piece) * std::ptrdiff_t{sizeof(Key)}, kMaxBytes));
  }
  /// Copies a bucket's keys from all chunks, and splits them at its pivot. Returns the number of keys in the lower
  /// part.
  std::int64_t split_bucket(std::int64_t bucket, Key* low, Key* high) {
    const Key pivot = pivots_of_row()[bucket];
    constexpr std::int64_t kPiecesAhead = 4;  // several hundred ns of work, if pieces have several hundred keys
    for (std::int64_t chunk = 0; chunk < kPiecesAhead; ++chunk) prefetch_piece(bucket, chunk);
    Key* const first_low = low;
    for (std::int64_t chunk = 0; chunk < num_chunks(); ++chunk) {
      prefetch_piece(bucket, chunk + kPiecesAhead);
      const std::span<const Key> piece = piece_of(bucket, chunk);
      const std::int64_t num_low = sorter_.split(piece.data(), std::ssize(piece), pivot, low, high);
      low += num_low;
      high += std::ssize(piece) - num_low;
    }
    return low - first_low;
  }

  static constexpr std::int64_t kPartKeys = LongSort::kPartBytes / std::int64_t{sizeof(Key)};
  std::int64_t chunk_keys() const { return LongSort::chunk_keys(walk_.n(), num_chunks()); }
  Key* part_memory() const {
    return reinterpret_cast<Key*>(walk_.workgroup_memory() + SortRowsParameters::kFixedBytes);
  }
  std::byte* scratch(LongSortScratch which) const {
    return static_cast<std::byte*>(args_.buffers[1 + p_.has_values + p_.has_indices + static_cast<int>(which)]);
  }
  std::int64_t& num_cuts_of_row() const {
    return *reinterpret_cast<std::int64_t*>(scratch(LongSortScratch::kCuts) + row_ * LongSort::kCutBytes);
  }
  Key* cuts_of_row() const { return reinterpret_cast<Key*>(&num_cuts_of_row() + 1); }
  Key* pivots_of_row() const { return cuts_of_row() + LongSort::kMaxBuckets - 1; }
  std::span<const Key> cuts() const { return {cuts_of_row(), static_cast<std::size_t>(num_cuts_of_row())}; }
  std::uint32_t* starts_of_chunk(std::int64_t chunk) const {
    return reinterpret_cast<std::uint32_t*>(scratch(LongSortScratch::kStarts)) +
           (row_ * num_chunks() + chunk) * (num_buckets() + LongSort::kExtraStarts);
  }
  Key* chunk_keys_of_row() const {
    return reinterpret_cast<Key*>(scratch(LongSortScratch::kChunkKeys)) + row_ * walk_.n();
  }
  Key* bucket_keys_of_row() const {
    return reinterpret_cast<Key*>(scratch(LongSortScratch::kBucketKeys)) + row_ * 2 * walk_.n();
  }

  SortWalk<Key> walk_;
  const SortRowsParameters& p_;
  const KernelArgs& args_;
  const std::int64_t* sizes_;
  RowSorter<Key> sorter_;
  std::int64_t row_ = 0;
};

static_assert((1 + (LongSort::kMaxBuckets - 1) + LongSort::kMaxBuckets) * 8 <= LongSort::kCutBytes);
static_assert(LongSort::kMaxBuckets * LongSort::kSamplesPerBucket * 3 * 8 <= 2 * LongSort::kPartBytes);

/// Calls run(row, group) for each group, with a LongRow.
template <class Run>
void for_groups(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
                std::uint32_t first_group, std::uint32_t end_group, const Run& run) {
  const auto& p = parameters_of<SortRowsParameters>(parameters);
  const auto run_all = [&]<class Key>(Key) {
    LongRow<Key> row(code, p, *args);
    for (std::uint32_t group = first_group; group < end_group; ++group) run(row, group);
  };
  p.key_bytes == 8 ? run_all(std::int64_t{}) : run_all(std::int32_t{});
}

}  // namespace

void choose_cuts(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
                 std::uint32_t first_group, std::uint32_t end_group) {
  for_groups(code, parameters, args, first_group, end_group,
             [](auto& row, std::int64_t group) { row.choose_cuts(group); });
}

void split_chunks(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
                  std::uint32_t first_group, std::uint32_t end_group) {
  for_groups(code, parameters, args, first_group, end_group, [](auto& row, std::int64_t group) {
    row.split_chunk(group / row.num_chunks(), group % row.num_chunks());
  });
}

void sort_buckets(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
                  std::uint32_t first_group, std::uint32_t end_group) {
  for_groups(code, parameters, args, first_group, end_group, [](auto& row, std::int64_t group) {
    row.sort_bucket(group / row.num_buckets(), group % row.num_buckets());
  });
}

void restore_runs(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
                  std::uint32_t first_group, std::uint32_t end_group) {
  for_groups(code, parameters, args, first_group, end_group,
             [](auto& row, std::int64_t group) { row.restore_runs(group); });
}

}  // namespace millrace
