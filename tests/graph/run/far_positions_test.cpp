// SPDX-License-Identifier: Apache-2.0
// Positions are counted in i64, not in floats: they are exact beyond 2^24, where f32 holds no odd numbers.
#include <cmath>

#include <doctest/doctest.h>

#include "tests/graph/run/run_on_levels.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using Inputs = std::vector<reference::Tensor>;
using test::compile_on;
using test::cpu_levels;
using test::element;
using test::run_once;

TEST_CASE("indices and counts are exact beyond 2^24" * test::Sliced()) {
  constexpr std::int64_t kCount = (1 << 24) + 5;
  GraphBuilder builder("counts");
  const Tensor x = builder.input("x", DType::kU8, {Dim("n").at_least(1)});
  CHECK(argmax(x, 0).dtype() == DType::kI64);
  builder.output("argmax", argmax(x, 0));
  builder.output("argmin of f32", argmin(-cast(x, DType::kF32), 0));
  builder.output("count", reduce_sum(cast(less(x, 200), DType::kI64), {0}));
  builder.output("sum of ones", reduce_sum(cast(greater_equal(x, 0), DType::kF32), {0}));
  const Graph graph = builder.finish().value();
  reference::Tensor values(DType::kU8, {kCount});
  *values.element(kCount - 2) = std::byte{200};
  for (const std::string& device : cpu_levels()) {
    CAPTURE(device);
    const Inputs found = run_once(compile_on(device, graph), std::span(&values, 1));
    CHECK(reference::read_all<reference::Int128>(found[0])[0] == kCount - 2);
    CHECK(reference::read_all<reference::Int128>(found[1])[0] == kCount - 2);
    CHECK(reference::read_all<reference::Int128>(found[2])[0] == kCount - 1);
    CHECK(element(found[3], 0) == static_cast<long double>(static_cast<float>(kCount)));
  }
}

TEST_CASE("an iota of floats converts each index, and a resize finds each position, beyond 2^24" * test::Sliced()) {
  constexpr std::int64_t kCount = (1 << 24) + 7;
  GraphBuilder builder("positions");
  const Tensor x = builder.input("x", DType::kU8, {3});
  const Tensor i = iota(builder, DType::kF32, {kCount}, 0);
  builder.output("last", slice(i, {kCount - 4}, {kCount}));
  builder.output("resized", resize(x, {0}, {kCount}, ResizeMode::kNearest, ResizeCoordinates::kAsymmetric));
  const Graph graph = builder.finish().value();
  reference::Tensor values(DType::kU8, {3});
  for (std::int64_t at = 0; at < 3; ++at) *values.element(at) = static_cast<std::byte>(at);
  for (const std::string& device : cpu_levels()) {
    CAPTURE(device);
    const Inputs found = run_once(compile_on(device, graph), std::span(&values, 1));
    for (std::int64_t at = 0; at < 4; ++at) {
      CHECK(element(found[0], at) == static_cast<long double>(static_cast<float>(kCount - 4 + at)));
    }
    std::int64_t num_wrong = 0;
    for (std::int64_t at = 0; at < kCount; ++at) {
      num_wrong += *found[1].element(at) == static_cast<std::byte>(at * 3 / kCount) ? 0 : 1;
    }
    CHECK(num_wrong == 0);
  }
}

TEST_CASE("random numbers of positions beyond 2^24 are multiples of 2^-24 with the mean of a half" * test::Sliced()) {
  constexpr std::int64_t kCount = (1 << 24) + 4096;
  GraphBuilder builder("uniform");
  const Tensor seed = builder.input("seed", DType::kU64, {});
  const Tensor uniform = random_uniform(seed, {kCount});
  builder.output("mean", reduce_mean(uniform, {0}));
  builder.output("last", slice(uniform, {kCount - 4096}, {kCount}));
  reference::Tensor value(DType::kU64, {});
  *value.element(0) = std::byte{9};
  const Inputs found = run_once(compile_on(cpu_levels().back(), builder.finish().value()), std::span(&value, 1));
  CHECK(std::fabs(element(found[0], 0) - 0.5L) < 5e-4L);  // seven deviations: 1 / sqrt(12 * 2^24) each
  for (std::int64_t i = 0; i < 4096; ++i) {
    const long double scaled = element(found[1], i) * 0x1p24L;
    REQUIRE((scaled == std::floor(scaled) && scaled >= 0 && scaled < 0x1p24L));
  }
}

}  // namespace
}  // namespace millrace
