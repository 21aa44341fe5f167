// SPDX-License-Identifier: Apache-2.0
// Generated code of random lane functions against their evaluation on the host.
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tests/jit/guarded_memory.h"
#include "tests/jit/lanes/lane_code.h"
#include "tests/support/kernels/evaluate_lanes.h"
#include "tests/support/kernels/kernel_round_trip.h"
#include "tests/support/random/random_lane_function.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::GuardedMemory;
using test::RandomLaneFunction;

/// What a run wrote and returned.
struct LaneRun {
  explicit LaneRun(const RandomLaneFunction& random)
      : output(random.output_bytes(), GuardedMemory::Side::kEnd),
        appended(RandomLaneFunction::kAppendedBytes, GuardedMemory::Side::kEnd) {
    output_bytes = random.output_bytes();
    std::memset(output.data(), 1, output_bytes);
    std::memset(appended.data(), 1, RandomLaneFunction::kAppendedBytes);
  }
  std::array<std::int64_t, kMaxLaneArguments> arguments(const std::vector<std::uint32_t>& input,
                                                        std::int64_t count) const {
    const auto at = [](const void* memory) { return reinterpret_cast<std::int64_t>(memory); };
    return {at(input.data()), at(output.data()), -77, count, at(appended.data())};
  }
  bool operator==(const LaneRun& other) const {
    return returned == other.returned && std::memcmp(output.data(), other.output.data(), output_bytes) == 0 &&
           std::memcmp(appended.data(), other.appended.data(), RandomLaneFunction::kAppendedBytes) == 0;
  }

  GuardedMemory output, appended;
  std::size_t output_bytes = 0;
  std::int64_t returned = 0;
};

void check_random_function(IsaLevel isa, std::uint32_t seed) {
  std::mt19937 values(seed);
  const bool is_wide = values() % 2 == 0, has_one_minimum_port = values() % 2 == 0;
  const bool is_byte = isa == IsaLevel::kAvx512 && host_cpu_features().vbmi2 && values() % 8 == 0;
  const RandomLaneFunction random(isa, seed, is_byte ? 8 : is_wide ? 64 : 32, host_cpu_features().vpopcntdq);
  const LaneFunction& function = random.function();
  INFO("seed ", seed, "\n", to_text(function));
  const LaneCode code(function, {.has_one_minimum_port = has_one_minimum_port});
  std::vector<std::uint32_t> input(RandomLaneFunction::kInputBytes / 4);
  for (std::uint32_t& word : input) word = values() % 3 == 0 ? values() % 3 - 1 : values();
  const std::int64_t count = random.num_iterations() * function.num_lanes + values() % 3;
  LaneRun expected(random), found(random);
  expected.returned = evaluate_lanes(function, expected.arguments(input, count));
  found.returned = code.run(found.arguments(input, count));
  REQUIRE(found == expected);
}

TEST_CASE("the matrix of random lane functions: code computes what the host does" * test::Sliced()) {
#ifdef MILLRACE_SANITIZED
  constexpr std::size_t kNumFunctions = 60'000;
#else
  constexpr std::size_t kNumFunctions = 1'000'000;
#endif
  const test::Slice slice = test::tested_slice();
  for (const IsaLevel isa : host_lane_levels()) {
    CAPTURE(to_text(isa));
    for (std::size_t seed = slice.index; seed < kNumFunctions / 2; seed += slice.count) {
      check_random_function(isa, static_cast<std::uint32_t>(seed));
    }
  }
}

TEST_CASE("mutated texts of lane functions are refused, or verified and read back") {
  std::size_t num_verified = 0;
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const RandomLaneFunction random(seed % 3 == 0 ? IsaLevel::kAvx2 : IsaLevel::kAvx512, seed, seed % 2 == 0 ? 32 : 64,
                                    true);
    const std::string text = to_text(random.function());
    for (std::uint32_t mutation = 0; mutation < 20; ++mutation) {
      const std::string mutated = test::mutate_text(text, seed * 20 + mutation);
      CAPTURE(mutated);
      const Result<LaneFunction> parsed = parse_lane_function(mutated, "mutated");
      if (!parsed.ok() || !verify(*parsed).ok()) continue;
      ++num_verified;
      CHECK(parse_lane_function(to_text(*parsed), "again").value() == *parsed);
    }
  }
  CHECK(num_verified > 1000);
}

}  // namespace
}  // namespace millrace
