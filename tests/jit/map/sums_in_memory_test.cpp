// SPDX-License-Identifier: Apache-2.0
// Sums of columns keep their accumulators in memory where the rows are long and far apart, and have the values of plain
// loops for every height and width.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/jit/loop_kernel_builder.h"
#include "millrace/jit/map_kernel.h"
#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/guarded_memory.h"

namespace millrace {
namespace {

constexpr IsaLevel kLevels[] = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};

/// The sum, or another reduction, of each column of x[rows, columns].
LoopKernel column_nest(const SizeExpr& rows, std::int64_t columns, DType dtype = DType::kF32,
                       ReductionKind kind = ReductionKind::kSum) {
  LoopKernelBuilder nest("columns");
  const AffineIndex j = nest.parallel("j", columns), i = nest.reduction("i", rows);
  const BodyValue element = nest.load(nest.term(), nest.operand("x", {dtype, {rows, columns}}), {i, j});
  const DType result = returns_index(kind) ? DType::kI64 : dtype;
  nest.store("y", {result, {columns}}, {j}, nest.reduce(kind, element));
  return nest.finish().value();
}

Tiling tiling_of(const LoopKernel& kernel) { return choose_tiling(kernel, {.isa = IsaLevel::kAvx2}); }

TEST_CASE("sums of at most 128 long rows are in memory, in pieces of 8 KiB") {
  CHECK(tiling_of(column_nest(128, 1024)).sums_in_memory);
  CHECK(tiling_of(column_nest(128, 1024)).vector_unroll == 128);
  CHECK(tiling_of(column_nest(128, 2048 * 3)).vector_unroll == 256);
  CHECK(tiling_of(column_nest(128, 1000)).vector_unroll == 125);
  CHECK(tiling_of(column_nest(16, 1024)).sums_in_memory);
  CHECK(tiling_of(column_nest(129, 1024, DType::kI32)).sums_in_memory);  // integers need no levels
  CHECK(!tiling_of(column_nest(129, 1024)).sums_in_memory);
  CHECK(!tiling_of(column_nest(15, 1024)).sums_in_memory);
  CHECK(!tiling_of(column_nest(128, 511)).sums_in_memory);  // rows of less than 2 KiB
  CHECK(!tiling_of(column_nest(Dim("n").at_most(128), 1024)).sums_in_memory);
  CHECK(!tiling_of(column_nest(128, 1024, DType::kF32, ReductionKind::kArgMax)).sums_in_memory);
}

/// Element (i, j) is a small integer, so that every order of summation gives the same sum.
float element_at(std::int64_t i, std::int64_t j) { return static_cast<float>((i * 31 + j * 7) % 13) - 5; }

void check_columns(std::int64_t rows, std::int64_t columns, test::GuardedMemory::Side side,
                   const LowerOptions& options) {
  CAPTURE(rows);
  CAPTURE(columns);
  const test::GuardedMemory memory(static_cast<std::size_t>(rows * columns) * sizeof(float), side);
  auto* x = reinterpret_cast<float*>(memory.data());
  std::vector<float> expected(static_cast<std::size_t>(columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      x[i * columns + j] = element_at(i, j);
      expected[static_cast<std::size_t>(j)] += element_at(i, j);
    }
  }
  memory.make_read_only();
  for (const IsaLevel level : kLevels) {
    const test::GuardedMemory result(expected.size() * sizeof(float), side);
    const Result<KernelSequence> sequence =
        lower_request(column_nest(rows, columns), test::interpreted_target(level), options);
    REQUIRE(sequence.status().message() == "");
    CHECK(test::run_sequence(*sequence, {x}, {result.data()}, {}) == 0);
    const auto* y = reinterpret_cast<const float*>(result.data());
    CHECK(std::equal(expected.begin(), expected.end(), y));
  }
}

TEST_CASE("sums in memory equal plain loops for every remainder of rows and columns") {
  for (const std::int64_t rows : {16, 17, 18, 19, 128}) {
    for (const std::int64_t columns : {512, 513, 1000, 1001, 4103}) {
      for (const auto side : {test::GuardedMemory::Side::kEnd, test::GuardedMemory::Side::kStart}) {
        check_columns(rows, columns, side, test::forced("loop_direct"));
      }
    }
  }
}

TEST_CASE("long columns are summed in parts of at most 128 rows, whatever divides their length") {
  for (const std::int64_t rows : {511, 512, 1009, 2055}) {
    check_columns(rows, 520, test::GuardedMemory::Side::kEnd, {.compile = {.allow_reference = true}});
  }
  for (const std::int64_t rows : {512, 1009, 2048, 2055, 2101, 3000, 20'011}) {
    CAPTURE(rows);
    const KernelSequence sequence = lower_request(column_nest(rows, 1024), test::interpreted_target(IsaLevel::kAvx2),
                                                  {.compile = {.allow_reference = true}})
                                        .value();
    CHECK(sequence.kernels.size() >= 2);
    CHECK(sequence.kernels[0].kernel.mapping.find("sums in memory") != std::string::npos);
  }
}

}  // namespace
}  // namespace millrace
