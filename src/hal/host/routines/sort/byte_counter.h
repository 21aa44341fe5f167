// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hal/host/routines/microkernel.h"

namespace millrace {

/// Microkernels for targets that compress bytes and count bits.
struct ByteCounterCode {
  Microkernel<SplitBytes> split;
  Microkernel<MakeBitProducts> make_products;
  Microkernel<CountBitProducts> count_products;
};

/// Counts bytes with vectors of bits. (A histogram needs one store per byte, and hardware completes about one store per
/// cycle.) The row is split into four buckets by the upper two bits. For each block of a bucket, eight vectors mark the
/// bytes that have each value of the next three bits, and eight more mark those that have each value of the lowest
/// three. For each of the 64 pairs of values, counts the bits in the AND of their two vectors.
class ByteCounter {
 public:
  static constexpr std::int64_t kVectorBytes = 64;
  static constexpr std::int64_t kBlockBytes = 512;                                    // one per bit of a vector
  static constexpr std::int64_t kProductsOfThree = 8;                                 // one per value of three bits
  static constexpr std::int64_t kProductBytes = 2 * kProductsOfThree * kVectorBytes;  // lower bits before upper ones
  static constexpr std::int64_t kUpperAtOnce = 2;
  static constexpr std::size_t kNumBuckets = 4;
  /// A load waits for earlier stores at the same offset in a page ("4-KByte aliasing" in Intel's optimization manual).
  /// On Zen 5, this made splitting up to three times slower. So a piece is read as four streams, a page apart. Each
  /// stream advances about as fast as a bucket grows, and buckets begin half a page from the streams' offsets.
  static constexpr std::int64_t kStreamBytes = 4096, kNumStreams = 4, kPieceBytes = kNumStreams * kStreamBytes;
  /// The minimum length of a row for which the memory of its keys is large enough for a counter, and counting is faster
  /// than a histogram.
  static constexpr std::int64_t kMinBytes = 17408;

  /// `memory` has kMemoryBytes.
  ByteCounter(const void* entry, const ByteCounterCode& code, std::byte* memory)
      : entry_(entry), code_(code), memory_(aligned(memory)) {}

  /// Writes the number of bytes of each value. Precondition: fewer than 2^32 bytes.
  void count(std::span<const std::byte> bytes, std::span<std::uint32_t, 256> counts);

 private:
  static constexpr std::int64_t kChunkBlocks = 12;  // blocks whose products are kept at a time
  static constexpr std::int64_t kPatternsPerBucket = 64;
  static constexpr std::int64_t kCountBytes = kPatternsPerBucket * kVectorBytes;  // a vector for each pattern
  /// The distance between buckets, a multiple of a page. A bucket must hold a whole piece, and before it the bytes that
  /// earlier pieces left uncounted, which are fewer than a block.
  static constexpr std::int64_t kBucketBytes = kPieceBytes + kStreamBytes;
  static_assert(kBlockBytes + kPieceBytes + kVectorBytes <= kBucketBytes);
  static constexpr std::int64_t kCounts = kChunkBlocks * kProductBytes,
                                kLastPiece = kCounts + kNumBuckets * kCountBytes, kBuckets = kLastPiece + kPieceBytes;

 public:
  static constexpr std::int64_t kMemoryBytes = kVectorBytes + kBuckets + kStreamBytes + kNumBuckets * kBucketBytes;

 private:
  static std::byte* aligned(std::byte* memory) {
    return memory + -reinterpret_cast<std::uintptr_t>(memory) % kVectorBytes;
  }
  void place_buckets(const std::byte* row);
  void count_piece(const std::byte* piece);
  /// Counts the bytes of a bucket's first blocks.
  void count_blocks(std::size_t bucket, std::int64_t num_blocks);
  std::byte* bucket(std::size_t number) { return buckets_ + static_cast<std::int64_t>(number) * kBucketBytes; }
  std::int64_t size_of(std::size_t number) { return ends_[number] - bucket(number); }
  std::byte* counts_of(std::size_t bucket) {
    return memory_ + kCounts + static_cast<std::int64_t>(bucket) * kCountBytes;
  }

  const void* entry_;
  const ByteCounterCode& code_;
  std::byte* memory_;
  std::byte* buckets_ = nullptr;
  std::array<std::byte*, kNumBuckets> ends_{};
};

}  // namespace millrace
