// SPDX-License-Identifier: Apache-2.0
// The bits of results do not depend on how many threads run a dispatch, nor on which of them runs what.
#include <cstring>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/executors.h"
#include "tests/support/in_turn.h"
#include "tests/support/op_driver.h"
#include "tests/support/op_samples.h"
#include "tests/support/slice.h"

using namespace millrace;
using namespace millrace::test;
using reference::Tensor;

namespace {

struct NamedExecutor {
  std::string name;
  std::shared_ptr<Executor> executor;
};

std::vector<NamedExecutor> executors() {
  std::vector<NamedExecutor> all;
  for (const std::uint32_t threads : {2u, 3u, 8u}) {
    all.push_back({fmt::format("{} threads", threads), create_thread_pool({.num_threads = threads}).value()});
  }
  all.push_back({"7 shares in reverse", make_executor(ExecutorKind::kReverse, 7)});
  return all;
}

/// Runs one problem inline and on each executor, and compares bits.
void check(const std::string& label, Op op, const Attributes& attributes, std::span<const Tensor> operands,
           std::span<const NamedExecutor> all) {
  OpRunOptions options;
  options.run.target = host_targets().back();
  const Result<OpRun> inlined = run_op(op, attributes, operands, options);
  REQUIRE_MESSAGE(inlined.ok(), label, ": ", inlined.status().message());
  for (const NamedExecutor& each : all) {
    options.run.executor = each.executor;
    for (int turn = 0; turn < 2; ++turn) {
      const Result<OpRun> shared = run_op(op, attributes, operands, options);
      REQUIRE_MESSAGE(shared.ok(), label, " on ", each.name, ": ", shared.status().message());
      for (std::size_t i = 0; i < shared->results.size(); ++i) {
        CHECK_MESSAGE(shared->results[i].bytes == inlined->results[i].bytes, label, " on ", each.name, ", result ", i);
      }
    }
  }
}

Tensor random_row(std::int64_t rows, std::int64_t n) {
  Tensor tensor(DType::kF32, {rows, n});
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> numbers(-1, 1);
  for (std::int64_t i = 0; i < rows * n; ++i) {
    const float value = numbers(random);
    std::memcpy(tensor.element(i), &value, sizeof(value));
  }
  return tensor;
}

}  // namespace

TEST_CASE("every op has the same bits on 1, 2, 3 and 8 threads" * test::InTurn()) {
  const std::vector<NamedExecutor> all = executors();
  const Slice slice = tested_slice();
  std::size_t number = 0;
  for (const OpCase& row : op_cases()) {
    for (const DType dtype : row.dtypes) {
      // Each row with one dtype, and a slice of the other ones.
      ++number;
      if (dtype != row.dtypes.front() && !slice.has(number)) continue;
      const OpProblems problems = row.problems(8);
      for (const OpProblem& problem : {problems.back(), problems[number % problems.size()]}) {
        std::mt19937_64 random(number);
        const std::vector<Tensor> operands = sample_operands(row, problem, dtype, random);
        check(fmt::format("{} {} problem {}", to_text(row.op), to_text(dtype), number), row.op,
              attributes_for(problem, dtype), operands, all);
      }
    }
  }
}

TEST_CASE("what is large enough to be shared in practice has the same bits on 1, 2, 3 and 8 threads" * test::InTurn()) {
  const std::vector<NamedExecutor> all = executors();
  for (const OpCase& row : op_cases()) {
    const OpProblem problem = row.large();
    const DType dtype = row.dtypes.front();
    std::mt19937_64 random(3);
    check(fmt::format("large {}", to_text(row.op)), row.op, attributes_for(problem, dtype),
          sample_operands(row, problem, dtype, random), all);
  }
}

TEST_CASE("long rows, which kernels cut in parts, have the same bits on 1, 2, 3 and 8 threads" * test::InTurn()) {
  const std::vector<NamedExecutor> all = executors();
  const Tensor long_row = random_row(1, 5 << 20), sorted_row = random_row(1, 1'000'000);
  for (const Op op : {Op::cumulative_sum, Op::cumulative_max}) {
    check(fmt::format("long {}", to_text(op)), op, ScanAttrs{.axis = 1}, std::span(&long_row, 1), all);
  }
  check("long argmax", Op::argmax, ArgAttrs{.axis = 1}, std::span(&long_row, 1), all);
  check("long topk", Op::topk, TopKAttrs{.k = 100}, std::span(&long_row, 1), all);
  check("long sort", Op::sort, SortAttrs{}, std::span(&sorted_row, 1), all);
}

TEST_CASE("sums of ten million elements have the same bits on 1, 2, 3 and 8 threads" * test::InTurn()) {
  const std::vector<NamedExecutor> all = executors();
  const Tensor row = random_row(1, 10'000'000), rows = random_row(100, 100'000), columns = random_row(2'500'000, 4);
  const Tensor uneven = random_row(1, 1'000'003);
  check("a long sum in parts that are not even", Op::reduce_sum, ReduceAttrs{.axes = {1}}, std::span(&uneven, 1), all);
  check("a long sum", Op::reduce_sum, ReduceAttrs{.axes = {1}}, std::span(&row, 1), all);
  check("sums along rows", Op::reduce_sum, ReduceAttrs{.axes = {1}}, std::span(&rows, 1), all);
  check("sums along columns", Op::reduce_sum, ReduceAttrs{.axes = {0}}, std::span(&columns, 1), all);
  check("the mean of all", Op::reduce_mean, ReduceAttrs{.axes = {0, 1}}, std::span(&columns, 1), all);
}
