// SPDX-License-Identifier: Apache-2.0
// Generated code of lane functions against their evaluation on the host.
#include "jit/xbyak/emit_lanes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "jit/lanes/evaluate_lanes.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/lanes/lane_code.h"

namespace millrace {
namespace {

using test::GuardedMemory;

/// Straight-line functions of random operations: reads `kNumInputs` vectors at argument 0, and stores values at
/// argument 1: all of them, which live until then, so that long functions spill, or some, so that registers are reused.
class RandomFunction {
 public:
  static constexpr int kNumInputs = 4;

  RandomFunction(IsaLevel isa, std::uint32_t seed, int lane_bits) : random_(seed), b_(isa, lane_bits) {
    for (int i = 0; i < kNumInputs; ++i) vectors_.push_back(b_.load(0, i * 64, random_element()));
    vectors_.push_back(b_.numbers());
    vectors_.push_back(b_.broadcast(2));
    vectors_.push_back(b_.constant(static_cast<std::int32_t>(random_())));
    masks_.push_back(b_.binary(LaneOp::kLess, vectors_[0], vectors_[1]));
    const std::uint32_t length = 1 + random_() % 60;
    for (std::uint32_t i = 0; i < length; ++i) add_any();
  }

  LaneFunction finish() {
    std::int32_t offset = 0;
    const std::uint32_t one_of = random_() % 2 == 0 ? 1 : 5;
    for (const LaneValue vector : vectors_) {
      if (vector != vectors_.back() && random_() % one_of != 0) continue;
      b_.store(1, offset, random_element(), vector, random_() % 4 == 0 ? any_mask() : kNoLaneValue);
      offset += 64;
    }
    for (const std::int32_t last = offset + 64; offset < last; offset += b_.mask_bytes()) {
      if (random_() % 4 == 0) b_.store_mask(1, offset, any_mask());
    }
    output_bytes_ = static_cast<std::size_t>(offset);
    const std::uint32_t end = random_() % 3;
    return end == 0 ? b_.finish_with_any(any_vector()) : b_.finish_with(2);
  }
  std::size_t output_bytes() const { return output_bytes_; }

 private:
  LaneElement random_element() {
    const auto most = static_cast<std::uint32_t>(b_.lane_bits() / 8);
    std::uint32_t bytes = 1u << random_() % 4;
    if (bytes > most) bytes = most;
    return {static_cast<std::uint8_t>(bytes), random_() % 2 == 0};
  }
  LaneValue any_vector() { return vectors_[random_() % vectors_.size()]; }
  /// A few at a time, because masks do not spill.
  LaneValue any_mask() { return masks_.back(); }

