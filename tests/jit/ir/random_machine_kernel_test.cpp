// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/random_machine_kernel.h"

#include <set>
#include <string>

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("random kernels contain every op of a machine kernel, and run") {
  std::set<KernelOp> found;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const test::RandomMachineKernel random = test::make_random_kernel(seed);
    REQUIRE(verify(random.kernel).ok());
    for (const Block& block : random.kernel.blocks) {
      for (const MachineInstruction& instruction : block.instructions) found.insert(instruction.op);
    }
    test::KernelData data = test::make_random_data(random, seed);
    test::run_interpreted(random, data);
  }
  std::string missing;
  for (const KernelOp op : kAllKernelOps) {
    if (rule_of(op) != KernelOpRule::kBody && !found.contains(op)) missing += " " + std::string(to_text(op));
  }
  CHECK(missing == "");
}

TEST_CASE("a seed gives the same kernel, the same data and the same results again") {
  const test::RandomMachineKernel first = test::make_random_kernel(7), second = test::make_random_kernel(7);
  CHECK(first.kernel == second.kernel);
  CHECK(to_text(first.kernel) == to_text(second.kernel));
  CHECK(to_text(first.kernel) != to_text(test::make_random_kernel(8).kernel));
  test::KernelData a = test::make_random_data(first, 1), b = test::make_random_data(second, 1);
  CHECK(a == b);
  CHECK(test::run_interpreted(first, a) == test::run_interpreted(second, b));
  CHECK(a == b);
}

}  // namespace
}  // namespace millrace
