// SPDX-License-Identifier: Apache-2.0
#include "hal/host/routines/byte_counter.h"

#include <algorithm>
#include <cstring>

namespace millrace {

ByteCounter::ByteCounter(const ByteCounterCode& code, std::byte* memory)
    : code_(code), memory_(memory + -reinterpret_cast<std::uintptr_t>(memory) % kVectorBytes) {}

void ByteCounter::count(std::span<const std::byte> bytes, std::span<std::uint32_t, 256> counts) {
  std::memset(counts_of(0), 0, kNumBuckets * kCountBytes);
  sizes_ = {};
  while (!bytes.empty()) {
    const std::span<const std::byte> piece = bytes.first(std::min<std::size_t>(bytes.size(), kPieceBytes));
    bytes = bytes.subspan(piece.size());
    partition(piece);
    for (std::size_t i = 0; i < kNumBuckets; ++i) {
      const std::int64_t num_blocks = sizes_[i] / kBlockBytes, done = num_blocks * kBlockBytes;
      count_blocks(i, num_blocks);
      sizes_[i] -= done;
      std::memmove(bucket(i), bucket(i) + done, static_cast<std::size_t>(sizes_[i]));
    }
  }
  for (std::size_t i = 0; i < kNumBuckets; ++i) {
    // The rest becomes a block of zeros, which count as the bucket's first pattern.
    const std::int64_t num_zeros = sizes_[i] == 0 ? 0 : kBlockBytes - sizes_[i];
    std::memset(bucket(i) + sizes_[i], 0, static_cast<std::size_t>(num_zeros));
    count_blocks(i, num_zeros == 0 ? 0 : 1);
    const std::span<std::uint32_t> of_bucket = counts.subspan(i * kPatternsPerBucket, kPatternsPerBucket);
    constexpr std::int64_t kLanes = kVectorBytes / sizeof(std::uint32_t);
    const auto* lanes = reinterpret_cast<const std::uint32_t*>(counts_of(i));
    for (std::uint32_t& count : of_bucket) {
      count = 0;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) count += *lanes++;
    }
    of_bucket.front() -= static_cast<std::uint32_t>(num_zeros);
  }
}

void ByteCounter::partition(std::span<const std::byte> piece) {
  // Signed integers: the patterns from 128 on are below the others.
  std::byte* const low = memory_ + kHalves;
  std::byte* const high = low + kHalfBytes;
  const auto size = static_cast<std::int64_t>(piece.size());
  const std::int64_t num_low = code_.partition(piece.data(), low, high, size, 0) - low;
  split({low, static_cast<std::size_t>(num_low)}, -64, 2);
  split({high, static_cast<std::size_t>(size - num_low)}, 64, 0);
}

void ByteCounter::split(std::span<const std::byte> bytes, std::int8_t pivot, std::size_t low_bucket) {
  std::byte* const low = bucket(low_bucket) + sizes_[low_bucket];
  std::byte* const high = bucket(low_bucket + 1) + sizes_[low_bucket + 1];
  const auto size = static_cast<std::int64_t>(bytes.size());
  const std::int64_t num_low = code_.partition(bytes.data(), low, high, size, pivot) - low;
  sizes_[low_bucket] += num_low;
  sizes_[low_bucket + 1] += size - num_low;
}

void ByteCounter::count_blocks(std::size_t bucket_number, std::int64_t num_blocks) {
  constexpr std::int64_t kLanes = kVectorBytes / sizeof(std::uint32_t), kVectorsPerBlock = kBlockBytes / kVectorBytes;
  const std::byte* from = bucket(bucket_number);
  std::byte* const products = memory_ + kProducts;
  while (num_blocks > 0) {
    const std::int64_t some = std::min(num_blocks, kChunkBlocks);
    code_.make_products(from, products, some * kVectorsPerBlock * kLanes);
    for (std::int64_t upper = 0; upper < kProductsOfThree; upper += kUpperAtOnce) {
      code_.count_products(products, products + upper * kVectorBytes, some * kLanes,
                           counts_of(bucket_number) + upper * kProductsOfThree * kVectorBytes);
    }
    from += some * kBlockBytes;
    num_blocks -= some;
  }
}

}  // namespace millrace
