// SPDX-License-Identifier: Apache-2.0
// Mistakes injected into the kernels of mapped nests, found by the simulator.
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include <doctest/doctest.h>

#include "tests/jit/algorithms/observed_sequence.h"
#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

/// A nest over numbers whose sums are exact, and the results of plain loops.
struct Problem {
  LoopKernel nest;
  std::vector<std::vector<float>> operands;
  std::vector<std::byte> expected;
};

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 7 + i / 5) % 23 + 1);
  return values;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

Problem row_reduction(ReductionKind kind, std::int64_t rows, std::int64_t columns) {
  Problem problem{
      test::row_reduction_nest(kind, rows, columns), {numbers(static_cast<std::size_t>(rows * columns))}, {}};
  std::vector<float> sums;
  std::vector<std::int64_t> indices;
  for (auto row = problem.operands[0].begin(); row != problem.operands[0].end(); row += columns) {
    sums.push_back(std::accumulate(row, row + columns, 0.0f));
    const auto end = row + columns;
    indices.push_back((kind == ReductionKind::kArgMin ? std::min_element(row, end) : std::max_element(row, end)) - row);
  }
  problem.expected = returns_index(kind) ? bytes_of(indices) : bytes_of(sums);
  return problem;
}

Problem product(std::size_t m, std::size_t n, std::size_t k) {
  const auto extent = [](std::size_t size) { return SizeExpr(static_cast<std::int64_t>(size)); };
  Problem problem{test::matmul_nest(extent(m), extent(n), extent(k)), {numbers(m * k), numbers(k * n)}, {}};
  std::vector<float> c(m * n);
  for (std::size_t i = 0; i < m * n * k; ++i) {
    const std::size_t row = i / (n * k), column = i / k % n, at = i % k;
    c[row * n + column] += problem.operands[0][row * k + at] * problem.operands[1][at * n + column];
  }
  problem.expected = bytes_of(c);
  return problem;
}

std::string complaint(const KernelSequence& sequence, const Problem& problem) {
  auto operands = problem.operands;
  std::vector<std::byte> result(problem.expected.size());
  test::SequenceRun run{.operands = {}, .results = {{result.data(), result.size()}}};
  for (auto& operand : operands) run.operands.push_back({operand.data(), operand.size() * sizeof(float)});
  const std::string finding = test::finding_in(sequence, run);
  if (!finding.empty()) return finding;
  return result == problem.expected ? "" : "wrong";
}

TEST_CASE("each mistake in a nest that is mapped to a GPU is found") {
  struct Row {
    const char* gfx;
    Problem problem;
    std::size_t num_found;
    std::size_t num_in_loops, num_harmless_loops;  // a step past the end that is masked, or finds no greater element
  };
  // Subgroups of 32, then of 64.
  const Row rows[] = {{"gfx1100", row_reduction(ReductionKind::kSum, 3, 1500), 3, 2, 0},
                      {"gfx1100", row_reduction(ReductionKind::kArgMax, 3, 1500), 5, 1, 1},
                      {"gfx1100", row_reduction(ReductionKind::kSum, 50, 100), 3, 2, 0},
                      {"gfx1100", product(20, 33, 40), 14, 3, 1},
                      {"gfx1100", product(64, 48, 33), 9, 3, 1},
                      {"gfx90a", row_reduction(ReductionKind::kArgMin, 3, 1500), 5, 1, 1},
                      {"gfx90a", row_reduction(ReductionKind::kSum, 3, 1500), 3, 2, 0},
                      {"gfx90a", row_reduction(ReductionKind::kArgMax, 3, 1500), 5, 1, 1},
                      {"gfx90a", row_reduction(ReductionKind::kSum, 50, 100), 3, 2, 0},
                      {"gfx90a", product(20, 33, 40), 14, 3, 1},
                      {"gfx90a", product(64, 48, 33), 9, 3, 1}};
  for (const auto& [gfx, problem, num_found, num_in_loops, num_harmless_loops] : rows) {
    CAPTURE(gfx);
    const KernelSequence sequence = lower_request(problem.nest, test::gpu_target(gfx), test::forced("")).value();
    REQUIRE(complaint(sequence, problem) == "");
    const auto complaint_of = [&problem = problem](const KernelSequence& wrong) { return complaint(wrong, problem); };
    const test::Mistakes mistakes = test::find_mistakes(sequence, complaint_of);
    const test::Mistakes in_loops = test::find_loop_mistakes(sequence, complaint_of);
    CAPTURE(to_text(std::get<MachineKernel>(sequence.kernels[0].kernel.mapped)));
    CHECK(mistakes.num_found == num_found);
    CHECK(mistakes.num_harmless == 0);
    CHECK(in_loops.num_found == num_in_loops);
    CHECK(in_loops.num_harmless == num_harmless_loops);
  }
}

}  // namespace
}  // namespace millrace
