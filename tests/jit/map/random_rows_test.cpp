// SPDX-License-Identifier: Apache-2.0
// Random nests of several passes, compared with plain loops: by definition, and as interpreted kernels of CPUs and
// simulated GPUs. random_rows_code_test.cpp has their machine code.
#include "tests/jit/map/random_rows.h"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "hal/sim/shadow_memory.h"
#include "jit/map/gpu_mapping.h"
#include "jit/map/temporaries.h"
#include "tests/support/kernels/kernel_round_trip.h"
#include "tests/support/kernels/machine_kernels.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::GuardedBuffer;
using test::RowsNest;

constexpr std::uint32_t kNumSeeds = 10'000;
constexpr IsaLevel kLevels[] = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};
constexpr std::string_view kGfx[] = {"gfx1100", "gfx90a"};  // subgroups of 32, of 64

/// How many nests had what the test is about.
struct Coverage {
  std::size_t nests = 0, rows = 0, in_memory = 0, computed_again = 0, in_registers = 0, across_rows = 0;
};

class Trial {
 public:
  explicit Trial(std::uint32_t seed) : seed_(seed), random_(~seed), nest_(test::random_rows(seed)) {
    const bool is_symbolic = random_() % 2 == 0;
    const auto bits = static_cast<std::uint32_t>(random_());
    kernel_ = nest_.to_kernel(is_symbolic ? bits : 0, symbols_);
    guard_ = random_() % 2 == 0 ? GuardedBuffer::Guard::kAfter : GuardedBuffer::Guard::kBefore;
    expected_ = test::expected_results(nest_, test::make_buffers(nest_, guard_, seed_));
  }

  void run(Coverage& coverage) {
    REQUIRE(verify(kernel_).message() == "");
    CHECK(test::round_trip_problem(kernel_) == "");
    check("by definition",
          [&](std::span<void* const> data) { return evaluate_loop_kernel(kernel_, data, symbols_).message(); });
    const LoopKernel collapsed = collapse_dims(kernel_);
    run_on_cpu(collapsed, coverage);
    run_on_gpu(collapsed, coverage);
    ++coverage.nests;
    if (classify(kernel_) == LoopKind::kRows) ++coverage.rows;
  }

 private:
  /// `run` gives the error of a run with these buffers.
  template <class F>
  void check(const std::string& how, F&& run) {
    const std::vector<GuardedBuffer> buffers = test::make_buffers(nest_, guard_, seed_);
    std::vector<void*> data;
    for (const GuardedBuffer& buffer : buffers) data.push_back(buffer.data());
    const std::string error = run(std::span<void* const>(data));
    const std::string wrong = error.empty() ? test::wrong_byte(nest_, buffers, expected_) : error;
    CHECK_MESSAGE(wrong.empty(), how, ": ", wrong, "\n", to_text(kernel_));
  }

  void run_on_cpu(const LoopKernel& collapsed, Coverage& coverage) {
    const TargetSpec target{"cpu", kLevels[random_() % 3]};
    const Tiling chosen = choose_tiling(kernel_, target);
    const std::vector<bool> keeps = kept_in_memory(collapsed, chosen);
    if (std::ranges::count(keeps, true) > 0) ++coverage.in_memory;
    if (std::ranges::count(keeps, false) > 0) ++coverage.computed_again;
    if (chosen.lanes > 1 && !collapsed.domain[chosen.vector_dim].is_reduction) ++coverage.across_rows;
    interpret(map_kernel(kernel_, target), target, target.to_text());
    const Tiling tiling = random_tiling(collapsed);
    interpret(map_kernel(kernel_, target, tiling), target, target.to_text() + " " + to_text(tiling));
  }

  void run_on_gpu(const LoopKernel& collapsed, Coverage& coverage) {
    const TargetSpec target{.family = "amdgpu", .gfx = std::string(kGfx[random_() % 2])};
    if (choose_gpu_mapping(collapsed, target).points_in_registers > 0) ++coverage.in_registers;
    interpret(map_kernel(kernel_, target), target, target.gfx);
  }

