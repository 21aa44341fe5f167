// SPDX-License-Identifier: Apache-2.0
#include "jit/map/sum_levels.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "millrace/jit/interpret.h"
#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

/// The maximum number of terms of an accumulator of the loops, counted from the innermost loop outwards.
std::int64_t max_accumulated(std::span<const std::int64_t> steps, std::span<const SumLevels> plan) {
  std::int64_t terms = 1, maximum = 1;
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (plan[i].levels == 0) {
      terms *= steps[i];
    } else {
      maximum = std::max(maximum, terms * plan[i].block_steps);
      std::int64_t sums = (steps[i] + plan[i].block_steps - 1) / plan[i].block_steps;
      for (int level = 1; level < plan[i].levels; ++level) {
        maximum = std::max(maximum, kMaxSumTerms);
        sums = (sums + kMaxSumTerms - 1) / kMaxSumTerms;
      }
      maximum = std::max(maximum, sums);
      terms = 1;
    }
  }
  return std::max(maximum, terms);
}

TEST_CASE("no accumulator takes more terms than the limit, and short loops stay as they are") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::int64_t> steps(1 + random() % 4);
    std::int64_t all = 1;
    for (std::int64_t& step : steps) {
      step = 1 + static_cast<std::int64_t>(random() % (std::uint64_t{1} << random() % 40));
      all = step <= std::numeric_limits<std::int64_t>::max() / all ? all * step
                                                                   : std::numeric_limits<std::int64_t>::max();
    }
    for (const std::int64_t limit : {kMaxSumTerms, kMaxProductTerms}) {
      const std::vector<SumLevels> plan = plan_sum_levels(steps, limit);
      CHECK_LE(max_accumulated(steps, plan), limit);
      const bool is_plain = std::ranges::all_of(plan, [](const SumLevels& levels) { return levels.levels == 0; });
      CHECK_EQ(is_plain, all <= limit);
    }
  }
}

TEST_CASE("only float sums have a limit") {
  const auto limit_of = [](ReductionKind kind, DType dtype) {
    return max_terms(test::row_reduction_nest(kind, 4, 1000, dtype));
  };
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  CHECK_EQ(limit_of(ReductionKind::kSum, DType::kF32), kMaxSumTerms);
  CHECK_EQ(limit_of(ReductionKind::kSum, DType::kBF16), kMaxSumTerms);
  CHECK_EQ(limit_of(ReductionKind::kSum, DType::kF64), kMaxSumTerms);
  CHECK_EQ(limit_of(ReductionKind::kSum, DType::kI32), kNone);
  CHECK_EQ(limit_of(ReductionKind::kProd, DType::kF32), kNone);
  CHECK_EQ(limit_of(ReductionKind::kMax, DType::kF32), kNone);
  CHECK_EQ(max_terms(test::matmul_nest(4, 4, 1000)), kMaxProductTerms);
}

/// The sum with the given levels, in plain C++.
float nested_sum(const std::vector<float>& x, float before, const SumLevels& plan) {
  std::vector<float> levels(static_cast<std::size_t>(plan.levels), 0.0f);
  std::int64_t blocks = 0;
  for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(plan.block_steps)) {
    float sum = 0;
    for (std::size_t i = first; i < std::min(first + static_cast<std::size_t>(plan.block_steps), x.size()); ++i) {
      sum += x[i];
    }
    levels[0] += sum;
    std::int64_t full = kMaxSumTerms;
    ++blocks;
    for (std::size_t level = 0; level + 1 < levels.size() && blocks % full == 0; ++level, full *= kMaxSumTerms) {
      levels[level + 1] += levels[level];
      levels[level] = 0;
    }
  }
  float sum = levels.back();
  for (std::size_t level = levels.size() - 1; level-- > 0;) sum += levels[level];
  return before + sum;
}

