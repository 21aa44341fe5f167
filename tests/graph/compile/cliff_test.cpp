// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "jit/map/code_estimate.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/cliff_cases.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

constexpr std::size_t kMaxCodeBytes = 64 << 10;

/// Emits each kernel of the graph once; gives how many there are.
std::size_t check_kernels(const LoweredGraph& lowered, const Target& target) {
  std::set<std::string> seen;
  for (const auto& sequences : lowered.sequences) {
    for (const KernelSequence& sequence : sequences) {
      for (const SequenceKernel& entry : sequence.kernels) {
        const PlannedKernel& planned = entry.kernel;
        if (!seen.insert(planned.generator + planned.key_text).second) continue;
        const auto image = target.find_generator(planned.generator)->emit(planned, target.spec());
        CHECK_MESSAGE(image.ok(), image.status().message());
        if (!image.ok()) continue;
        // An object for a GPU does not tell its code's size: it is all code but for a few KiB.
        const std::size_t bytes = image->format == ImageFormat::kGpuObject ? image->bytes.size() : image->code_bytes;
        CHECK_MESSAGE(bytes <= kMaxCodeBytes,
                      fmt::format("kernel {} by {}: {} bytes", planned.name, planned.generator, bytes));
      }
    }
  }
  return seen.size();
}

TEST_CASE("no graph makes a kernel of more than 64 KiB of code, nor many kernels in place of one" * test::Sliced()) {
  const auto context = make_default_context();
  for (const test::CliffCase& row : test::cliff_cases()) {
    for (const std::string level : {"cpu:baseline", "cpu:avx2", "cpu:avx512", "amdgpu:gfx1100"}) {
      CAPTURE(row.name);
      CAPTURE(level);
      const Target target = context->target(level).value();
      const auto lowered = lower_graph(parse_graph(row.graph).value(), target);
      REQUIRE_MESSAGE(lowered.ok(), lowered.status().message());
      CHECK(check_kernels(*lowered, target) <= row.max_kernels);
    }
  }
}

TEST_CASE("the cost of loading through views counts in fusion") {
  const auto context = make_default_context();
  std::size_t num_cases = 0;
  for (const test::CliffCase& row : test::cliff_cases()) {
    if (row.name.find("views") == std::string::npos) continue;
    ++num_cases;
    for (const std::string level : {"cpu:baseline", "cpu:avx2", "cpu:avx512"}) {
      CAPTURE(row.name);
      CAPTURE(level);
      const Target target = context->target(level).value();
      const LoweredGraph lowered = lower_graph(parse_graph(row.graph).value(), target).value();
      for (const PlannedKernel& kernel : lowered.schedule.kernels) {
        const auto& mapped = std::get<MachineKernel>(kernel.mapped);
        CHECK(estimate_instructions(mapped, target.spec()) <= kMaxKernelInstructions + kMaxKernelInstructions / 10);
      }
    }
  }
  CHECK(num_cases >= 9);
}

}  // namespace
}  // namespace millrace
