// SPDX-License-Identifier: Apache-2.0
// A dim's facts choose the width of the vectors and the code for the remainder.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/jit/map_kernel.h"
#include "tests/jit/guarded_memory.h"
#include "tests/jit/map/nests.h"
#include "tests/support/kernels/run_request.h"

namespace millrace {
namespace {

using test::GuardedMemory;

constexpr IsaLevel kLevels[] = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};

/// y[i] = x[i] + 1.
LoopKernel add_one(const SizeExpr& n) {
  return test::unary_nest("add_one", DType::kF32, DType::kF32, {n},
                          [](auto& b, auto x) { return b.add(x, b.constant_like(x, 1)); });
}

/// y[i] = the sum over k of x[i, k]: lanes along the reduction.
LoopKernel sum_rows(const SizeExpr& n) { return test::row_reduction_nest(ReductionKind::kSum, 3, n); }

/// c[i, j] = the sum over k of a[i, k] * b[k, j]: rows, and lanes along j.
LoopKernel multiply(const SizeExpr& n) { return test::matmul_nest(3, n, 5); }

bool has_mask(const LoopKernel& kernel, IsaLevel level) {
  const Result<MachineKernel> machine = map_kernel(kernel, {"cpu", level});
  REQUIRE(machine.status().message() == "");
  const std::string text = to_text(*machine);
  return text.find("_masked") != std::string::npos || text.find("lane_iota") != std::string::npos;
}

using Kernel = LoopKernel (*)(const SizeExpr&);
constexpr Kernel kKernels[] = {add_one, sum_rows, multiply};

TEST_CASE("a multiple of the lanes has no masked remainder, even if it is not a multiple of the unrolled tile") {
  for (const Kernel kernel : kKernels) {
    for (const IsaLevel level : kLevels) {
      const LoopKernel any = kernel(Dim("n")), promised = kernel(Dim("n").multiple_of(16));
      INFO(any.name, " ", TargetSpec{"cpu", level}.to_text());
      CHECK(to_text(choose_tiling(any, {"cpu", level})) == to_text(choose_tiling(promised, {"cpu", level})));
      CHECK(has_mask(any, level));
      CHECK_FALSE(has_mask(promised, level));
      CHECK(has_mask(kernel(67), level));
      CHECK_FALSE(has_mask(kernel(80), level));
    }
  }
}

TEST_CASE("the remainder of a promised multiple is a loop of whole vectors") {
  const Result<MachineKernel> machine =
      map_kernel(sum_rows(Dim("n").multiple_of(16)), TargetSpec{"cpu", IsaLevel::kAvx512});
  REQUIRE(machine.status().message() == "");
  const std::string text = to_text(*machine);
  const std::string remainder = text.substr(text.rfind("for "));
  CHECK(remainder.find("load_vector @0") != std::string::npos);
  CHECK(remainder.find("select") == std::string::npos);
}

TEST_CASE("an upper bound narrows the vectors") {
  const auto lanes = [](const SizeExpr& n) { return choose_tiling(add_one(n), {"cpu", IsaLevel::kAvx512}).lanes; };
  CHECK(lanes(Dim("n")) == 16);
  CHECK(lanes(Dim("n").at_most(16)) == 16);
  CHECK(lanes(Dim("n").at_most(8)) == 8);
  CHECK(lanes(Dim("n").at_most(3)) == 4);
}

/// Operands, element by element: integers so small that every order of summing gives the same.
float element(std::size_t tensor, std::size_t i) { return static_cast<float>((i * 7 + tensor * 3) % 11) - 5; }

std::vector<float> expected(Kernel kernel, std::size_t n) {
  std::vector<float> y(kernel == sum_rows ? 3 : kernel == multiply ? 3 * n : n);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (kernel == add_one) y[i] = element(0, i) + 1;
    if (kernel == sum_rows) {
      for (std::size_t k = 0; k < n; ++k) y[i] += element(0, i * n + k);
    }
    if (kernel == multiply) {
      for (std::size_t k = 0; k < 5; ++k) y[i] += element(0, i / n * 5 + k) * element(1, k * n + i % n);
    }
  }
  return y;
}

void check_values(Kernel kernel, std::int64_t n, const TargetSpec& target) {
  const LoopKernel loops = kernel(Dim("n").multiple_of(16));
  const SymbolValues symbols = {{"n", n}};
  std::vector<GuardedMemory> memory;
  std::vector<BufferBinding> bindings;
  for (const KernelTensor& operand : loops.operands) {
    const auto count = static_cast<std::size_t>(operand.type.shape.num_elements().evaluate(symbols).value());
    memory.emplace_back(count * sizeof(float), GuardedMemory::Side::kEnd);
    auto* x = reinterpret_cast<float*>(memory.back().data());
    for (std::size_t i = 0; i < count; ++i) x[i] = element(memory.size() - 1, i);
    bindings.push_back({x, count * sizeof(float)});
  }
  const std::vector<float> y = expected(kernel, static_cast<std::size_t>(n));
  const GuardedMemory found(y.size() * sizeof(float), GuardedMemory::Side::kEnd);
  const BufferBinding results[] = {{found.data(), found.size_bytes()}};
  const auto run = test::run_request(loops, bindings, results,
                                     {.target = target, .force_algorithm = "loop_direct", .symbols = symbols});
  CHECK(run.status().message() == "");
  CHECK(std::equal(y.begin(), y.end(), reinterpret_cast<const float*>(found.data())));
}

TEST_CASE("promised multiples compute every point, and touch nothing beyond, on every level") {
  for (const TargetSpec& target : test::host_targets()) {
    for (const Kernel kernel : kKernels) {
      for (const std::int64_t n : {0, 16, 32, 48, 64, 80, 112, 192, 208}) {
        INFO(kernel(1).name, " of ", n, " on ", target.to_text());
        check_values(kernel, n, target);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