  /// Any legal tiling, whatever it is good for.
  Tiling random_tiling(const LoopKernel& collapsed) {
    Tiling tiling{.points_per_group = 1 + static_cast<std::int64_t>(random_() % 200)};
    tiling.loops_epilogue = random_() % 2 == 0;
    tiling.streams = random_() % 2 == 0;
    const auto num_dims = static_cast<std::uint32_t>(collapsed.domain.size());
    if (num_dims == 0) return tiling;
    tiling.vector_dim = static_cast<std::uint32_t>(random_() % num_dims);
    tiling.lanes = 1u << random_() % 5;
    tiling.vector_unroll = 1 + static_cast<std::uint32_t>(random_() % 3);
    tiling.row_dim = static_cast<std::uint32_t>(random_() % num_dims);
    if (collapsed.domain[tiling.row_dim].is_reduction) tiling.row_dim = tiling.vector_dim;
    if (tiling.row_dim != tiling.vector_dim) tiling.row_unroll = 1 + static_cast<std::uint32_t>(random_() % 4);
    const bool has_index = std::ranges::any_of(
        collapsed.reductions, [](const Reduction& reduction) { return returns_index(reduction.kind); });
    const bool can_unroll_terms =
        collapsed.num_parallel() < num_dims && !has_index && !collapsed.domain[tiling.vector_dim].is_reduction;
    if (can_unroll_terms) tiling.term_unroll = 1 + static_cast<std::uint32_t>(random_() % 4);
    return tiling;
  }

  /// Runs the kernel's groups and threads in a random order, and observes each access.
  void interpret(const Result<MachineKernel>& mapped, const TargetSpec& target, const std::string& how) {
    REQUIRE_MESSAGE(mapped.ok(), how, ": ", mapped.status().message());
    REQUIRE(verify(*mapped).message() == "");
    const Result<MemoryPlan> plan = plan_memory(*mapped, target);
    REQUIRE_MESSAGE(plan.ok(), how, ": ", plan.status().message());
    std::vector<std::int64_t> sizes;
    for (const SizeArgument& size : mapped->sizes) sizes.push_back(size.value->evaluate(symbols_).value());
    const auto groups = static_cast<std::uint32_t>(mapped->num_groups.evaluate(symbols_).value());
    std::vector<ObservedBuffer> arguments;
    for (const auto* tensors : {&nest_.operands, &nest_.results}) {
      for (const test::RowsTensor& tensor : *tensors) {
        const auto elements = static_cast<std::uint64_t>(tensor.plain.num_elements());
        arguments.push_back(ObservedBuffer::whole(elements * size_bytes(tensor.plain.dtype)));
      }
    }
    check(how, [&](std::span<void* const> data) {
      ShadowMemory shadow(arguments);
      return test::run_observed(*mapped, *plan, {data.begin(), data.end()}, sizes, groups,
                                {.observer = &shadow, .order_seed = seed_})
          .message();
    });
  }

  std::uint32_t seed_;
  std::mt19937 random_;
  RowsNest nest_;
  SymbolValues symbols_;
  LoopKernel kernel_;
  GuardedBuffer::Guard guard_ = GuardedBuffer::Guard::kAfter;
  std::vector<std::vector<std::byte>> expected_;
};

TEST_CASE("random nests of several passes give the results of plain loops on CPUs and GPUs, a slice at a time") {
  const test::Slice slice = test::tested_slice_of_long_cases();
  Coverage coverage;
  for (auto seed = static_cast<std::uint32_t>(slice.index); seed < kNumSeeds; seed += slice.count) {
    CAPTURE(seed);
    Trial(seed).run(coverage);
  }
  CHECK(coverage.rows > coverage.nests / 2);
  CHECK(coverage.in_memory > coverage.nests / 20);
  CHECK(coverage.computed_again > coverage.nests / 20);
  CHECK(coverage.across_rows > coverage.nests / 20);
  CHECK(coverage.in_registers > 0);
}

}  // namespace
}  // namespace millrace
