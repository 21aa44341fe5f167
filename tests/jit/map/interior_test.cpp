// SPDX-License-Identifier: Apache-2.0
// Tiles inside a padded picture have code of their own, without bounds checks, where there are enough of them.
#include <algorithm>
#include <limits>

#include <doctest/doctest.h>

#include "millrace/jit/loop_kernel_builder.h"
#include "millrace/jit/map_kernel.h"
#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/guarded_memory.h"

namespace millrace {
namespace {

constexpr IsaLevel kLevels[] = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};
constexpr float kLowest = -std::numeric_limits<float>::infinity();

struct Pool {
  std::int64_t window = 3, stride = 2, padding = 1;
};

std::int64_t pooled(const Pool& pool, std::int64_t size) {
  return (size + 2 * pool.padding - pool.window) / pool.stride + 1;
}

/// The maximum of each window of x[channels, height, width].
LoopKernel pool_nest(const Pool& pool, std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kChannels = 2;
  LoopKernelBuilder nest("pool");
  const Shape shape = {kChannels, pooled(pool, height), pooled(pool, width)};
  const std::vector<AffineIndex> point = nest.parallel_dims(shape);
  const AffineIndex kh = nest.reduction("kh", pool.window), kw = nest.reduction("kw", pool.window);
  const OperandId x = nest.operand("x", {DType::kF32, {kChannels, height, width}});
  const BodyValue element =
      nest.load(nest.term(), x,
                {point[0], point[1] * pool.stride + kh - pool.padding, point[2] * pool.stride + kw - pool.padding},
                {.fill = Scalar::of<float>(kLowest)});
  nest.store("y", {DType::kF32, shape}, point, nest.reduce(ReductionKind::kMax, element));
  return nest.finish().value();
}

Tiling tiling_of(const LoopKernel& kernel, IsaLevel level) { return choose_tiling(kernel, {.isa = level}); }

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_CASE("a picture of three tiles or more has an interior, in tiles that are short beside a row") {
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    CHECK(tiling_of(pool_nest({}, 112, 112), level).splits_interior);
    CHECK(tiling_of(pool_nest({}, 112, 112), level).vector_unroll == 1);
    CHECK(tiling_of(pool_nest({}, 112, 4096), level).vector_unroll > 1);
    CHECK(!tiling_of(pool_nest({}, 112, 28), level).splits_interior);  // 14 columns: less than three vectors
    CHECK(!tiling_of(pool_nest({}, 4, 112), level).splits_interior);   // 2 rows, both at an edge
    CHECK(!tiling_of(pool_nest({.padding = 0}, 112, 112), level).splits_interior);
  }
  const std::string whole = to_text(map_kernel(pool_nest({}, 112, 112), {.isa = IsaLevel::kAvx2}).value());
  CHECK(count(whole, "if ") == 1);
}

TEST_CASE("a sum whose window depends on the launch has no interior") {
  LoopKernelBuilder nest("window");
  const SizeExpr taps = Dim("taps").at_least(1).at_most(9);
  const AffineIndex i = nest.parallel("i", 1000), k = nest.reduction("k", taps);
  const OperandId x = nest.operand("x", {DType::kF32, {1000}});
  const BodyValue element = nest.load(nest.term(), x, {i + k - 4}, {.fill = Scalar::of<float>(0)});
  nest.store("y", {DType::kF32, {1000}}, {i}, nest.reduce(ReductionKind::kSum, element));
  CHECK(!tiling_of(nest.finish().value(), IsaLevel::kAvx2).splits_interior);
}

/// pool_nest() as plain loops.
std::vector<float> pool_plainly(const Pool& pool, std::int64_t height, std::int64_t width, const float* x) {
  const std::int64_t rows = pooled(pool, height), columns = pooled(pool, width);
  std::vector<float> y;
  for (std::int64_t i = 0; i < 2 * rows * columns; ++i) {
    const std::int64_t c = i / (rows * columns), oh = i / columns % rows, ow = i % columns;
    float best = kLowest;
    for (std::int64_t tap = 0; tap < pool.window * pool.window; ++tap) {
      const std::int64_t h = oh * pool.stride + tap / pool.window - pool.padding;
      const std::int64_t w = ow * pool.stride + tap % pool.window - pool.padding;
      if (h >= 0 && h < height && w >= 0 && w < width) best = std::max(best, x[(c * height + h) * width + w]);
    }
    y.push_back(best);
  }
  return y;
}

void check_pool(const Pool& pool, std::int64_t height, std::int64_t width, test::GuardedMemory::Side side) {
  const auto elements = static_cast<std::size_t>(2 * height * width);
  const test::GuardedMemory memory(elements * sizeof(float), side);
  auto* x = reinterpret_cast<float*>(memory.data());
  for (std::size_t i = 0; i < elements; ++i) x[i] = static_cast<float>((i * 7919) % 1009) - 2000;
  const std::vector<float> expected = pool_plainly(pool, height, width, x);
  for (const IsaLevel level : kLevels) {
    CAPTURE(to_text(level));
    std::vector<float> y(expected.size());
    const Result<KernelSequence> sequence =
        lower_request(pool_nest(pool, height, width), test::interpreted_target(level), test::forced("loop_direct"));
    REQUIRE(sequence.status().message() == "");
    CHECK(test::run_sequence(*sequence, {x}, {y.data()}, {}) == 0);
    CHECK(y == expected);
  }
}

TEST_CASE("padded windows of every size equal plain loops, on every level, and read nothing beside the picture") {
  for (const std::int64_t width : {1, 5, 16, 23, 24, 25, 47, 64, 112, 131}) {
    for (const Pool& pool :
         {Pool{}, Pool{.window = 2, .stride = 1, .padding = 1}, Pool{.window = 5, .stride = 2, .padding = 2},
          Pool{.window = 3, .stride = 3, .padding = 2}}) {
      if (width + 2 * pool.padding < pool.window) continue;
      CAPTURE(width);
      CAPTURE(pool.window);
      for (const auto side : {test::GuardedMemory::Side::kEnd, test::GuardedMemory::Side::kStart}) {
        check_pool(pool, 7, width, side);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
