// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include "millrace/hal/host_kernel.h"
#include "millrace/jit/map_kernel.h"
#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

using test::forced;
using test::GuardedMemory;
using test::interpreted_target;
using test::matmul_nest;
using test::run_sequence;
using test::unary_nest;

constexpr IsaLevel kLevels[] = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};

std::uint32_t run(const LoopKernel& kernel, IsaLevel level, const std::vector<void*>& operands,
                  const std::vector<void*>& results, const SymbolValues& symbols = {}) {
  const Result<KernelSequence> sequence = lower_request(kernel, interpreted_target(level), forced("loop_direct"));
  REQUIRE(sequence.status().message() == "");
  return run_sequence(*sequence, operands, results, symbols);
}

/// y[i, c] = table[ids[i], c], or table[ids[c], i] when the ids change along the lanes.
LoopKernel gather_nest(std::int64_t rows, std::int64_t count, std::int64_t columns, bool along_lanes) {
  LoopKernelBuilder nest("gather");
  const Shape shape = along_lanes ? Shape{columns, count} : Shape{count, columns};
  const std::vector<AffineIndex> point = nest.parallel_dims(shape);
  const OperandId table = nest.operand("table", {DType::kF32, {rows, columns}});
  const OperandId ids = nest.operand("ids", {DType::kI64, {count}});
  BodyBuilder& b = nest.epilogue();
  const BodyValue id = nest.load(b, ids, {point[along_lanes ? 1 : 0]});
  const BodyValue checked = b.check_index(id, b.constant_int(DType::kI64, rows));
  nest.store("y", {DType::kF32, shape}, point,
             nest.load(b, table, {AffineIndex{}, point[along_lanes ? 0 : 1]}, {.gather_index = checked}));
  return nest.finish().value();
}

TEST_CASE("gathered rows and lanes wrap once, and a bad index is reported without leaving the table") {
  std::vector<float> table(5 * 19);
  std::iota(table.begin(), table.end(), 0.0f);
  for (const IsaLevel level : kLevels) {
    for (const bool along_lanes : {false, true}) {
      std::vector<std::int64_t> ids = {4, -1, 0, 2, -5, 3, 3};
      std::vector<float> y(7 * 19);
      const LoopKernel kernel = gather_nest(5, 7, 19, along_lanes);
      CHECK(run(kernel, level, {table.data(), ids.data()}, {y.data()}) == 0);
      std::size_t num_wrong = 0;
      for (std::size_t i = 0; i < 7; ++i) {
        for (std::size_t c = 0; c < 19; ++c) {
          const auto row = static_cast<std::size_t>(ids[i] < 0 ? ids[i] + 5 : ids[i]);
          num_wrong += (along_lanes ? y[c * 7 + i] : y[i * 19 + c]) != table[row * 19 + c];
        }
      }
      CHECK(num_wrong == 0);
      for (const std::int64_t bad : {std::int64_t{5}, std::int64_t{-6}, std::numeric_limits<std::int64_t>::max()}) {
        ids[6] = bad;
        CHECK(run(kernel, level, {table.data(), ids.data()}, {y.data()}) ==
              static_cast<std::uint32_t>(KernelError::kIndexOutOfRange));
      }
    }
  }
}

TEST_CASE("a body computes with a size that the launch binds, and the verifier knows the sizes") {
  const SizeExpr n = Dim("n");
  LoopKernelBuilder nest("distance_to_end");
  const AffineIndex i = nest.parallel("d0", n);
  BodyBuilder& b = nest.epilogue();
  const BodyValue end = nest.extent(b, n * 2);
  nest.store("y", {DType::kI64, {n}}, {i}, b.sub(end, nest.index(b, i)));
  LoopKernel kernel = nest.finish().value();
  for (const IsaLevel level : kLevels) {
    std::vector<std::int64_t> y(37);
    const Result<KernelSequence> sequence = lower_request(kernel, interpreted_target(level), forced(""));
    REQUIRE(sequence.status().message() == "");
    CHECK(run_sequence(*sequence, {}, {y.data()}, {{"n", 37}}) == 0);
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < y.size(); ++i) num_wrong += y[i] != 74 - static_cast<std::int64_t>(i);
    CHECK(num_wrong == 0);
  }
  CHECK(to_text(KernelOp::kExtent) == "extent");
  kernel.extents.clear();
  CHECK(verify(kernel).message() ==
        "loop kernel 'distance_to_end': epilogue: %0 = extent: extent 0, expected less than 0");
}

