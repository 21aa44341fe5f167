// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "hal/host/routines/sort/sort_rows.h"

namespace millrace {

// A sort of long rows by a sequence of kernels. Each kernel can use as many threads as it has groups:
//   1. choose_cuts, a group per row: cuts from a sorted sample divide the keys into buckets of about equal size;
//   2. split_chunks, a group per chunk of a row: makes the chunk's keys and puts them in the order of the buckets;
//   3. sort_buckets, a group per bucket of a row: gathers its keys from all chunks, sorts them, writes results;
//   4. restore_runs, a group per row, only for values of floats: puts zeros and NaNs into the row's order.
// Chunks are long, so that the pieces that buckets gather from them span pages. A long row has at least 32 chunks, and
// each can have its own thread. Buckets of mean size fit into an L2 cache of 1 MiB, so memory is read and written only
// twice. The numbers of chunks and buckets depend on sizes alone.
// Source: Frazer & McKellar, "Samplesort: a sampling approach to minimal storage tree sorting", JACM 17(3), 1970.

struct LongSort {
  /// The minimum number of keys in a chunk, and the mean in a bucket. If this is larger, a thread that the system stops
  /// delays the others for longer. If it is smaller, there are more and shorter pieces to gather. Keys with an index in
  /// their lower half are sorted by digits, whose tables cost more in a small bucket.
  static constexpr std::int64_t part_keys(bool with_index) { return with_index ? 48 << 10 : 32 << 10; }
  /// A short row has chunks of part_keys(). A longer one has kFewChunks, and the chunks grow with the row. Once they
  /// reach kPartBytes, their number grows instead. A part of workgroup memory has kPartBytes, which is also the size of
  /// the largest bucket that is sorted there.
  static constexpr std::int64_t kPartBytes = 1536 << 10, kFewChunks = 32;
  static constexpr std::int64_t kMaxBuckets = 512;
  /// The number of samples per bucket: enough that few buckets are larger than 1.5 times the mean.
  static constexpr std::int64_t kSamplesPerBucket = 32;
  static constexpr std::int64_t kWorkgroupBytes = SortRowsParameters::kFixedBytes + 2 * kPartBytes;
  /// The bytes of a row's cuts: their number, the cuts, and the first pivot of each bucket, all stored as keys.
  static constexpr std::int64_t kCutBytes = 2 * kMaxBuckets * 8;
  /// What a chunk stores after the starts of its buckets: the end of the last bucket, and whether the chunk has a -0 or
  /// a NaN.
  static constexpr std::int64_t kExtraStarts = 2;

  /// The number of keys in every chunk except the last; a multiple of a vector.
  static constexpr std::int64_t chunk_keys(std::int64_t n, std::int64_t num_chunks) {
    constexpr std::int64_t kVectorKeys = 16;
    return ((n + num_chunks - 1) / num_chunks + kVectorKeys - 1) / kVectorKeys * kVectorKeys;
  }
};

/// The size arguments after those of SortRowsSizes.
struct LongSortSizes {
  static constexpr std::size_t kNumChunks = 0, kNumBuckets = 1, kCount = 2;
};

/// The scratch of the sequence. Kernels bind the input, the results that they write, and then the scratch buffers that
/// they use, in this order.
enum class LongSortScratch : std::uint8_t {
  kCuts,        // kCutBytes per row
  kStarts,      // u32 per chunk and bucket: the number of the chunk's keys in buckets before it
  kChunkKeys,   // n keys per row: chunk by chunk, in the order of buckets
  kBucketKeys,  // 2 n keys per row: buckets too large for workgroup memory, and as much room to sort them
};

}  // namespace millrace
