// SPDX-License-Identifier: Apache-2.0
// Regions with equal requests share one lowering, and differ from regions lowered alone in nothing.
#include "graph/dispatch/lower_region.h"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/verification.h"
#include "millrace/millrace.h"
#include "tests/graph/dispatch/formed.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/random/random_graph.h"

namespace millrace {
namespace {

/// Everything that later steps read of a region's kernels.
std::string whole_text(const std::vector<KernelSequence>& sequences) {
  std::string text;
  for (const KernelSequence& sequence : sequences) {
    text += to_text(sequence);
    for (const SequenceKernel& entry : sequence.kernels) {
      const PlannedKernel& kernel = entry.kernel;
      text += fmt::format("{}\n{}\n{}\n{}\n{}\n", kernel.info.name, kernel.key_text, kernel.mapping,
                          to_text(kernel.memory), kernel.flops ? kernel.flops->to_text() : "data");
      if (const auto* machine = std::get_if<MachineKernel>(&kernel.mapped)) text += to_text(*machine);
      for (const std::optional<ByteRange>& range : entry.touched) {
        text +=
            range ? fmt::format("{} from {}\n", range->length_bytes.to_text(), range->offset_bytes.to_text()) : "all\n";
      }
    }
  }
  return text;
}

/// Lowers each region with one memo for all, and alone, and compares the two.
void check_regions(const DispatchGraph& dispatch, const Target& target) {
  const LowerOptions options;
  RequestMemo memo(target, options);
  for (std::uint32_t i = 0; i < dispatch.regions.size(); ++i) {
    CAPTURE(dispatch.regions[RegionId{i}].name);
    const Result<std::vector<KernelSequence>> shared = lower_region(dispatch, RegionId{i}, memo);
    const Result<std::vector<KernelSequence>> alone = lower_region(dispatch, RegionId{i}, target, options);
    REQUIRE(shared.status().message() == alone.status().message());
    if (alone.ok()) CHECK(whole_text(*shared) == whole_text(*alone));
  }
}

TEST_CASE("regions of random graphs get the same kernels from a memo as alone") {
  for (const char* text : {"cpu:avx2", "cpu:baseline", "amdgpu:gfx1100"}) {
    const Target target = test::test_context()->target(text).value();
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      CAPTURE(seed);
      check_regions(formed(test::make_random_graph(seed).graph), target);
    }
  }
}

/// Layers of a residual network: equal ones, then one that differs in a constant, then one in its dtype. Their rows are
/// too long to become kernels with several passes.
Graph layers(int num_equal) {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4, 100'000});
  for (int i = 0; i < num_equal; ++i) x = x - reduce_max(x, {1}, true) * 0.5;
  x = x - reduce_max(x, {1}, true) * 0.25;
  const Tensor wide = cast(x, DType::kF64);
  graph.output("y", wide - reduce_max(wide, {1}, true) * 0.5);
  return graph.finish().value();
}

TEST_CASE("equal regions are lowered once, each under its own name") {
  const Target target = test::test_context()->target("cpu:avx2").value();
  const auto count_lowered = [&](int num_equal) {
    const DispatchGraph dispatch = formed(layers(num_equal));
    check_regions(dispatch, target);
    const LowerOptions options;
    RequestMemo memo(target, options);
    const VerificationCount count;
    for (std::uint32_t i = 0; i < dispatch.regions.size(); ++i) REQUIRE(lower_region(dispatch, RegionId{i}, memo).ok());
    return count.of(IrLevel::kMachineKernel);
  };
  CHECK(count_lowered(12) == count_lowered(2));
  CHECK(count_lowered(12) > 0);
}

}  // namespace
}  // namespace millrace