TEST_CASE("an index into a table of no rows is reported and touches nothing") {
  const GuardedMemory table(0, GuardedMemory::Side::kEnd);
  std::vector<std::int64_t> ids = {0, 3};
  std::vector<float> y(2 * 5);
  for (const bool along_lanes : {false, true}) {
    CHECK(run(gather_nest(0, 2, 5, along_lanes), IsaLevel::kAvx2, {table.data(), ids.data()}, {y.data()}) ==
          static_cast<std::uint32_t>(KernelError::kIndexOutOfRange));
  }
}

LoopKernel arg_nest(ReductionKind kind, std::int64_t rows, std::int64_t columns, bool along_rows) {
  LoopKernelBuilder nest{std::string(to_text(kind))};
  const std::int64_t num_results = along_rows ? columns : rows;
  const AffineIndex m = nest.parallel("m", num_results), k = nest.reduction("k", along_rows ? rows : columns);
  const OperandId x = nest.operand("x", {DType::kF32, {rows, columns}});
  const BodyValue element = nest.load(nest.term(), x, {along_rows ? k : m, along_rows ? m : k});
  nest.store("y", {DType::kI64, {num_results}}, {m}, nest.reduce(kind, element));
  return nest.finish().value();
}

/// `sign`: 1 for the maximum, -1 for the minimum.
std::int64_t arg_of(float sign, const std::vector<float>& values) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const bool is_nan = std::isnan(values[i]) && !std::isnan(values[best]);
    if (is_nan || sign * values[i] > sign * values[best]) best = i;
  }
  return static_cast<std::int64_t>(best);
}

TEST_CASE("argmin and argmax find the first of equals, and NaN before all others, along lanes or rows") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t n : {1, 2, 3, 7, 16, 17, 33, 100}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<std::vector<float>> rows = {std::vector<float>(size, -infinity), std::vector<float>(size, 2.0f),
                                            std::vector<float>(size, nan), std::vector<float>(size, -3.0f)};
    rows.push_back(rows[3]);
    rows.push_back(rows[3]);
    rows[3][size / 2] = rows[3][size - 1] = 5;
    rows[4][size / 3] = rows[4][size - 1] = nan;
    rows[5][size - 1] = infinity;
    rows[5][size / 2] = -infinity;
    std::vector<float> by_rows, by_columns(6 * size);
    for (std::size_t r = 0; r < 6; ++r) {
      by_rows.insert(by_rows.end(), rows[r].begin(), rows[r].end());
      for (std::size_t i = 0; i < size; ++i) by_columns[i * 6 + r] = rows[r][i];
    }
    for (const IsaLevel level : kLevels) {
      for (const auto& [kind, sign] :
           {std::pair(ReductionKind::kArgMax, 1.0f), std::pair(ReductionKind::kArgMin, -1.0f)}) {
        std::vector<std::int64_t> found(6), found_down(6);
        CHECK(run(arg_nest(kind, 6, n, false), level, {by_rows.data()}, {found.data()}) == 0);
        CHECK(run(arg_nest(kind, n, 6, true), level, {by_columns.data()}, {found_down.data()}) == 0);
        for (std::size_t r = 0; r < 6; ++r) {
          CHECK(found[r] == arg_of(sign, rows[r]));
          CHECK(found_down[r] == arg_of(sign, rows[r]));
        }
      }
    }
  }
}

