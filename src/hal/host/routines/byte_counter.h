// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hal/host/routines/row_sorter.h"

namespace millrace {

/// Writes ByteCounter::kProductBytes for each block of bytes. `count` is a block's lanes of 32 bits times the blocks.
using MakeBitProducts = std::byte* (*)(const void* bytes, void* products, std::int64_t count);
/// Adds to the counts of ByteCounter::kUpperAtOnce values of the upper three bits, which `upper` selects, and all of
/// the lower. `count` is a vector's lanes times the blocks.
using CountBitProducts = std::byte* (*)(const void* products, const void* upper, std::int64_t count, void* counts);

/// Generated functions for targets that compress bytes and count bits.
struct ByteCounterCode {
  PartitionKeys partition;  // of bytes as signed integers
  MakeBitProducts make_products;
  CountBitProducts count_products;
};

/// Counts bytes by their bits. A histogram takes a store for each byte, about one a cycle. Here a row is partitioned
/// into four buckets by the upper two bits, and for each block of a bucket a vector tells which of its bytes have a
/// value of three of the other bits: the bits of the product of two of them are counted, for all 64 pairs.
class ByteCounter {
 public:
  static constexpr std::int64_t kBlockBytes = 512;                          // a vector's bits
  static constexpr std::int64_t kProductsOfThree = 8;                       // values of three bits, a vector for each
  static constexpr std::int64_t kProductBytes = 2 * kProductsOfThree * 64;  // of the lower three bits and the upper
  static constexpr std::int64_t kUpperAtOnce = 2;
  /// Fewer bytes take less time by a histogram.
  static constexpr std::int64_t kFewest = 16384;

  /// `memory` has kMemoryBytes.
  ByteCounter(const ByteCounterCode& code, std::byte* memory);

  /// Writes how many of the bytes there are of each pattern, for fewer than 2^32 bytes.
  void count(std::span<const std::byte> bytes, std::span<std::uint32_t, 256> counts);

 private:
  static constexpr std::size_t kNumBuckets = 4;
  static constexpr std::int64_t kPieceBytes = 16384;  // partitioned at once
  static constexpr std::int64_t kChunkBlocks = 8;     // whose products are at hand
  static constexpr std::int64_t kVectorBytes = 64;
  /// What a bucket keeps from one piece to the next is less than a block. Appending writes whole vectors.
  static constexpr std::int64_t kBucketBytes = kBlockBytes + kPieceBytes + kVectorBytes;
  static constexpr std::int64_t kHalfBytes = kPieceBytes + kVectorBytes;
  static constexpr std::int64_t kPatternsPerBucket = 64;
  static constexpr std::int64_t kCountBytes = kPatternsPerBucket * kVectorBytes;  // a vector for each pattern
  static constexpr std::int64_t kHalves = kNumBuckets * kBucketBytes, kProducts = kHalves + 2 * kHalfBytes,
                                kCounts = kProducts + kChunkBlocks * kProductBytes;

 public:
  static constexpr std::int64_t kMemoryBytes = kCounts + kNumBuckets * kCountBytes + kVectorBytes;

 private:
  void partition(std::span<const std::byte> piece);
  void split(std::span<const std::byte> bytes, std::int8_t pivot, std::size_t low_bucket);
  /// Counts the bytes of a bucket's first blocks.
  void count_blocks(std::size_t bucket, std::int64_t num_blocks);
  std::byte* bucket(std::size_t number) { return memory_ + static_cast<std::int64_t>(number) * kBucketBytes; }
  std::byte* counts_of(std::size_t bucket) {
    return memory_ + kCounts + static_cast<std::int64_t>(bucket) * kCountBytes;
  }

  const ByteCounterCode& code_;
  std::byte* memory_;
  std::array<std::int64_t, kNumBuckets> sizes_{};
};

}  // namespace millrace
