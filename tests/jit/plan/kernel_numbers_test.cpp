// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/kernel_numbers.h"

#include <set>

#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"
#include "tests/support/random/random_machine_kernel.h"

namespace millrace {
namespace {

TEST_CASE("a kernel with numbers as arguments computes the same as with constants") {
  std::set<DType> replaced;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const test::RandomMachineKernel random = test::make_random_kernel(seed);
    const KernelNumbers found = find_numbers(random.kernel);
    test::RandomMachineKernel shared = random;
    std::vector<NumberSource> sources;
    for (std::size_t i = 0; i < found.numbers.size(); ++i) {
      const KernelNumber& number = found.numbers[i];
      const std::uint64_t added = number.dtype == DType::kI64 ? i % 3 : 0;
      sources.push_back({static_cast<std::uint32_t>(i), added});
      shared.sizes.push_back(static_cast<std::int64_t>(number.bits - added));
      replaced.insert(number.dtype);
    }
    shared.kernel = replace_numbers(random.kernel, sources, sources.size());
    REQUIRE(verify(shared.kernel).message() == "");
    test::KernelData expected = test::make_random_data(random, seed), data = expected;
    CHECK(test::run_interpreted(random, expected) == test::run_interpreted(shared, data));
    CHECK(data == expected);
  }
  for (const DType dtype : kAllDTypes) {
    CAPTURE(to_text(dtype));
    CHECK(replaced.contains(dtype) == is_register_dtype(dtype));
  }
}

TEST_CASE("numbers that stay constants leave the kernel as it was") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    const MachineKernel kernel = test::make_random_kernel(seed).kernel;
    const KernelNumbers found = find_numbers(kernel);
    std::vector<NumberSource> sources;
    for (const KernelNumber& number : found.numbers) sources.push_back({{}, number.bits});
    const MachineKernel same = replace_numbers(kernel, sources, 0);
    REQUIRE(verify(same).message() == "");
    CHECK(same.sizes == kernel.sizes);
    CHECK(find_numbers(same).shape == found.shape);
  }
}

MachineKernel scale_kernel(float factor, std::int64_t offset, DType dtype = DType::kF32) {
  MachineBuilder b("scale" + std::to_string(offset));
  const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead), y = b.buffer("y", dtype, BufferAccess::kWrite);
  const MachineValue loaded = b.load(x, b.i64(offset), 8);
  b.store(y, b.i64(0), b.mul(loaded, b.constant(dtype, factor)));
  return b.finish();
}

TEST_CASE("kernels of one form differ only in names and numbers") {
  const KernelNumbers first = find_numbers(scale_kernel(2, 16));
  CHECK(first.shape == find_numbers(scale_kernel(3, 16)).shape);
  CHECK(first.shape == find_numbers(scale_kernel(2, 0)).shape);  // although both offsets are one constant here
  CHECK(first.shape != find_numbers(scale_kernel(2, 16, DType::kF64)).shape);
  CHECK(first.numbers.size() == 3);
  CHECK(first.specialized.empty());
}

TEST_CASE("the arguments of each launch are in the kernel's text") {
  const std::vector<NumberSource> sources = {{0, 0}, {{}, 0x40000000}, {{}, 0}};
  const std::string text = to_text(replace_numbers(scale_kernel(2, 16), sources, 1));
  CHECK(text.find("\nsize s0: of each launch\n") != std::string::npos);
}

}  // namespace
}  // namespace millrace