TEST_CASE("two reductions share one pass, and the epilogue stores two results") {
  LoopKernelBuilder nest("range");
  const AffineIndex m = nest.parallel("m", 3), k = nest.reduction("k", 37);
  const BodyValue element = nest.load(nest.term(), nest.operand("x", {DType::kF32, {3, 37}}), {m, k});
  const BodyValue lowest = nest.reduce(ReductionKind::kMin, element);
  const BodyValue highest = nest.reduce(ReductionKind::kMax, element);
  nest.store("spread", {DType::kF32, {3}}, {m}, nest.epilogue().sub(highest, lowest));
  nest.store("maxima", {DType::kF16, {3}}, {m}, highest);
  const LoopKernel kernel = nest.finish().value();
  std::vector<float> x(3 * 37);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 40);
  for (const IsaLevel level : kLevels) {
    std::vector<float> spread(3);
    std::vector<Half> maxima(3);
    CHECK(run(kernel, level, {x.data()}, {spread.data(), maxima.data()}) == 0);
    for (std::size_t r = 0; r < 3; ++r) {
      const auto [low, high] =
          std::minmax_element(x.begin() + static_cast<long>(r) * 37, x.begin() + static_cast<long>(r + 1) * 37);
      CHECK(spread[r] == *high - *low);
      CHECK(static_cast<float>(maxima[r]) == *high);
    }
  }
}

TEST_CASE("a tiling that a nest cannot have is refused") {
  const TargetSpec target{"cpu", IsaLevel::kAvx2};
  const LoopKernel kernel = matmul_nest(8, 16, 4);
  const auto refusal = [&](Tiling tiling) { return map_kernel(kernel, target, tiling).status().message(); };
  const Tiling good{1, 8, 2, 0, 4, 1000};
  CHECK(refusal(good) == "");
  Tiling bad = good;
  bad.lanes = 6;
  CHECK(refusal(bad) ==
        "map 'matmul' with tiling { d1 x 6 lanes x 2, rows d0 x 4, 1000 points per group }: lanes must be a power of "
        "two");
  bad = good;
  bad.row_dim = 2;
  CHECK(
      refusal(bad) ==
      "map 'matmul' with tiling { d1 x 8 lanes x 2, rows d2 x 4, 1000 points per group }: rows along a reduction dim");
  bad = good;
  bad.transposes_loads = true;
  CHECK(
      refusal(bad) ==
      "map 'matmul' with tiling { d1 x 8 lanes x 2, rows d0 x 4, 1000 points per group, loads transposed }: transposed "
      "loads "
      "in a block that is not square");
  bad = good;
  bad.row_dim = 1;
  CHECK(refusal(bad) ==
        "map 'matmul' with tiling { d1 x 8 lanes x 2, rows d1 x 4, 1000 points per group }: more than one "
        "row, but no separate row dim");
  bad = good;
  bad.vector_dim = 3;
  CHECK(refusal(bad) ==
        "map 'matmul' with tiling { d3 x 8 lanes x 2, rows d0 x 4, 1000 points per group }: more than one "
        "lane, but no lane dim");
  bad = good;
  bad.points_per_group = 0;
  CHECK(refusal(bad) ==
        "map 'matmul' with tiling { d1 x 8 lanes x 2, rows d0 x 4, 0 points per group }: no points in a group");
  bad = good;
  bad.row_unroll = 0;
  CHECK(refusal(bad) ==
        "map 'matmul' with tiling { d1 x 8 lanes x 2, rows d0 x 0, 1000 points per group }: an unroll is 0");
  bad = good;
  bad.term_unroll = 2;
  CHECK(refusal(bad) == "");
  bad.vector_dim = 2;
  CHECK(refusal(bad) ==
        "map 'matmul' with tiling { d2 x 8 lanes x 2, rows d0 x 4, 1000 points per group, 2 terms at a time }: terms "
        "unrolled along lanes");
  CHECK(map_kernel(arg_nest(ReductionKind::kArgMax, 8, 16, true), target, {1, 8, 1, 1, 1, 1000, false, false, false, 2})
            .status()
            .message() ==
        "map 'argmax' with tiling { d1 x 8 lanes x 1, rows d1 x 1, 1000 points per group, 2 terms at a time }: terms "
        "unrolled, but no reduction of values");
  CHECK(map_kernel(kernel, {"amdgpu", IsaLevel::kBaseline}).status().code() == StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace millrace
