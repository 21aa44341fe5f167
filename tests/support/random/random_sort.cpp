// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/random_sort.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/kernels/run_request.h"
#include "tests/support/ops/hard_rows.h"
#include "tests/support/random/random_choice.h"

namespace millrace::test {
namespace {

/// A trial has no more elements, except for one long row.
constexpr std::int64_t kMaxElements = 4000;

std::int64_t near(RandomChoice& choice, std::int64_t size) {
  return std::max<std::int64_t>(0, size - 2 + static_cast<std::int64_t>(choice.below(5)));
}

/// Row lengths around 1 to 16 vectors of 4 to 64 lanes; minimum numbers of elements that are selected from, or counted;
/// blocks of chunks, and chunks of vectors; rows that several kernels sort.
std::int64_t any_length(RandomChoice& choice, DType dtype) {
  const std::uint64_t kind = choice.below(1000);
  if (kind < 60) return static_cast<std::int64_t>(choice.below(4));
  if (kind < 500) {
    const std::int64_t lanes = std::int64_t{4} << choice.below(5);
    return near(choice, lanes << choice.below(lanes > 16 ? 3 : 5));
  }
  if (kind < 700) return static_cast<std::int64_t>(choice.below(300));
  if (kind < 800) {
    constexpr std::int64_t kThresholds[] = {256, 512, 1024, 2048, 1024 + 128, 1024 + 64};
    return near(choice, choice.one_of(kThresholds));
  }
  if (kind < 900) return static_cast<std::int64_t>(choice.below(2000));
  if (kind < 940) {
    constexpr std::int64_t kThresholds[] = {4096, 8192, 5000, 4096 + 256};
    return near(choice, choice.one_of(kThresholds));
  }
  // From these lengths on, rows are counted, and bytes by vectors.
  if (size_bytes(dtype) == 2 && choice.chance(30)) return near(choice, 131'072);
  if (size_bytes(dtype) == 1 && choice.chance(30)) return near(choice, 17'408);
  if (choice.chance(70)) return static_cast<std::int64_t>(choice.below(33'000));
  if (choice.chance(20)) {
    constexpr std::int64_t kThresholds[] = {262'144, 4 * 98'304, 6 * 49'152, 300'000, 530'000};
    return near(choice, choice.one_of(kThresholds));
  }
  constexpr std::int64_t kThresholds[] = {16'384, 32'768, 32'768 + 128, 65'536};
  return near(choice, choice.one_of(kThresholds));
}

std::int64_t any_k(RandomChoice& choice, std::int64_t n) {
  const std::uint64_t kind = choice.below(10);
  if (kind < 3) return std::min<std::int64_t>(n, static_cast<std::int64_t>(kind));
  if (kind < 5) return std::max<std::int64_t>(0, n - static_cast<std::int64_t>(choice.below(3)));
  if (kind < 7)
    return std::min<std::int64_t>(n, 1 + static_cast<std::int64_t>(choice.below(choice.chance(50) ? 64 : 1024)));
  if (kind < 8) return std::min(n, near(choice, choice.chance(50) ? n / 8 : choice.chance(50) ? n / 64 : 1024));
  return static_cast<std::int64_t>(choice.below(static_cast<std::uint64_t>(n) + 1));
}

/// Up to two other dims, few enough rows.
reference::Extents any_extents(RandomChoice& choice, std::size_t rank, std::size_t axis, std::int64_t n) {
  reference::Extents extents(rank, n);
  std::int64_t max_rows = std::max<std::int64_t>(1, kMaxElements / std::max<std::int64_t>(n, 1));
  for (std::size_t d = 0; d < rank; ++d) {
    if (d == axis) continue;
    const std::int64_t max_extent = std::min<std::int64_t>(max_rows, 20);
    extents[d] = choice.chance(2) ? 0 : choice.from_1_to(static_cast<std::uint64_t>(max_extent));
    max_rows /= std::max<std::int64_t>(extents[d], 1);
  }
  return extents;
}

void choose_dynamic(RandomChoice& choice, SortTrial& trial) {
  trial.has_dynamic_extents = choice.chance(30);
  if (trial.has_dynamic_extents && choice.chance(70)) trial.max_n = 400'000;
  trial.has_dynamic_k = trial.op == Op::topk && choice.chance(25);
  constexpr std::int64_t kMaxKs[] = {8, 1024, 1025, 5000, 400'000};
  if (trial.has_dynamic_k) trial.max_k = choice.one_of(kMaxKs);
}

void choose_size(RandomChoice& choice, SortTrial& trial, std::size_t rank) {
  const DType dtype = trial.x.type.dtype;
  const std::int64_t n = std::min(any_length(choice, dtype), trial.max_n);
  trial.x = reference::Tensor(dtype, any_extents(choice, rank, trial.axis, n));
  trial.k = any_k(choice, trial.n());
  if (!trial.has_dynamic_k) return;
  if (!trial.has_dynamic_extents) trial.max_k = std::min(trial.max_k, trial.n());
  trial.k = std::min(trial.k, trial.max_k);
}

/// Everything but the elements.
SortTrial any_program(RandomChoice& choice) {
  SortTrial trial;
  constexpr DType kArithmetic[] = {DType::kI8,  DType::kI16, DType::kI32, DType::kI64,  DType::kU8,  DType::kU16,
                                   DType::kU32, DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
  trial.op = choice.chance(50) ? Op::topk : Op::sort;
  trial.x.type.dtype = choice.chance(2) ? DType::kBool : choice.one_of(kArithmetic);
  const auto rank = static_cast<std::size_t>(choice.from_1_to(3));
  trial.axis = choice.chance(65) ? rank - 1 : choice.below(rank);
  trial.is_descending = choice.chance(50);
  trial.is_sorted = trial.op == Op::sort || choice.chance(75);
  trial.used_results = static_cast<std::uint32_t>(choice.from_1_to(3));
  trial.guard = choice.chance(50) ? GuardedBuffer::Guard::kAfter : GuardedBuffer::Guard::kBefore;
  if (choice.chance(30)) {
    trial.strides = choice.chance(60) ? Strides::kPadded : Strides::kSpread;
  } else {
    choose_dynamic(choice, trial);
  }
  choose_size(choice, trial, rank);
  return trial;
}

}  // namespace

std::vector<SortTrial> make_random_sorts(std::uint64_t seed) {
  RandomChoice choice(seed);
  std::mt19937_64 random(choice.seed());
  const SortTrial program = any_program(choice);
  std::vector<SortTrial> trials(kRunsPerSort, program);
  for (SortTrial& trial : trials) {
    if (program.has_dynamic_extents) choose_size(choice, trial, program.x.extents().size());
    if (program.has_dynamic_k) trial.k = std::min(any_k(choice, trial.n()), trial.max_k);
    if (program.has_dynamic_extents && !program.has_dynamic_k) {
      // A run that binds an n below k fails.
      trial.k = program.k;
      reference::Extents extents = trial.x.extents();
      extents[trial.axis] = std::max(extents[trial.axis], trial.k);
      trial.x = reference::Tensor(trial.x.type.dtype, extents);
    }
    const std::vector<HardRow> rows = hard_rows(trial.x.type.dtype);
    trial.x = make_hard_rows(choice.one_of(rows), trial.x.type.dtype, trial.x.extents(), trial.axis, trial.k, random);
  }
  return trials;
}

std::string check_random_sorts(std::uint64_t seed) {
  const std::vector<SortTrial> trials = make_random_sorts(seed);
  ProgramCache programs;
  for (const SortTrial& trial : trials) {
    const std::vector<reference::Tensor> expected = expected_of(trial);
    for (const TargetSpec& target : host_targets()) {
      // Kernels without lanes take long to compile.
      if (target.isa == IsaLevel::kBaseline && seed % 16 != 0) continue;
      TargetSpec spec = target;
      if (target.isa == IsaLevel::kAvx512 && seed % 2 == 0) spec.features = host_cpu_features();
      const std::string device = spec.to_text();
      if (check_sort(trial, expected, device, programs).empty()) continue;
      const auto wrong = [&](const SortTrial& one) { return check_sort(one, expected_of(one), device, programs); };
      const SortTrial smallest = shrink_sort(trial, [&](const SortTrial& one) { return !wrong(one).empty(); });
      return fmt::format("seed {} on {}: {}\nsmallest:\n{}{}\n", seed, device, wrong(trial), to_text(smallest),
                         wrong(smallest));
    }
  }
  return "";
}

}  // namespace millrace::test
