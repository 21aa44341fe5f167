// SPDX-License-Identifier: Apache-2.0
// Hand-written workgroup kernels, observed by the simulator: they are correct, and each mistake that is injected is
// found.
#include "tests/support/gpu/workgroup_kernels.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include <doctest/doctest.h>

#include "hal/sim/shadow_memory.h"
#include "tests/support/kernels/machine_kernels.h"
#include "tests/support/kernels/mutate_kernel.h"

namespace millrace {
namespace {

/// A kernel with its inputs, and the results of plain loops.
struct Problem {
  MachineKernel kernel;
  std::vector<std::vector<std::uint32_t>> buffers;        // as they are before
  std::vector<std::vector<std::uint32_t>> expected = {};  // and after
  std::vector<std::int64_t> sizes = {};
  std::uint32_t num_groups = 1;
};

/// What the simulator found, or the first buffer that is not as expected; empty: neither.
std::string complaint(const Problem& problem, const MachineKernel& kernel, const MemoryPlan& plan,
                      std::uint64_t order_seed = 0) {
  auto buffers = problem.buffers;
  std::vector<void*> pointers;
  std::vector<ObservedBuffer> arguments;
  for (auto& buffer : buffers) {
    pointers.push_back(buffer.data());
    arguments.push_back(ObservedBuffer::whole(buffer.size() * sizeof(std::uint32_t)));
  }
  ShadowMemory shadow(arguments);
  const Status status = test::run_observed(kernel, plan, pointers, problem.sizes, problem.num_groups,
                                           {.observer = &shadow, .order_seed = order_seed});
  if (!status.ok()) return status.message();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] != problem.expected[i]) return "wrong: " + kernel.buffers[i].name;
  }
  return {};
}

bool is_finding(const std::string& complaint) { return complaint.starts_with("kernel '"); }

MemoryPlan plan_of(const MachineKernel& kernel) { return plan_memory(kernel, TargetSpec{}).value(); }

std::vector<std::uint32_t> random_numbers(std::size_t count, std::uint32_t end) {
  std::mt19937 random(static_cast<std::uint32_t>(count) + end);
  std::vector<std::uint32_t> numbers(count);
  for (std::uint32_t& number : numbers) number = random() % end;
  return numbers;
}

Problem reduction(const test::WorkgroupShape& shape, std::uint32_t n) {
  Problem problem{.kernel = test::reduction_kernel(shape), .buffers = {random_numbers(n, 1u << 31)}};
  problem.num_groups = (n + shape.num_threads - 1) / shape.num_threads;
  problem.sizes = {n};
  std::vector<std::uint32_t> sums(problem.num_groups);
  problem.buffers.push_back(sums);
  for (std::uint32_t i = 0; i < n; ++i) sums[i / shape.num_threads] += problem.buffers[0][i];
  problem.expected = {problem.buffers[0], sums};
  return problem;
}

Problem prefix_sum(const test::WorkgroupShape& shape, std::uint32_t n) {
  Problem problem{.kernel = test::prefix_sum_kernel(shape), .buffers = {random_numbers(n, UINT32_MAX)}};
  problem.num_groups = (n + shape.num_threads - 1) / shape.num_threads;
  problem.sizes = {n};
  problem.buffers.emplace_back(n);
  problem.expected = {problem.buffers[0], problem.buffers[0]};
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i % shape.num_threads != 0) problem.expected[1][i] += problem.expected[1][i - 1];
  }
  return problem;
}

Problem bitonic_sort(const test::WorkgroupShape& shape, std::uint32_t num_keys, std::uint32_t num_groups) {
  Problem problem{.kernel = test::bitonic_sort_kernel(shape, num_keys),
                  .buffers = {random_numbers(std::size_t{num_keys} * num_groups, 300)}};
  problem.num_groups = num_groups;
  const std::vector<std::uint32_t> keys = problem.buffers[0];
  std::vector<std::uint32_t> sorted(keys.size()), indices(keys.size());
  for (std::size_t first = 0; first < keys.size(); first += num_keys) {
    const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(first);
    std::iota(begin, begin + num_keys, 0u);
    std::sort(begin, begin + num_keys, [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(keys[first + a], a) < std::pair(keys[first + b], b);
    });
    for (std::size_t i = 0; i < num_keys; ++i) sorted[first + i] = keys[first + indices[first + i]];
  }
  problem.buffers.emplace_back(keys.size());
  problem.buffers.emplace_back(keys.size());
  problem.expected = {keys, sorted, indices};
  return problem;
}

