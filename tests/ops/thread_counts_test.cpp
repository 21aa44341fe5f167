// SPDX-License-Identifier: Apache-2.0
// The bits of results depend neither on the number of threads of a dispatch nor on how its groups are distributed.
#include <cstring>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/reference/evaluate.h"
#include "tests/support/executors.h"
#include "tests/support/ops/long_terms.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/ops/op_samples.h"
#include "tests/support/slice.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;
using reference::Tensor;

namespace {

struct NamedExecutor {
  std::string name;
  std::shared_ptr<Executor> executor;
};

std::vector<NamedExecutor> executors(std::initializer_list<std::uint32_t> thread_counts = {2, 3, 8}) {
  std::vector<NamedExecutor> all;
  for (const std::uint32_t threads : thread_counts) {
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
    for (int iteration = 0; iteration < 2; ++iteration) {
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

/// Sums of a matrix with extents that a run binds.
struct SymbolicSums {
  Op op{};
  std::vector<std::int64_t> axes;
  SizeExpr rows, columns;
  std::string algorithm;

  std::string label() const {
    return fmt::format("{} of [{}, {}] along {} axes from {}", to_text(op), rows.to_text(), columns.to_text(),
                       axes.size(), axes.front());
  }
  KernelRequest request() const {
    const TensorType x{DType::kF32, Shape{rows, columns}};
    const auto requests = build_requests(op, ReduceAttrs{.axes = axes}, {&x, 1}, Strides::kDense);
    REQUIRE(requests.status().message() == "");
    REQUIRE(requests->size() == 1);
    return requests->front();
  }
};

Tensor run_symbolic(const SymbolicSums& sums, Tensor& x, RunOptions options) {
  const std::int64_t rows = x.extents()[0], columns = x.extents()[1];
  options.symbols = {{"rows", rows}, {"columns", columns}};
  Tensor result(DType::kF32, {sums.axes.size() == 2 ? 1 : columns});
  const BufferBinding from = {x.bytes.data(), x.bytes.size()}, to = {result.bytes.data(), result.bytes.size()};
  const Result<RunReport> report = run_request(sums.request(), {&from, 1}, {&to, 1}, options);
  REQUIRE_MESSAGE(report.ok(), sums.label(), ": ", report.status().message());
  CHECK_MESSAGE(report->algorithm == sums.algorithm, sums.label());
  return result;
}

void check_values(const SymbolicSums& sums, const Tensor& x, const Terms& terms, const Tensor& found) {
  const std::int64_t num_sums = found.num_elements();
  for (std::int64_t at = 0; at < num_sums; ++at) {
    ExactSum exact;
    for (std::int64_t i = at; i < x.num_elements(); i += num_sums) {
      exact.add(reference::read_element<long double>(DType::kF32, x.element(i)));
    }
    const long double factor = sums.op == Op::reduce_mean ? 1.0L / static_cast<long double>(exact.count) : 1;
    const auto value = reference::read_element<long double>(DType::kF32, found.element(at));
    CHECK_MESSAGE(check_sum(DType::kF32, value, exact, terms, kSumLimits, factor) == "", sums.label());
  }
}

}  // namespace

TEST_CASE("every op has the same bits on 1, 2, 3 and 8 threads" * test::Sliced()) {
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

TEST_CASE("problems that are shared in practice have the same bits on 1, 2, 3 and 8 threads" * test::Sliced()) {
  const std::vector<NamedExecutor> all = executors();
  for (const OpCase& row : op_cases()) {
    const OpProblem problem = row.large();
    const DType dtype = row.dtypes.front();
    std::mt19937_64 random(3);
    check(fmt::format("large {}", to_text(row.op)), row.op, attributes_for(problem, dtype),
          sample_operands(row, problem, dtype, random), all);
  }
}

TEST_CASE("long rows, which kernels cut in parts, have the same bits on 1, 2, 3 and 8 threads" * test::Sliced()) {
  const std::vector<NamedExecutor> all = executors();
  const Tensor long_row = random_row(1, 5 << 20), sorted_row = random_row(1, 1'000'000);
  for (const Op op : {Op::cumulative_sum, Op::cumulative_max}) {
    check(fmt::format("long {}", to_text(op)), op, ScanAttrs{.axis = 1}, std::span(&long_row, 1), all);
  }
  check("long argmax", Op::argmax, ArgAttrs{.axis = 1}, std::span(&long_row, 1), all);
  check("long topk", Op::topk, TopKAttrs{.k = 100}, std::span(&long_row, 1), all);
  check("long sort", Op::sort, SortAttrs{}, std::span(&sorted_row, 1), all);
}

TEST_CASE("sums of ten million elements have the same bits on 1, 2, 3 and 8 threads" * test::Sliced()) {
  const std::vector<NamedExecutor> all = executors();
  const Tensor row = random_row(1, 10'000'000), rows = random_row(100, 100'000), columns = random_row(2'500'000, 4);
  const Tensor uneven = random_row(1, 1'000'003);
  check("a long sum in parts that are not even", Op::reduce_sum, ReduceAttrs{.axes = {1}}, std::span(&uneven, 1), all);
  check("a long sum", Op::reduce_sum, ReduceAttrs{.axes = {1}}, std::span(&row, 1), all);
  check("sums along rows", Op::reduce_sum, ReduceAttrs{.axes = {1}}, std::span(&rows, 1), all);
  check("sums along columns", Op::reduce_sum, ReduceAttrs{.axes = {0}}, std::span(&columns, 1), all);
  check("the mean of all", Op::reduce_mean, ReduceAttrs{.axes = {0, 1}}, std::span(&columns, 1), all);
}

TEST_CASE("sums of sizes that a run binds have the same bits on 1, 2, 3 and 4 threads" * test::Sliced()) {
  const std::vector<NamedExecutor> all = executors({1, 2, 3, 4});
  const Dim rows("rows"), columns("columns");
  const Dim few = columns.at_most(8), many = rows.at_most(40'000'000);
  const std::string in_parts = "reduce_parts, loop_direct";  // the latter for small sizes
  const std::vector<SymbolicSums> kinds = {
      {Op::reduce_sum, {0, 1}, rows, columns, in_parts},
      {Op::reduce_mean, {0, 1}, many, few, in_parts},
      {Op::reduce_sum, {0, 1}, rows, 4, in_parts},
      {Op::reduce_sum, {0}, rows, few, in_parts},
      {Op::reduce_mean, {0}, many, few, in_parts},
      {Op::reduce_mean, {0}, rows, columns, "loop_direct"},  // columns may be many
      {Op::reduce_sum, {0}, many, columns, "loop_direct"},
  };
  const Terms& terms = terms_called("hundreds");
  for (const reference::Extents& extents : {reference::Extents{2'500'000, 4}, {250'001, 4}, {301, 4}}) {
    Tensor x = make_terms(terms, DType::kF32, extents);
    for (const SymbolicSums& sums : kinds) {
      for (const TargetSpec& target : host_targets()) {
        RunOptions options{.target = target};
        const Tensor inlined = run_symbolic(sums, x, options);
        check_values(sums, x, terms, inlined);
        for (const NamedExecutor& each : all) {
          options.executor = each.executor;
          CHECK_MESSAGE(run_symbolic(sums, x, options).bytes == inlined.bytes, sums.label(), " of ", extents[0],
                        " rows on ", target.to_text(), " with ", each.name);
        }
      }
    }
  }
}