  void add_any() {
    constexpr LaneOp kBinary[] = {LaneOp::kAdd, LaneOp::kMin, LaneOp::kMax, LaneOp::kAnd,
                                  LaneOp::kOr,  LaneOp::kXor, LaneOp::kMul, LaneOp::kMul};
    constexpr LaneOp kShifts[] = {LaneOp::kShiftLeft, LaneOp::kShiftRight, LaneOp::kShiftRightSigned};
    switch (random_() % 16) {
      case 10:
        vectors_.push_back(b_.move(random_() % 2 == 0 ? LaneOp::kMoveUp : LaneOp::kMoveDown, any_vector(),
                                   1 + random_() % static_cast<std::uint32_t>(b_.num_lanes() - 1), any_vector()));
        return;
      case 11:
        vectors_.push_back(
            b_.unary(LaneOp::kSpread, any_vector(), random_() % static_cast<std::uint32_t>(b_.num_lanes())));
        return;
      case 12:
        add_float();
        return;
      case 14: {
        const auto [low, high] = b_.regroup(any_vector(), any_vector(), any_order());
        vectors_.push_back(low);
        vectors_.push_back(high);
        return;
      }
      case 13:
        masks_.push_back(b_.binary(kFloatMasks[random_() % 3], any_float(), any_float()));
        return;
      case 8:
        vectors_.push_back(b_.unary(random_() % 2 == 0 ? LaneOp::kTurnNegative : LaneOp::kTurnNegativeInverted,
                                    any_vector(), random_()));
        return;
      case 0:
        vectors_.push_back(
            b_.unary(kShifts[random_() % 3], any_vector(), random_() % static_cast<std::uint32_t>(b_.lane_bits())));
        return;
      case 1:
        vectors_.push_back(
            b_.unary(LaneOp::kXorLanes, any_vector(), random_() % static_cast<std::uint32_t>(b_.num_lanes())));
        return;
      case 2:
        vectors_.push_back(b_.exchange(any_vector(), any_vector(), random_() % (1u << b_.num_lanes())));
        return;
      case 3:
        vectors_.push_back(b_.select(any_mask(), any_vector(), any_vector()));
        return;
      case 4:
        masks_.push_back(b_.binary(random_() % 2 == 0 ? LaneOp::kEqual : LaneOp::kAtMost, any_vector(), any_vector()));
        return;
      case 5:
        masks_.push_back(b_.binary(LaneOp::kLess, any_vector(), any_vector()));
        return;
      case 6: {
        const LaneValue other = b_.binary(LaneOp::kLess, any_vector(), any_vector());
        masks_.push_back(b_.binary(random_() % 2 == 0 ? LaneOp::kBoth : LaneOp::kEither, any_mask(), b_.invert(other)));
        return;
      }
      case 7:
        vectors_.push_back(b_.load_masked(0, 64, random_element(), any_mask(), any_vector()));
        return;
      case 9: {
        const LaneValue a = any_vector(), b = any_vector();
        vectors_.push_back(b_.binary(LaneOp::kMin, a, b));
        vectors_.push_back(b_.binary(LaneOp::kMax, a, b));
        return;
      }
      default:
        vectors_.push_back(b_.binary(kBinary[random_() % std::size(kBinary)], any_vector(), any_vector()));
        return;
    }
  }

  /// AVX-512 has any; AVX2 those that sorts and transposes need.
  BitOrder any_order() {
    const int n = b_.num_lanes(), num_bits = std::countr_zero(static_cast<unsigned>(n));
    if (n * b_.lane_bits() == 512) {
      std::vector<int> bits(static_cast<std::size_t>(num_bits) + 1);
      std::iota(bits.begin(), bits.end(), 0);
      std::ranges::shuffle(bits, random_);
      if (random_() % 4 == 0) return BitOrder(bits);
    }
    std::vector<BitOrder> orders = {BitOrder::interleaved(n), BitOrder::exchanged(n, num_bits - 1),
                                    BitOrder::exchanged(n, num_bits - 2)};
    if (b_.lane_bits() == 32) orders.push_back(BitOrder::rotated_up(n, 0, 2));
    if (b_.lane_bits() == 32) orders.push_back(BitOrder::rotated_down(n, 0, 2));
    if (n * b_.lane_bits() == 512) orders.push_back(BitOrder::rotated_down(n, num_bits - 2, num_bits));
    return orders[random_() % orders.size()];
  }

  static constexpr LaneOp kFloatMasks[] = {LaneOp::kLessFloat, LaneOp::kNotAtMostFloat, LaneOp::kUnordered};

  /// Small integers are subnormal, and large ones any float; shifted ones have zeros and infinities too.
  LaneValue any_float() {
    const LaneValue bits = any_vector();
    return random_() % 2 == 0 ? bits : b_.unary(LaneOp::kShiftLeft, bits, b_.lane_bits() - 9);
  }

