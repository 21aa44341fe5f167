// SPDX-License-Identifier: Apache-2.0
// Builds the microkernels that split and count bytes.
#include "jit/lanes/byte_microkernels.h"

namespace millrace {
namespace {

constexpr int kLaneBits = 32;

/// The integer whose bytes all equal `byte`.
std::int64_t of_bytes(unsigned byte) { return std::int64_t{byte} * 0x0101'0101; }

/// Joins bits of two vectors: low() joins the bits whose position in the lane has the bit `distance` clear, high() the
/// bits where it is set.
class BitTranspose {
 public:
  BitTranspose(LaneBuilder& b, int distance) : b_(b), distance_(distance) {
    constexpr unsigned kLower[] = {0, 0x55, 0x33, 0, 0x0f};  // indexed by distance
    lower_ = of_bytes(kLower[distance]);
  }
  LaneValue low(LaneValue x, LaneValue y) const {
    return b_.select_bits(lower_, x, b_.unary(LaneOp::kShiftLeft, y, distance_));
  }
  LaneValue high(LaneValue x, LaneValue y) const {
    return b_.select_bits(lower_, b_.unary(LaneOp::kShiftRight, x, distance_), y);
  }

 private:
  LaneBuilder& b_;
  int distance_;
  std::int64_t lower_;
};

/// The lower six bits of the bytes of eight vectors, lowest first. Each result is a vector with one bit per byte; all
/// have their bits in the same order. Source: Warren, Hacker's Delight, 2nd edition, section 7-3, with a vector for
/// each row.
std::array<LaneValue, 6> slice_bits(LaneBuilder& b, const std::array<LaneValue, 8>& bytes) {
  const BitTranspose halves(b, 4), quarters(b, 2), singles(b, 1);
  std::array<LaneValue, 4> low, high;  // the lower four bits of two vectors' bytes, and the upper four
  for (std::size_t i = 0; i < 4; ++i) {
    low[i] = halves.low(bytes[i], bytes[i + 4]);
    high[i] = halves.high(bytes[i], bytes[i + 4]);
  }
  std::array<LaneValue, 6> bits;
  const auto split = [&](LaneValue first, LaneValue second, std::size_t to) {
    bits[to] = singles.low(first, second);
    bits[to + 1] = singles.high(first, second);
  };
  split(quarters.low(low[0], low[2]), quarters.low(low[1], low[3]), 0);
  split(quarters.high(low[0], low[2]), quarters.high(low[1], low[3]), 2);
  split(quarters.low(high[0], high[2]), quarters.low(high[1], high[3]), 4);
  return bits;
}

/// For each of the eight values of three bits, a vector that marks where the bits have that value.
std::array<LaneValue, 8> products_of(LaneBuilder& b, LaneValue bit0, LaneValue bit1, LaneValue bit2) {
  const LaneValue both = b.binary(LaneOp::kAnd, bit0, bit1), any = b.binary(LaneOp::kOr, bit0, bit1);
  const std::array<LaneValue, 4> of_two = {b.binary(LaneOp::kXor, any, b.constant(-1)),
                                           b.binary(LaneOp::kXor, bit0, both), b.binary(LaneOp::kXor, bit1, both),
                                           both};
  std::array<LaneValue, 8> products;
  for (std::size_t i = 0; i < of_two.size(); ++i) {
    products[i + 4] = b.binary(LaneOp::kAnd, of_two[i], bit2);
    products[i] = b.binary(LaneOp::kXor, of_two[i], products[i + 4]);
  }
  return products;
}

constexpr std::int32_t kVectorBytes = ByteCounter::kVectorBytes;
constexpr std::int32_t kFirstOfUpper = ByteCounter::kProductsOfThree * kVectorBytes;

MicrokernelCode<SplitBytes> split_bytes(IsaLevel isa) {
  enum { kBytes, kCount, kEnds, kFirstEnd };
  constexpr int kBuckets = ByteCounter::kNumBuckets, kStreams = ByteCounter::kNumStreams, kOfEachStream = 2;
  constexpr std::int32_t kPointerBytes = 8;
  LaneBuilder b(isa, 8);
  for (int i = 0; i < kBuckets; ++i) b.load_pointer(kFirstEnd + i, kEnds, i * kPointerBytes);
  const LaneValue min = b.constant(-64), max = b.constant(64), sign = b.constant(-128);
  b.for_blocks(kCount, kStreams * kOfEachStream, [&] {
    std::vector<LaneValue> loaded;
    for (std::int32_t i = 0; i < kOfEachStream; ++i) {
      for (std::int32_t stream = 0; stream < kStreams; ++stream) {
        const std::int32_t offset = stream * ByteCounter::kStreamBytes + i * kVectorBytes;
        b.prefetch(kBytes, offset + ByteCounter::kPieceBytes);
        loaded.push_back(b.load(kBytes, offset, b.lane_element()));
      }
    }
    b.advance(kBytes, kOfEachStream * kVectorBytes);
    for (const LaneValue bytes : loaded) {
      // Each bucket is one end of the signed range, either of the bytes themselves or of the bytes with inverted sign
      // bits. So one comparison per bucket is enough.
      const LaneValue inverted = b.binary(LaneOp::kXor, bytes, sign);
      const std::array<LaneValue, kBuckets> masks = {
          b.binary(LaneOp::kLess, inverted, min), b.binary(LaneOp::kAtMost, max, bytes),
          b.binary(LaneOp::kLess, bytes, min), b.binary(LaneOp::kAtMost, max, inverted)};
      for (int i = 0; i < kBuckets; ++i) b.append(kFirstEnd + i, bytes, masks[static_cast<std::size_t>(i)], false);
    }
  });
  for (int i = 0; i < kBuckets; ++i) b.store_pointer(kFirstEnd + i, kEnds, i * kPointerBytes);
  return {b.finish_with(kBytes)};
}

MicrokernelCode<MakeBitProducts> make_bit_products(IsaLevel isa) {
  enum { kBytes, kProducts, kCount };
  constexpr int kVectors = 8;
  LaneBuilder b(isa, kLaneBits);
  b.for_blocks(kCount, kVectors, [&] {
    std::array<LaneValue, kVectors> bytes;
    for (int i = 0; i < kVectors; ++i) {
      bytes[static_cast<std::size_t>(i)] = b.load(kBytes, i * kVectorBytes, b.lane_element());
    }
    const std::array<LaneValue, 6> bits = slice_bits(b, bytes);
    for (std::size_t half = 0; half < 2; ++half) {
      const std::array<LaneValue, 8> products = products_of(b, bits[3 * half], bits[3 * half + 1], bits[3 * half + 2]);
      for (std::size_t i = 0; i < products.size(); ++i) {
        const auto number = static_cast<std::int32_t>(half * products.size() + i);
        b.store(kProducts, number * kVectorBytes, b.lane_element(), products[i]);
      }
    }
    b.advance(kBytes, ByteCounter::kBlockBytes);
    b.advance(kProducts, ByteCounter::kProductBytes);
  });
  return {b.finish_with(kProducts)};
}

MicrokernelCode<CountBitProducts> count_bit_products(IsaLevel isa) {
  enum { kLower, kUpper, kCount, kCounts };
  constexpr int kAtOnce = ByteCounter::kUpperAtOnce, kLowers = ByteCounter::kProductsOfThree;
  LaneBuilder b(isa, kLaneBits);
  std::vector<LaneValue> counts;
  for (std::int32_t i = 0; i < kAtOnce * kLowers; ++i) {
    counts.push_back(b.variable(b.load(kCounts, i * kVectorBytes, b.lane_element())));
  }
  b.for_blocks(kCount, 1, [&] {
    std::array<LaneValue, kAtOnce> upper;
    for (int i = 0; i < kAtOnce; ++i) {
      upper[static_cast<std::size_t>(i)] = b.load(kUpper, kFirstOfUpper + i * kVectorBytes, b.lane_element());
    }
    for (int j = 0; j < kLowers; ++j) {
      const LaneValue lower = b.load(kLower, j * kVectorBytes, b.lane_element());
      for (int i = 0; i < kAtOnce; ++i) {
        const LaneValue product = b.binary(LaneOp::kAnd, upper[static_cast<std::size_t>(i)], lower);
        const LaneValue count = counts[static_cast<std::size_t>(i * kLowers + j)];
        b.assign(count, b.binary(LaneOp::kAdd, count, b.unary(LaneOp::kCountBits, product)));
      }
    }
    b.advance(kLower, ByteCounter::kProductBytes);
    b.advance(kUpper, ByteCounter::kProductBytes);
  });
  for (std::int32_t i = 0; i < kAtOnce * kLowers; ++i) {
    b.store(kCounts, i * kVectorBytes, b.lane_element(), counts[static_cast<std::size_t>(i)]);
  }
  return {b.finish_with(kCounts)};
}

}  // namespace

ByteCounterCode append_byte_counter(const MicrokernelSink& sink) {
  return {sink.append(split_bytes(sink.isa)), sink.append(make_bit_products(sink.isa)),
          sink.append(count_bit_products(sink.isa))};
}

}  // namespace millrace