constexpr test::WorkgroupShape kShapes[] = {{256, 32}, {256, 64}, {64, 64}, {64, 32}};

std::vector<Problem> all_problems() {
  std::vector<Problem> problems;
  for (const test::WorkgroupShape& shape : kShapes) {
    for (const std::uint32_t n : {1u, 256u, 700u}) {
      problems.push_back(reduction(shape, n));
      problems.push_back(prefix_sum(shape, n));
    }
    problems.push_back(bitonic_sort(shape, 1024, 2));
  }
  return problems;
}

TEST_CASE("workgroup kernels equal plain loops, with no finding, in every order of threads and groups") {
  for (const Problem& problem : all_problems()) {
    CAPTURE(to_text(problem.kernel));
    for (const std::uint64_t seed : {0, 1, 2})
      CHECK(complaint(problem, problem.kernel, plan_of(problem.kernel), seed) == "");
  }
}

/// Small enough to run once a mistake.
std::vector<Problem> mutated_problems() {
  const test::WorkgroupShape shape{128, 32};
  std::vector<Problem> problems;
  problems.push_back(reduction(shape, 200));
  problems.push_back(prefix_sum(shape, 200));
  problems.push_back(bitonic_sort(shape, 256, 1));
  return problems;
}

TEST_CASE("every barrier is needed, and its absence is found") {
  std::size_t num_mutants = 0;
  for (const Problem& problem : mutated_problems()) {
    for (const test::Mutant& mutant : test::without_each_barrier(problem.kernel)) {
      ++num_mutants;
      CHECK_MESSAGE(is_finding(complaint(problem, mutant.kernel, plan_of(problem.kernel))),
                    problem.kernel.name << " without " << mutant.what);
    }
  }
  CHECK(num_mutants == 5);
}

TEST_CASE("bounds that are off by one are found") {
  std::size_t num_mutants = 0;
  for (const Problem& problem : mutated_problems()) {
    auto mutants = test::with_each_bound_off_by_one(problem.kernel);
    for (test::Mutant& mutant : test::with_each_slot_shorter(problem.kernel)) mutants.push_back(std::move(mutant));
    for (const test::Mutant& mutant : mutants) {
      ++num_mutants;
      CHECK_MESSAGE(is_finding(complaint(problem, mutant.kernel, plan_of(problem.kernel))),
                    problem.kernel.name << " with " << mutant.what << " off by one");
    }
  }
  CHECK(num_mutants == 9);
}

TEST_CASE("slots that overlap while both are live are found") {
  std::size_t num_plans = 0;
  for (const Problem& problem : mutated_problems()) {
    for (const MemoryPlan& plan : test::with_each_pair_of_slots_overlapped(plan_of(problem.kernel))) {
      ++num_plans;
      CHECK_MESSAGE(is_finding(complaint(problem, problem.kernel, plan)), problem.kernel.name << "\n" << to_text(plan));
    }
  }
  CHECK(num_plans == 2);
}

TEST_CASE("a missing guard is found, or gives wrong results") {
  std::size_t num_mutants = 0, num_findings = 0;
  for (const Problem& problem : mutated_problems()) {
    for (const test::Mutant& mutant : test::without_each_guard(problem.kernel)) {
      const std::string found = complaint(problem, mutant.kernel, plan_of(problem.kernel));
      CHECK_MESSAGE(found != "", problem.kernel.name << " without " << mutant.what);
      ++num_mutants;
      num_findings += is_finding(found);
    }
  }
  CHECK(num_mutants == 10);
  CHECK(num_findings == 9);  // a sort that always exchanges only sorts wrong
}

TEST_CASE("a finding names the kernel, the lines, the threads and the place") {
  const Problem problem = reduction({128, 32}, 200);
  const auto mutants = test::without_each_barrier(problem.kernel);
  REQUIRE(mutants.size() == 1);
  CHECK(complaint(problem, mutants[0].kernel, plan_of(problem.kernel)) ==
        "kernel 'reduction': line 34 (%18 = load_vector #0[%17] : i32): thread 0 of group 0 loads element 64 of #0 "
        "('parts'), byte 256 of workgroup memory, which thread 64 of group 0 stored at line 28; a barrier must "
        "separate them");
}

}  // namespace
}  // namespace millrace