  void add_float() {
    constexpr LaneOp kArithmetic[] = {LaneOp::kAddFloat, LaneOp::kSubFloat, LaneOp::kMulFloat,
                                      LaneOp::kDivFloat, LaneOp::kMinFloat, LaneOp::kMaxFloat};
    if (b_.lane_bits() == 32 && random_() % 4 == 0) vectors_.push_back(b_.unary(LaneOp::kFromInt, any_vector()));
    if (b_.lane_bits() == 32 && random_() % 4 == 0) vectors_.push_back(b_.unary(LaneOp::kToInt, any_float()));
    const bool is_half = b_.lane_bits() == 32 && random_() % 3 == 0;
    LaneValue result = kNoLaneValue;
    if (is_half) {
      // From f16 and back, which leaves nothing to the payload of a NaN but its upper bits.
      result = b_.unary(LaneOp::kFromHalf, any_vector());
      vectors_.push_back(b_.unary(LaneOp::kToHalf, random_() % 2 == 0 ? result : any_float()));
    } else {
      result = b_.binary(kArithmetic[random_() % 6], any_float(), any_float());
    }
    // Which of two NaNs a sum has is not said.
    masks_.push_back(b_.binary(LaneOp::kUnordered, result, result));
    vectors_.push_back(b_.select(any_mask(), b_.constant(-5), result));
  }

