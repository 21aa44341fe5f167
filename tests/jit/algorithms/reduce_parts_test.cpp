// SPDX-License-Identifier: Apache-2.0
// Which reductions are cut into parts, and for how many groups.
#include <doctest/doctest.h>

#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

using test::forced;
using test::interpreted_target;
using test::row_reduction_nest;

KernelSequence lowered(const LoopKernel& kernel) {
  return lower_request(kernel, interpreted_target(IsaLevel::kAvx2), {}).value();
}

/// The groups of each kernel, with n bound.
std::vector<std::int64_t> groups_of(const KernelSequence& sequence, std::int64_t n) {
  std::vector<std::int64_t> groups;
  for (const SequenceKernel& kernel : sequence.kernels) {
    groups.push_back(kernel.kernel.num_groups.evaluate({{"n", n}}).value());
  }
  return groups;
}

TEST_CASE("a long row is cut into parts, each for a group of its own") {
  struct Row {
    std::int64_t n;
    std::vector<std::int64_t> groups;  // of the parts, of the rest if there is one, and of the join
  };
  const Row rows[] = {{(1 << 18) - 1, {1}},     // too short
                      {1 << 18, {4, 1}},        // the minimum number of parts
                      {1'000'003, {15, 1, 1}},  // a prime: the parts are not even
                      {10'000'000, {64, 1}},    // as many as are wanted
                      {100'000'007, {64, 1, 1}}};
  for (const Row& row : rows) {
    CAPTURE(row.n);
    CHECK(groups_of(lowered(row_reduction_nest(ReductionKind::kSum, 1, row.n)), row.n) == row.groups);
  }
}

TEST_CASE("a run that binds a long row has the same number of groups, and a short row uses the whole nest") {
  const KernelSequence sequence = lowered(row_reduction_nest(ReductionKind::kSum, 1, Dim("n")));
  CHECK(sequence.algorithm == "reduce_parts, loop_direct");
  CHECK(groups_of(sequence, 10'000'000) == std::vector<std::int64_t>{64, 1, 1, 0});
  CHECK(groups_of(sequence, 1000) == std::vector<std::int64_t>{0, 0, 0, 1});
}

TEST_CASE("nests with enough groups, short ones and products with tiles stay whole") {
  CHECK(lowered(row_reduction_nest(ReductionKind::kMax, 64, 1 << 20)).algorithm == "loop_direct");
  CHECK(lowered(row_reduction_nest(ReductionKind::kMax, Dim("m"), 1 << 20)).algorithm == "loop_direct");
  CHECK(lowered(row_reduction_nest(ReductionKind::kMax, 4, 1 << 20)).algorithm == "reduce_parts");
  CHECK(lowered(test::matmul_nest(5, 5, 1 << 20)).algorithm == "loop_direct");
  CHECK(lowered(test::matmul_nest(1, 1, 1 << 20)).algorithm == "reduce_parts");
}

TEST_CASE("a nest that cannot be cut gives the reason") {
  LoopKernelBuilder nest("embed");
  const AffineIndex inner = nest.reduction("k", 100);
  const OperandId table = nest.operand("table", {DType::kF32, {50}});
  BodyBuilder& term = nest.term();
  const BodyValue index = nest.load(term, nest.operand("i", {DType::kI64, {100}}), {inner});
  const BodyValue element = nest.load(term, table, {AffineIndex{}}, {.fill = {}, .gather_index = index});
  nest.store("y", {DType::kF32, {}}, {}, nest.reduce(ReductionKind::kSum, element));
  const Target target = interpreted_target(IsaLevel::kAvx2);
  CHECK(lower_request(nest.finish().value(), target, forced("reduce_parts")).status().message() ==
        "lower 'embed' for cpu:avx2: no algorithm lowers it; reduce_parts: the term gathers from 'table'");
  CHECK(lower_request(test::transpose_nest(DType::kF32, 4, 4), target, forced("reduce_parts")).status().message() ==
        "lower 'transpose' for cpu:avx2: no algorithm lowers it; reduce_parts: no reduction, or one with enough "
        "groups");
}

}  // namespace
}  // namespace millrace
