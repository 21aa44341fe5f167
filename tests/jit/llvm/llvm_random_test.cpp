// SPDX-License-Identifier: Apache-2.0
// Random kernels: emitted code against the interpreter, bit for bit.
#include <random>

#include <doctest/doctest.h>

#include "millrace/jit/interpret.h"
#include "tests/jit/llvm/edge_values.h"
#include "tests/jit/llvm/emit_support.h"
#include "tests/jit/llvm/random_kernel.h"

namespace millrace::test {
namespace {

constexpr int kNumSeeds = 60;

using Bytes = std::vector<std::byte>;

/// Edge values and random ones; outputs start as zeros.
std::vector<Bytes> buffers_for(const MachineKernel& kernel, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Bytes> buffers;
  for (const BufferArgument& buffer : kernel.buffers) {
    Bytes bytes;
    const std::vector<Scalar> edges = edge_values(buffer.dtype);
    for (std::int64_t i = 0; i < kRandomKernelElements; ++i) {
      const Scalar value = random() % 3 == 0 ? edges[random() % edges.size()] : random_value(buffer.dtype, random);
      put(bytes, buffer.is_written ? Scalar{buffer.dtype, 0} : value);
    }
    buffers.push_back(std::move(bytes));
  }
  return buffers;
}

std::vector<void*> addresses(std::vector<Bytes>& buffers) {
  std::vector<void*> result;
  for (Bytes& bytes : buffers) result.push_back(bytes.data());
  return result;
}

void check_seed(std::uint32_t seed, IsaLevel isa) {
  const MachineKernel kernel = random_kernel({.seed = seed, .with_float_mul_add = isa != IsaLevel::kBaseline});
  const MemoryPlan plan = plan_memory(kernel, {.isa = isa}).value();
  const EmittedKernel emitted(kernel, isa, plan);
  for (std::int64_t n = 0; n <= 3; n += 3) {
    INFO("seed ", seed, ", n ", n, ", ", to_text(isa), "\n", to_text(kernel));
    std::vector<Bytes> expected = buffers_for(kernel, seed);
    std::vector<Bytes> found = expected;
    std::vector<std::max_align_t> workgroup(plan.workgroup_bytes / sizeof(std::max_align_t) + 8);
    void* memory = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(workgroup.data()) + 63) / 64 * 64);
    std::uint32_t expected_status = 0;
    const std::vector<void*> expected_addresses = addresses(expected);
    const KernelArgs args{&expected_status, memory, expected_addresses.data(), &n};
    REQUIRE(interpret_kernel(kernel, plan, args, 0, kRandomKernelGroups).ok());
    CHECK(emitted.run(addresses(found), {n}, kRandomKernelGroups, memory) == expected_status);
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO(kernel.buffers[i].name);
      CHECK(first_difference(kernel.buffers[i].dtype, found[i].data(), expected[i].data(), kRandomKernelElements) ==
            "");
    }
  }
}

TEST_CASE("random kernels do what the interpreter does, on every instruction set") {
  for (const IsaLevel isa : host_isa_levels()) {
    for (std::uint32_t seed = 0; seed < kNumSeeds; ++seed) check_seed(seed, isa);
  }
}

}  // namespace
}  // namespace millrace::test
