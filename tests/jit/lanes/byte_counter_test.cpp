// SPDX-License-Identifier: Apache-2.0
// Counts of bytes by lanes, on the host and emitted, against a histogram.
#include "hal/host/routines/sort/byte_counter.h"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "jit/lanes/byte_microkernels.h"
#include "jit/xbyak/row_kernels.h"
#include "tests/jit/algorithms/sort/sort_cases.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/support/kernels/evaluate_lanes.h"

namespace millrace {
namespace {

using test::GuardedMemory;

/// Bytes of a bucket alone, of all, of one value, or few.
std::vector<std::uint8_t> random_bytes(std::size_t n, unsigned kind, std::mt19937_64& random) {
  std::vector<std::uint8_t> bytes(n);
  for (std::uint8_t& byte : bytes) {
    const auto any = static_cast<std::uint8_t>(random());
    const std::uint8_t of_kind[] = {
        any, static_cast<std::uint8_t>(any & 63),    static_cast<std::uint8_t>(any | 192), 0,
        255, static_cast<std::uint8_t>(any % 3 * 85)};
    byte = of_kind[kind];
  }
  return bytes;
}
constexpr unsigned kNumKinds = 6;

TEST_CASE("sorts of many bytes need the two features if the target has both, and other sorts do not") {
  struct Case {
    std::string_view spec;
    DType dtype = DType::kU8;
    std::int64_t n = ByteCounter::kMinBytes;
    bool wants_indices = false;
  };
  constexpr std::string_view kBoth = "cpu:avx512+vbmi2+vpopcntdq";
  const auto check = [](const Case& c, std::string_view target) {
    CAPTURE(c.spec);
    CAPTURE(c.n);
    const SortDescriptor sort = test::descriptor_of(
        {.dtype = c.dtype, .extents = {1, c.n}, .axis = 1, .k = c.n, .wants_indices = c.wants_indices});
    const TargetSpec spec = TargetSpec::parse(c.spec).value();
    const PlannedKernel planned = plan_row_operation(sort, spec).value();
    CHECK(planned.target_of(spec).to_text() == target);
    // Features that are not needed change nothing.
    const auto& design = std::get<OpaquePlan>(planned.mapped);
    const bool is_same = design.emit(spec).value().bytes == design.emit(spec.plain()).value().bytes;
    CHECK(is_same == !planned.features.any());
  };
  check({kBoth}, kBoth);
  check({kBoth, DType::kI8}, kBoth);
  check({kBoth, DType::kBool}, kBoth);
  check({kBoth, DType::kU8, ByteCounter::kMinBytes - 1}, "cpu:avx512");
  check({.spec = kBoth, .wants_indices = true}, "cpu:avx512");
  check({kBoth, DType::kF16}, "cpu:avx512");
  for (const std::string_view spec : {"cpu:avx2", "cpu:avx512"}) check({spec}, spec);
  for (const std::string_view spec : {"cpu:avx512+vbmi2", "cpu:avx512+vpopcntdq"}) check({spec}, "cpu:avx512");
}

TEST_CASE("a piece of bytes is split by the upper two bits") {
  constexpr std::size_t kBuckets = ByteCounter::kNumBuckets, kPiece = ByteCounter::kPieceBytes;
  KeptLanes lanes;
  const LaneFunction split = lanes[append_byte_counter(lanes.sink(IsaLevel::kAvx512)).split];
  const bool is_emitted = has_byte_microkernels(TargetSpec::parse("cpu").value());
  std::mt19937_64 random(5);
  for (unsigned kind = 0; kind < kNumKinds; ++kind) {
    CAPTURE(kind);
    const std::vector<std::uint8_t> bytes = random_bytes(kPiece, kind, random);
    const GuardedMemory piece(kPiece, GuardedMemory::Side::kEnd);
    std::ranges::copy(bytes, reinterpret_cast<std::uint8_t*>(piece.data()));
    piece.make_read_only();
    std::array<std::vector<std::uint8_t>, kBuckets> expected;
    for (const std::uint8_t byte : bytes) expected[byte >> 6].push_back(byte);
    for (const bool emitted : {false, true}) {
      if (emitted && !is_emitted) continue;
      CAPTURE(emitted);
      constexpr std::uint8_t kBefore = 0xa5;
      std::vector<std::vector<std::uint8_t>> buckets(
          kBuckets, std::vector<std::uint8_t>(kPiece + ByteCounter::kVectorBytes + 1, kBefore));
      std::array<std::uint8_t*, kBuckets> ends;
      for (std::size_t i = 0; i < kBuckets; ++i) ends[i] = buckets[i].data() + 1;
      const auto at = [](const void* memory) { return reinterpret_cast<std::int64_t>(memory); };
      const std::array<std::int64_t, kMaxLaneArguments> arguments = {at(piece.data()), kPiece, at(ends.data())};
      emitted ? LaneCode(split).run(arguments) : evaluate_lanes(split, arguments);
      for (std::size_t i = 0; i < kBuckets; ++i) {
        CHECK(buckets[i][0] == kBefore);
        std::vector<std::uint8_t> found(buckets[i].data() + 1, ends[i]);
        // Vectors come from four streams in rotation, so the order differs.
        std::ranges::sort(found);
        std::ranges::sort(expected[i]);
        CHECK(found == expected[i]);
      }
    }
  }
}

TEST_CASE("the products of bits of a block are counted like its bytes") {
  constexpr std::int64_t kBlocks = 3, kLanes = 16;
  KeptLanes lanes;
  const ByteCounterCode counter = append_byte_counter(lanes.sink(IsaLevel::kAvx512));
  const LaneFunction &make = lanes[counter.make_products], &count = lanes[counter.count_products];
  const bool is_emitted = has_byte_microkernels(TargetSpec::parse("cpu").value());
  std::mt19937_64 random(3);
  for (unsigned kind = 0; kind < kNumKinds; ++kind) {
    CAPTURE(kind);
    const std::vector<std::uint8_t> bytes = random_bytes(kBlocks * ByteCounter::kBlockBytes, kind, random);
    std::array<std::uint32_t, 64> expected{};
    for (const std::uint8_t byte : bytes) ++expected[byte & 63];
    for (const bool emitted : {false, true}) {
      if (emitted && !is_emitted) continue;
      const auto run = [&](const LaneFunction& f, std::array<std::int64_t, kMaxLaneArguments> arguments) {
        return emitted ? LaneCode(f).run(arguments) : evaluate_lanes(f, arguments);
      };
      const GuardedMemory products(kBlocks * ByteCounter::kProductBytes, GuardedMemory::Side::kEnd);
      std::vector<std::uint32_t> counts(64 * kLanes, 1);
      const auto at = [](const void* memory) { return reinterpret_cast<std::int64_t>(memory); };
      run(make, {at(bytes.data()), at(products.data()), kBlocks * 8 * kLanes});
      for (std::int64_t upper = 0; upper < 8; upper += ByteCounter::kUpperAtOnce) {
        run(count, {at(products.data()), at(products.data()) + upper * 64, kBlocks * kLanes,
                    at(counts.data()) + upper * 8 * 64});
      }
      for (std::size_t pattern = 0; pattern < expected.size(); ++pattern) {
        std::uint32_t sum = 0;
        for (std::size_t lane = 0; lane < kLanes; ++lane) sum += counts[pattern * kLanes + lane] - 1;
        CHECK(sum == expected[pattern]);
      }
    }
  }
}

TEST_CASE("rows of bytes are counted by lanes like by a histogram") {
  if (!has_byte_microkernels(TargetSpec::parse("cpu").value())) return;
  MappedLanes lanes;
  const ByteCounterCode code = append_byte_counter(lanes.sink(IsaLevel::kAvx512));
  std::mt19937_64 random(4);
  std::vector<std::size_t> sizes = {0, 1, 63, 64, 65, 511, 512, 513, 16383, 16384, 16385, 16384 + 511, 100'000};
  for (int i = 0; i < 20; ++i) sizes.push_back(random() % 70'000);
  for (const std::size_t n : sizes) {
    for (unsigned kind = 0; kind < kNumKinds; ++kind) {
      CAPTURE(n);
      CAPTURE(kind);
      const std::vector<std::uint8_t> bytes = random_bytes(n, kind, random);
      const GuardedMemory row(n, GuardedMemory::Side::kEnd);
      std::ranges::copy(bytes, reinterpret_cast<std::uint8_t*>(row.data()));
      row.make_read_only();
      std::array<std::uint32_t, 256> expected{}, counts;
      for (const std::uint8_t byte : bytes) ++expected[byte];
      const GuardedMemory memory(ByteCounter::kMemoryBytes, GuardedMemory::Side::kEnd);
      ByteCounter(nullptr, code, memory.data()).count({row.data(), n}, counts);
      CHECK(counts == expected);
    }
  }
}

}  // namespace
}  // namespace millrace
