// SPDX-License-Identifier: Apache-2.0
// Counts the values of a row of bytes, from which a sort of bytes writes its results.
#include "hal/host/routines/sort/byte_counter.h"

#include <algorithm>
#include <cstring>

namespace millrace {

void ByteCounter::count(std::span<const std::byte> bytes, std::span<std::uint32_t, 256> counts) {
  std::memset(counts_of(0), 0, kNumBuckets * kCountBytes);
  place_buckets(bytes.data());
  for (; bytes.size() >= kPieceBytes; bytes = bytes.subspan(kPieceBytes)) count_piece(bytes.data());
  std::int64_t num_zeros = 0;  // padding bytes, which are counted as the bucket's first value
  if (!bytes.empty()) {
    std::byte* const last = memory_ + kLastPiece;
    num_zeros = kPieceBytes - std::ssize(bytes);
    std::memset(std::ranges::copy(bytes, last).out, 0, static_cast<std::size_t>(num_zeros));
    count_piece(last);
  }
  for (std::size_t i = 0; i < kNumBuckets; ++i) {
    if (const std::int64_t rest = size_of(i); rest > 0) {
      std::memset(ends_[i], 0, static_cast<std::size_t>(kBlockBytes - rest));
      num_zeros += kBlockBytes - rest;
      count_blocks(i, 1);
    }
    const std::span<std::uint32_t> of_bucket = counts.subspan(i * kPatternsPerBucket, kPatternsPerBucket);
    constexpr std::int64_t kLanes = kVectorBytes / sizeof(std::uint32_t);
    const auto* lanes = reinterpret_cast<const std::uint32_t*>(counts_of(i));
    for (std::uint32_t& count : of_bucket) {
      count = 0;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) count += *lanes++;
    }
    of_bucket.front() -= static_cast<std::uint32_t>(num_zeros);
    num_zeros = 0;
  }
}

void ByteCounter::place_buckets(const std::byte* row) {
  const auto offset = reinterpret_cast<std::uintptr_t>(row) / kVectorBytes * kVectorBytes + kStreamBytes / 2;
  std::byte* const first = memory_ + kBuckets;
  buckets_ = first + (offset - reinterpret_cast<std::uintptr_t>(first)) % kStreamBytes;
  for (std::size_t i = 0; i < kNumBuckets; ++i) ends_[i] = bucket(i);
}

void ByteCounter::count_piece(const std::byte* piece) {
  code_.split.at(entry_)(piece, kPieceBytes, ends_.data());
  for (std::size_t i = 0; i < kNumBuckets; ++i) {
    const std::int64_t num_blocks = size_of(i) / kBlockBytes, rest = size_of(i) % kBlockBytes;
    count_blocks(i, num_blocks);
    ends_[i] = bucket(i) + rest;
    std::memmove(bucket(i), bucket(i) + num_blocks * kBlockBytes, static_cast<std::size_t>(rest));
  }
}

void ByteCounter::count_blocks(std::size_t bucket_number, std::int64_t num_blocks) {
  constexpr std::int64_t kLanes = kVectorBytes / sizeof(std::uint32_t), kVectorsPerBlock = kBlockBytes / kVectorBytes;
  const std::byte* from = bucket(bucket_number);
  std::byte* const products = memory_;
  while (num_blocks > 0) {
    const std::int64_t some = std::min(num_blocks, kChunkBlocks);
    code_.make_products.at(entry_)(from, products, some * kVectorsPerBlock * kLanes);
    for (std::int64_t upper = 0; upper < kProductsOfThree; upper += kUpperAtOnce) {
      code_.count_products.at(entry_)(products, products + upper * kVectorBytes, some * kLanes,
                                      counts_of(bucket_number) + upper * kProductsOfThree * kVectorBytes);
    }
    from += some * kBlockBytes;
    num_blocks -= some;
  }
}

}  // namespace millrace
