// SPDX-License-Identifier: Apache-2.0
// Random kernels, emitted and interpreted.
#include <doctest/doctest.h>

#include "tests/jit/llvm/emit_support.h"
#include "tests/support/random/random_machine_kernel.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

/// "seed 3, cpu:avx2, buffer out_f32: element 7: found 1, expected 2"; empty when emitted code does as the interpreter.
std::string difference(std::uint64_t seed, IsaLevel isa) {
  const TargetSpec spec{.isa = isa};
  const test::RandomMachineKernel random = test::make_random_kernel(seed, {.has_float_mul_add = spec.has_fma()});
  const test::KernelData data = test::make_random_data(random, seed);
  test::KernelData expected = data, found = data;
  const std::uint32_t expected_status = test::run_interpreted(random, expected);
  const MemoryPlan plan = plan_memory(random.kernel, spec).value();
  const EmittedKernel emitted(random.kernel, isa, plan);
  test::KernelData workgroup_memory{std::vector<std::uint64_t>(plan.workgroup_bytes / 8 + 16)};
  auto* aligned = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(workgroup_memory[0].data()) + 63) &
                                               ~std::uintptr_t{63});
  const std::uint32_t status = emitted.run(test::pointers_to(found), random.sizes, random.num_groups, aligned);
  const std::string place = "seed " + std::to_string(seed) + ", " + spec.to_text();
  if (status != expected_status) {
    return place + ": status " + std::to_string(status) + ", expected " + std::to_string(expected_status);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const BufferArgument& buffer = random.kernel.buffers[i];
    const std::string first =
        first_difference(buffer.dtype, found[i].data(), expected[i].data(), random.num_elements[i]);
    if (!first.empty()) return place + ", buffer " + buffer.name + ": " + first;
  }
  return {};
}

TEST_CASE("random kernels give the interpreter's results as emitted code, on every instruction set" * test::Sliced()) {
  for (const IsaLevel isa : host_isa_levels()) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) CHECK(difference(seed, isa) == "");
  }
}

}  // namespace
}  // namespace millrace
