// SPDX-License-Identifier: Apache-2.0
// Random nests of several passes as machine code, of CPUs and of GPUs that are executed, compared with plain loops.
#include <random>

#include <doctest/doctest.h>

#include "tests/jit/map/random_rows.h"
#include "tests/support/kernels/run_request.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::GuardedBuffer;
using test::RowsNest;

constexpr std::uint32_t kNumSeeds = 1600;
/// Executing a GPU's code is slow, so only one nest in this many does.
constexpr std::uint32_t kNestsPerGpu = 4;

struct Trial {
  explicit Trial(std::uint32_t number) : seed(number), nest(test::random_rows(number)) {
    std::mt19937 random(~seed);
    const bool is_symbolic = random() % 2 == 0;
    const auto bits = static_cast<std::uint32_t>(random());
    kernel = nest.to_kernel(is_symbolic ? bits : 0, symbols);
    guard = random() % 2 == 0 ? GuardedBuffer::Guard::kAfter : GuardedBuffer::Guard::kBefore;
  }

  void check_on(const TargetSpec& target) const {
    const std::vector<GuardedBuffer> buffers = test::make_buffers(nest, guard, seed);
    std::vector<BufferBinding> bindings;
    for (const GuardedBuffer& buffer : buffers) bindings.push_back(buffer.binding());
    const std::span<const BufferBinding> all(bindings);
    const auto report =
        test::run_request(kernel, all.first(nest.operands.size()), all.subspan(nest.operands.size()),
                          {.target = target, .force_generator = "llvm", .seed = seed, .symbols = symbols});
    const std::string wrong = report.ok() ? test::wrong_byte(nest, buffers, test::expected_results(nest, buffers))
                                          : report.status().message();
    CHECK_MESSAGE(wrong.empty(), target.to_text(), ": ", wrong, "\n", to_text(kernel));
  }

  std::uint32_t seed;
  RowsNest nest;
  SymbolValues symbols;
  LoopKernel kernel;
  GuardedBuffer::Guard guard = GuardedBuffer::Guard::kAfter;
};

TEST_CASE("machine code of random nests of several passes gives the results of plain loops, a slice at a time") {
  const test::Slice slice = test::tested_slice_of_long_cases();
  const std::vector<TargetSpec> levels = test::host_targets();
  std::size_t number = 0;  // in the slice
  for (auto seed = static_cast<std::uint32_t>(slice.index); seed < kNumSeeds; seed += slice.count) {
    CAPTURE(seed);
    const Trial trial(seed);
    trial.check_on(levels[number % levels.size()]);
    if (number % kNestsPerGpu == 0) {
      const char* gfx = number / kNestsPerGpu % 2 == 0 ? "gfx1100" : "gfx90a";
      trial.check_on({.family = "amdgpu", .gfx = gfx});
    }
    ++number;
  }
}

}  // namespace
}  // namespace millrace