  std::mt19937 random_;
  LaneBuilder b_;
  std::vector<LaneValue> vectors_, masks_;
  std::size_t output_bytes_ = 0;
};

void check_random_functions(IsaLevel isa) {
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    RandomFunction random(isa, seed, seed % 2 == 0 ? 32 : 64);
    const LaneFunction function = random.finish();
    CAPTURE(function.to_text());
    const LaneCode code(function, {.has_one_minimum_port = seed % 4 < 2});
    std::mt19937 values(seed);
    std::vector<std::uint32_t> input(RandomFunction::kNumInputs * 16);
    for (std::uint32_t& word : input) word = values() % 3 == 0 ? values() % 3 - 1 : values();
    const GuardedMemory expected(random.output_bytes(), GuardedMemory::Side::kEnd);
    const GuardedMemory found(random.output_bytes(), GuardedMemory::Side::kEnd);
    std::memset(expected.data(), 1, random.output_bytes());
    std::memset(found.data(), 1, random.output_bytes());
    const auto at = [](const void* memory) { return reinterpret_cast<std::int64_t>(memory); };
    const std::int64_t expected_return =
        evaluate_lanes(function, {at(input.data()), at(expected.data()), -77, 0, 0, 0});
    const std::int64_t returned = code.run({at(input.data()), at(found.data()), -77, 0, 0, 0});
    CHECK(returned == expected_return);
    REQUIRE(std::memcmp(expected.data(), found.data(), random.output_bytes()) == 0);
  }
}

TEST_CASE("code of random lane functions computes what the host does") {
  for (const IsaLevel isa : host_lane_levels()) {
    CAPTURE(to_text(isa));
    check_random_functions(isa);
  }
}

/// Appends what lies below and above a bound to two streams, and counts lanes in a variable.
LaneFunction split_function(IsaLevel isa, int lane_bits) {
  LaneBuilder b(isa, lane_bits);
  const LaneValue bound = b.broadcast(4);
  const LaneValue sum = b.variable(b.constant(0));
  b.for_vectors(3, [&](LaneValue mask) {
    const bool is_rest = mask != kNoLaneValue;
    const LaneValue keys =
        is_rest ? b.load_masked(0, 0, b.lane_element(), mask, bound) : b.load(0, 0, b.lane_element());
    LaneValue below = b.binary(LaneOp::kLess, keys, bound);
    LaneValue others = b.invert(below);
    if (is_rest) {
      below = b.binary(LaneOp::kBoth, below, mask);
      others = b.binary(LaneOp::kBoth, others, mask);
    }
    b.assign(sum, b.binary(LaneOp::kAdd, sum, b.select(below, keys, b.constant(0))));
    b.append(1, keys, below, is_rest);
    b.append(2, keys, others, is_rest);
    b.advance(0, b.num_lanes() * b.lane_element().bytes);
  });
  b.store(5, 0, b.lane_element(), sum);
  return b.finish_with(2);
}

template <class Key>
void check_split(IsaLevel isa) {
  const LaneFunction function = split_function(isa, 8 * sizeof(Key));
  const LaneCode code(function);
  std::mt19937 random(5);
  for (std::size_t count = 0; count < 70; ++count) {
    CAPTURE(count);
    const GuardedMemory keys(count * sizeof(Key), GuardedMemory::Side::kEnd);
    for (std::size_t i = 0; i < count; ++i) {
      const auto key = static_cast<Key>(random() % 100) - 50;
      std::memcpy(keys.data() + i * sizeof(Key), &key, sizeof(Key));
    }
    std::vector<Key> lows[2], highs[2], sums[2];
    std::int64_t num_high[2];
    for (int is_code = 0; is_code < 2; ++is_code) {
      std::vector<Key>& low = lows[is_code];
      std::vector<Key>& high = highs[is_code];
      sums[is_code].resize(16);
      low.resize(count + 1, 1234);
      high.resize(count + 1, 1234);
      const auto at = [](const void* memory) { return reinterpret_cast<std::int64_t>(memory); };
      const std::array<std::int64_t, kMaxLaneArguments> arguments = {
          at(keys.data()),         at(low.data()), at(high.data()), static_cast<std::int64_t>(count), 3,
          at(sums[is_code].data())};
      const std::int64_t end = is_code != 0 ? code.run(arguments) : evaluate_lanes(function, arguments);
      num_high[is_code] = (end - at(high.data())) / static_cast<std::int64_t>(sizeof(Key));
      // Neither writes behind the arrays.
      CHECK(low[count] == 1234);
      CHECK(high[count] == 1234);
      high.resize(static_cast<std::size_t>(num_high[is_code]));
      low.resize(count - high.size());
    }
    CHECK(num_high[0] == num_high[1]);
    CHECK(lows[0] == lows[1]);
    CHECK(highs[0] == highs[1]);
    CHECK(sums[0] == sums[1]);
  }
}

TEST_CASE("code of loops appends what the host does") {
  for (const IsaLevel isa : host_lane_levels()) {
    check_split<std::int32_t>(isa);
    check_split<std::int64_t>(isa);
  }
}

/// Streams whole vectors, and moves a pointer by what it has loaded.
TEST_CASE("code streams, advances by a lane and returns one as the host does") {
  for (const IsaLevel isa : host_lane_levels()) {
    for (const int lane_bits : {32, 64}) {
      LaneBuilder b(isa, lane_bits);
      const LaneValue first = b.load(0, 0, b.lane_element());
      b.advance_by(0, first, 4);
      b.advance(0, -64);
      const LaneValue there = b.load(0, 64, b.lane_element());
      b.stream(1, 0, there);
      const LaneFunction function = b.finish_with_first(b.binary(LaneOp::kAdd, there, b.constant(-7)));
      const LaneCode code(function);
      alignas(64) std::int64_t input[32] = {3}, results[2][8] = {};
      if (lane_bits == 32) input[0] = 2 * 3;
      for (std::int64_t i = 1; i < 32; ++i) input[i] = i;
      const auto at = [](const void* memory) { return reinterpret_cast<std::int64_t>(memory); };
      CHECK(evaluate_lanes(function, {at(input), at(results[0])}) == code.run({at(input), at(results[1])}));
      CHECK(std::memcmp(results[0], results[1], sizeof(results[0])) == 0);
      CHECK(results[0][1] != 0);
    }
  }
}

TEST_CASE("a lane function prints") {
  LaneBuilder b(IsaLevel::kAvx512, 32);
  const LaneValue keys = b.load(0, 64, {2, false});
  const LaneValue three = b.constant(3);
  const LaneValue numbers = b.numbers();
  const LaneValue mask = b.binary(LaneOp::kLess, keys, numbers);
  b.store(1, 0, b.lane_element(), b.exchange(keys, three, 5), mask);
  CHECK(b.finish_with(0).to_text() ==
        "lanes 16 x i32\n"
        "  %0 = constant 3\n"
        "  %1 = numbers\n"
        "  %2 = load arg0+64 u16\n"
        "  %3 = less %2 %1\n"
        "  %4 = exchange %2 %0 5\n"
        "  store %4 arg1+0 where %3 i32\n"
        "  return arg0+0\n");
}

}  // namespace
}  // namespace millrace
