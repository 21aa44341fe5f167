// SPDX-License-Identifier: Apache-2.0
#include "millrace/jit/map_kernel.h"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "millrace/jit/interpret.h"
#include "tests/jit/map/nests.h"
#include "tests/jit/map/plain_nest.h"

namespace millrace {
namespace {

using test::GuardedMemory;
using test::PlainBuffers;
using test::PlainNest;

constexpr IsaLevel kLevels[] = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};

TargetSpec target_of(IsaLevel level) { return {"cpu", level}; }

/// Interprets all groups of `machine`; the status word.
std::uint32_t run(const MachineKernel& machine, const TargetSpec& target, const PlainBuffers& buffers,
                  const SymbolValues& symbols) {
  REQUIRE(verify(machine).message() == "");
  const Result<MemoryPlan> plan = plan_memory(machine, target);
  REQUIRE(plan.status().message() == "");
  std::vector<void*> pointers;
  for (const GuardedMemory& buffer : buffers) pointers.push_back(buffer.data());
  std::vector<std::int64_t> sizes;
  for (const SizeArgument& size : machine.sizes) sizes.push_back(size.value->evaluate(symbols).value());
  std::uint32_t status = 0;
  std::vector<std::byte> workgroup_memory(plan->workgroup_bytes + 64);
  const KernelArgs args{&status, workgroup_memory.data(), pointers.data(), sizes.data()};
  const auto groups = static_cast<std::uint32_t>(machine.num_groups.evaluate(symbols).value());
  REQUIRE(interpret_kernel(machine, *plan, args, 0, groups).message() == "");
  return status;
}

bool can_unroll_terms(const LoopKernel& collapsed, const Tiling& tiling) {
  const auto is_arg = [](const Reduction& reduction) { return returns_index(reduction.kind); };
  return collapsed.num_parallel() < collapsed.domain.size() && std::ranges::none_of(collapsed.reductions, is_arg) &&
         !collapsed.domain[tiling.vector_dim].is_reduction;
}

bool can_sum_in_memory(const LoopKernel& collapsed, const Tiling& tiling) {
  const auto is_arg = [](const Reduction& reduction) { return returns_index(reduction.kind); };
  return classify(collapsed) == LoopKind::kReduce && std::ranges::none_of(collapsed.reductions, is_arg) &&
         !collapsed.domain[tiling.vector_dim].is_reduction;
}

/// The chosen tiling, and others that are legal, whatever they are good for.
std::vector<Tiling> tilings_of(const LoopKernel& kernel, const TargetSpec& target, std::mt19937& random) {
  std::vector<Tiling> tilings = {choose_tiling(kernel, target)};
  const LoopKernel collapsed = collapse_dims(kernel);
  const auto num_dims = static_cast<std::uint32_t>(collapsed.domain.size());
  for (int i = 0; num_dims > 0 && i < 3; ++i) {
    Tiling tiling;
    tiling.vector_dim = static_cast<std::uint32_t>(random() % num_dims);
    tiling.lanes = 1u << random() % 5;
    tiling.vector_unroll = 1 + static_cast<std::uint32_t>(random() % 3);
    tiling.row_dim = static_cast<std::uint32_t>(random() % num_dims);
    if (collapsed.domain[tiling.row_dim].is_reduction) tiling.row_dim = tiling.vector_dim;
    if (tiling.row_dim != tiling.vector_dim) tiling.row_unroll = 1 + static_cast<std::uint32_t>(random() % 4);
    tiling.points_per_group = 1 + static_cast<std::int64_t>(random() % 200);
    tiling.streams = random() % 2 == 0;
    tiling.loops_epilogue = random() % 2 == 0;
    tiling.transposes_loads = tiling.row_dim != tiling.vector_dim && random() % 2 == 0;
    if (tiling.transposes_loads) tiling.row_unroll = tiling.lanes;
    tiling.loops_tail_stores = tiling.transposes_loads && random() % 2 == 0;
    tiling.splits_interior = random() % 2 == 0;
    tiling.unrolls_reductions = random() % 2 == 0;
    if (can_unroll_terms(collapsed, tiling)) tiling.term_unroll = 1 + static_cast<std::uint32_t>(random() % 4);
    if (random() % 2 == 0 && can_sum_in_memory(collapsed, tiling)) {
      tiling.sums_in_memory = tiling.loops_epilogue = true;
      tiling.row_dim = tiling.vector_dim;
      tiling.row_unroll = tiling.term_unroll = 1;
      tiling.transposes_loads = tiling.loops_tail_stores = false;
    }
    tilings.push_back(tiling);
  }
  return tilings;
}

void check_mapped(const PlainNest& nest, IsaLevel level, std::uint32_t symbolic, std::uint32_t seed) {
  const TargetSpec target = target_of(level);
  SymbolValues symbols;
  const LoopKernel kernel = nest.to_kernel(symbolic, symbols);
  REQUIRE(verify(kernel).message() == "");
  std::mt19937 random(seed);
  for (const Tiling& tiling : tilings_of(kernel, target, random)) {
    for (const auto side : {GuardedMemory::Side::kEnd, GuardedMemory::Side::kStart}) {
      const Result<MachineKernel> machine = map_kernel(kernel, target, tiling);
      REQUIRE(machine.status().message() == "");
      const PlainBuffers buffers = make_buffers(nest, side, seed);
      const std::vector<std::byte> expected = expected_result(nest, buffers);
      CHECK(run(*machine, target, buffers, symbols) == 0);
      const std::byte* found = buffers.back().data();
      if (!std::equal(expected.begin(), expected.end(), found)) {
        FAIL_CHECK("seed ", seed, " symbolic ", symbolic, " ", target.to_text(), " ", to_text(tiling), "\n",
                   to_text(nest), to_text(collapse_dims(kernel)), to_text(*machine));
        return;
      }
    }
  }
}

TEST_CASE("random nests give the results of plain loops, on every level and tiling, static and symbolic") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const PlainNest nest = test::random_nest(seed);
    const IsaLevel level = kLevels[seed % 3];
    check_mapped(nest, level, 0, seed);
    check_mapped(nest, level, 0xb5a96d3cu * (seed + 1), seed);
  }
}

}  // namespace
}  // namespace millrace