/// Interprets a kernel that reads x and writes two values.
std::array<float, 2> run(const MachineKernel& machine, const std::vector<float>& x, std::int64_t size) {
  std::array<float, 2> found = {-1, -1};
  void* const buffers[] = {const_cast<float*>(x.data()), found.data()};
  std::uint32_t status = 0;
  const KernelArgs args{&status, nullptr, buffers, &size};
  const Result<MemoryPlan> memory = plan_memory(machine, {"cpu", IsaLevel::kAvx2});
  REQUIRE(memory.status().message() == "");
  REQUIRE(interpret_kernel(machine, *memory, args, 0, 1).message() == "");
  return found;
}

std::vector<float> random_terms(std::size_t size, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(.5f, 1.5f);
  std::vector<float> terms(size);
  for (float& term : terms) term = uniform(random);
  return terms;
}

TEST_CASE("a loop of nested sums gives the sum of its levels, and still carries other values") {
  std::mt19937 random(9);
  for (const std::int64_t size : {0, 1, 7, 127, 128, 129, 1000, 16383, 16384, 16385, 40000}) {
    for (const SumLevels plan : {SumLevels{128, 1}, SumLevels{3, 2}, SumLevels{1, 3}}) {
      MachineBuilder b("sum");
      const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead);
      const MemoryHandle y = b.buffer("y", DType::kF32, BufferAccess::kWrite);
      b.set_num_groups(1);
      const auto step = [&](MachineValue index, const RangeValues& carried) -> RangeValues {
        return {b.add(carried[0], b.i64(1)), b.add(carried[1], b.load(x, index))};
      };
      const MapLoop loop{b.i64(0), b.size(Dim("n")), b.i64(1), step};
      const RangeValues initial = {b.i64(0), b.constant_scalar(Scalar::of<float>(.25f))};
      const RangeValues sums = emit_nested_sums(b, loop, plan, {false, true}, initial);
      b.store(y, b.i64(0), sums[1]);
      b.store(y, b.i64(1), b.convert(DType::kF32, sums[0]));
      const std::vector<float> values = random_terms(static_cast<std::size_t>(size), random);
      const std::array<float, 2> found = run(b.finish(), values, size);
      INFO("size " << size << ", block " << plan.block_steps << ", levels " << plan.levels);
      CHECK_EQ(found[0], nested_sum(values, .25f, plan));
      CHECK_EQ(found[1], static_cast<float>(size));
    }
  }
}

TEST_CASE("a step of an outer loop adds one sum, of all levels of the inner one") {
  std::mt19937 random(10);
  constexpr std::int64_t kOuter = 200, kInner = 1000;
  const std::vector<SumLevels> plan = plan_sum_levels(std::array{kOuter, kInner}, kMaxSumTerms);
  REQUIRE(plan[0].levels == 1);
  REQUIRE(plan[1].levels == 1);
  MachineBuilder b("sum");
  const MemoryHandle x = b.buffer("x", DType::kF32, BufferAccess::kRead);
  const MemoryHandle y = b.buffer("y", DType::kF32, BufferAccess::kWrite);
  b.set_num_groups(1);
  const MachineValue width = b.size(Dim("n"));
  const auto row = [&](MachineValue number, const RangeValues& carried) {
    const MachineValue first = b.mul(number, width);
    const auto add_one = [&](MachineValue index, const RangeValues& sum) -> RangeValues {
      return {b.add(sum[0], b.load(x, b.add(first, index)))};
    };
    return emit_nested_sums(b, {b.i64(0), width, b.i64(1), add_one}, plan[1], {true}, carried);
  };
  const RangeValues initial = {b.constant_scalar(Scalar::of<float>(0))};
  const MapLoop rows{b.i64(0), b.i64(kOuter), b.i64(1), row};
  b.store(y, b.i64(0), emit_nested_sums(b, rows, plan[0], {true}, initial)[0]);

  const std::vector<float> values = random_terms(kOuter * kInner, random);
  std::vector<float> of_rows;
  for (auto first = values.begin(); first != values.end(); first += kInner) {
    of_rows.push_back(nested_sum(std::vector<float>(first, first + kInner), 0, plan[1]));
  }
  CHECK_EQ(run(b.finish(), values, kInner)[0], nested_sum(of_rows, 0, plan[0]));
}

}  // namespace
}  // namespace millrace
