// SPDX-License-Identifier: Apache-2.0
// Every row of op_cases.h: each dtype, awkward size, ISA level, generator and algorithm, against the oracle.
#include <set>

#include <doctest/doctest.h>

#include "tests/support/ops/expected_refusals.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/ops/op_samples.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

namespace {

/// `section` is the rows' in refusals.txt.
void run_rows(std::uint32_t traits, std::string_view section) {
  DriverTally tally;
  for (const OpCase& row : op_cases()) {
    if ((info(row.op).traits & traits) != 0) run_row(row, tally);
  }
  for (const std::string& failure : tally.failures) FAIL_CHECK(failure);
  for (const std::string& difference : unexpected_refusals(tally, section)) FAIL_CHECK(difference);
}

}  // namespace

TEST_CASE("elementwise ops equal the oracle everywhere" * test::Sliced{.only_sanitized = true}) {
  run_rows(kElementwise, "elementwise");
}
TEST_CASE("reductions and pools equal the oracle everywhere" * test::Sliced{.only_sanitized = true}) {
  run_rows(kReduction, "reductions");
}
TEST_CASE("contractions equal the oracle everywhere" * test::Sliced{.only_sanitized = true}) {
  run_rows(kContraction, "contractions");
}
TEST_CASE("views and moves equal the oracle everywhere" * test::Sliced{.only_sanitized = true}) {
  run_rows(kView | kMove, "moves");
}
TEST_CASE("scans and scatters equal the oracle everywhere" * test::Sliced{.only_sanitized = true}) {
  run_rows(kSequence, "sequences");
}
TEST_CASE("sort and topk equal the oracle everywhere" * test::Sliced{.only_sanitized = true}) {
  run_rows(kOrder, "order");
}

TEST_CASE("every op has exactly one row") {
  std::multiset<Op> rows;
  for (const OpCase& row : op_cases()) rows.insert(row.op);
  for (const Op op : kAllOps) {
    CAPTURE(to_text(op));
    CHECK(rows.count(op) == 1);
  }
}

TEST_CASE("every algorithm and generator for CPUs is chosen by itself for some row") {
  std::set<std::string, std::less<>> chosen;
  for (const OpCase& row : op_cases()) {
    const DType dtype = row.dtypes[0];
    std::vector<OpProblem> problems = row.problems(8);
    problems.push_back(row.large());
    for (const OpProblem& problem : problems) {
      std::vector<TensorType> operands;
      for (std::size_t n = 0; n < problem.operands.size(); ++n) {
        operands.push_back(reference::Tensor(operand_dtype(row.op, n, dtype), problem.operands[n]).type);
      }
      const auto requests = build_requests(row.op, attributes_for(problem, dtype), operands, Strides::kDense);
      REQUIRE_MESSAGE(requests.ok(), requests.status().message());
      for (const KernelRequest& request : *requests) {
        for (const TargetSpec& target : host_targets()) {
          const auto sequence = plan_request(request, {target});
          if (!sequence.ok()) continue;
          chosen.insert(sequence->algorithm);
          for (const SequenceKernel& kernel : sequence->kernels) chosen.insert(kernel.kernel.generator);
        }
      }
    }
  }
  const TargetSpec host = host_targets().back();
  // Rows that are longer than those of the table: long_rows_test.cpp runs them.
  const std::vector<TensorType> long_rows = {{DType::kF32, {1, 8 << 20}}};
  for (const auto& [op, attributes] :
       std::initializer_list<std::pair<Op, Attributes>>{{Op::topk, TopKAttrs{.k = 10}},
                                                        {Op::argmax, ArgAttrs{.axis = 1}},
                                                        {Op::reduce_sum, ReduceAttrs{.axes = {1}}},
                                                        {Op::cumulative_sum, ScanAttrs{}}}) {
    chosen.insert(
        plan_request(build_requests(op, attributes, long_rows, Strides::kDense).value()[0], {host})->algorithm);
  }
  // Values alone of narrow elements, which lanes count themselves.
  const KernelTensor bytes = {"x", {DType::kU8, {1000}}, Layout::row_major({1000})};
  const SortDescriptor of_bytes = {.name = "sort", .input = bytes, .k = 1000, .values = bytes, .indices = {}};
  chosen.insert(plan_request(of_bytes, {host_targets().front()})->algorithm);
  for (const std::string& algorithm : algorithm_names(host)) {
    // Lanes need AVX2.
    if (algorithm.starts_with("lane_") && host.isa == IsaLevel::kBaseline) continue;
    CHECK_MESSAGE(chosen.contains(algorithm), algorithm);
  }
  for (const std::string& generator : generator_names(host)) {
    if (generator != "interpreter") CHECK_MESSAGE(chosen.contains(generator), generator);
  }
}
