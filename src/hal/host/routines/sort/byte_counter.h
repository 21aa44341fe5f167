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

/// Counts bytes by their bits. A histogram takes a store for each byte, about one a cycle. Here a row is split into
/// four buckets by the upper two bits, and for each block of a bucket a vector tells which of its bytes have a value of
/// three of the other bits: the bits of the product of two of them are counted, for all 64 pairs.
class ByteCounter {
 public:
  static constexpr std::int64_t kVectorBytes = 64;
  static constexpr std::int64_t kBlockBytes = 512;                                    // a vector's bits
  static constexpr std::int64_t kProductsOfThree = 8;                                 // values of three bits
  static constexpr std::int64_t kProductBytes = 2 * kProductsOfThree * kVectorBytes;  // lower bits before upper ones
  static constexpr std::int64_t kUpperAtOnce = 2;
  static constexpr std::size_t kNumBuckets = 4;
  /// A load waits for earlier stores that are as far into their page (4-KByte aliasing, as Intel's optimization manual
  /// has it). Splitting took up to three times as long by it on Zen 5. So a piece is read as four streams, a page
  /// apart, each as fast as a bucket grows, and buckets begin half a page from where streams do.
  static constexpr std::int64_t kStreamBytes = 4096, kNumStreams = 4, kPieceBytes = kNumStreams * kStreamBytes;
  /// From here on, the memory of a row's keys holds a counter's, and it takes less time than a histogram.
  static constexpr std::int64_t kMinBytes = 17408;

  /// `memory` has kMemoryBytes.
  ByteCounter(const void* entry, const ByteCounterCode& code, std::byte* memory)
      : entry_(entry), code_(code), memory_(aligned(memory)) {}

  /// Writes how many of the bytes there are of each pattern, for fewer than 2^32 bytes.
  void count(std::span<const std::byte> bytes, std::span<std::uint32_t, 256> counts);

 private:
  static constexpr std::int64_t kChunkBlocks = 12;  // whose products are at hand
  static constexpr std::int64_t kPatternsPerBucket = 64;
  static constexpr std::int64_t kCountBytes = kPatternsPerBucket * kVectorBytes;  // a vector for each pattern
  /// From one bucket to the next: whole pages. Less than a block is kept from one piece to the next.
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
