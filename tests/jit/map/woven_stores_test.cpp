// SPDX-License-Identifier: Apache-2.0
// Results whose lanes are a few elements apart, with the rows of a tile between them: woven in registers and stored as
// vectors. Every dtype and distance against plain loops, in memory that ends, or begins, at a page without access.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/jit/loop_kernel_builder.h"
#include "millrace/jit/map_kernel.h"
#include "tests/jit/guarded_memory.h"
#include "tests/support/kernels/run_request.h"

namespace millrace {
namespace {

using test::GuardedMemory;

constexpr IsaLevel kLevels[] = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};
constexpr std::int64_t kLines = 3;

/// y[i, j * times + t] = x[i, j], as in a nearest resize; or x[t, i, j], as in depth_to_space.
LoopKernel weaving_nest(DType dtype, const SizeExpr& width, std::int64_t times, bool has_planes) {
  LoopKernelBuilder nest("weave");
  const AffineIndex i = nest.parallel("i", kLines), j = nest.parallel("j", width), t = nest.parallel("t", times);
  const Shape shape = has_planes ? Shape({times, kLines, width}) : Shape({kLines, width});
  const OperandId x = nest.operand("x", {dtype, shape});
  const std::vector<AffineIndex> from = has_planes ? std::vector{t, i, j} : std::vector{i, j};
  nest.store("y", {dtype, {kLines, width * times}}, {i, j * times + t}, nest.load(nest.epilogue(), x, from));
  return nest.finish().value();
}

/// The bytes of element `at`; those of a bool are 0 or 1.
std::byte byte_of(DType dtype, std::size_t at, std::size_t byte) {
  return static_cast<std::byte>(dtype == DType::kBool ? at % 3 == 0 : at * 31 + byte * 7);
}

void check_run(DType dtype, const TargetSpec& target, std::int64_t width, std::int64_t times, bool has_planes,
               bool is_symbolic) {
  INFO(to_text(dtype), " ", target.to_text(), ": ", width, " x ", times, has_planes ? " planes" : "");
  const std::size_t size = size_bytes(dtype);
  const auto w = static_cast<std::size_t>(width), k = static_cast<std::size_t>(times);
  const std::size_t lines = kLines, count = lines * w;
  for (const auto side : {GuardedMemory::Side::kEnd, GuardedMemory::Side::kStart}) {
    const GuardedMemory x((has_planes ? k : 1) * count * size, side), y(k * count * size, side);
    for (std::size_t at = 0; at < x.size_bytes(); ++at) x.data()[at] = byte_of(dtype, at / size, at % size);
    std::fill_n(y.data(), y.size_bytes(), std::byte{0xa5});
    const BufferBinding operands[] = {{x.data(), x.size_bytes()}}, results[] = {{y.data(), y.size_bytes()}};
    const SizeExpr extent = is_symbolic ? SizeExpr(Dim("w").at_least(1).at_most(1000)) : SizeExpr(width);
    const auto run = test::run_request(weaving_nest(dtype, extent, times, has_planes), operands, results,
                                       {.target = target, .symbols = {{"w", width}}});
    REQUIRE(run.status().message() == "");
    std::size_t num_wrong = 0;
    for (std::size_t at = 0; at < k * count; ++at) {
      const std::size_t from = at / k + (has_planes ? at % k * count : 0);
      for (std::size_t byte = 0; byte < size; ++byte) {
        num_wrong += y.data()[at * size + byte] != byte_of(dtype, from, byte);
      }
    }
    CHECK(num_wrong == 0);
  }
}

TEST_CASE("woven results have the elements of plain loops") {
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI16, DType::kF16, DType::kF32, DType::kF64}) {
    for (const TargetSpec& target : test::host_targets()) {
      for (const std::int64_t times : {2, 3, 4, 8, 16}) {
        for (const std::int64_t width : {1, 16, 33, 128}) {
          check_run(dtype, target, width, times, width % 2 == 1, width == 33);
        }
      }
    }
  }
}

TEST_CASE("rows between the lanes of a store are woven: no store of single elements") {
  for (const IsaLevel isa : kLevels) {
    for (const std::int64_t times : {2, 4, 8}) {
      const LoopKernel nest = weaving_nest(DType::kF32, 128, times, true);
      const std::string code = to_text(map_kernel(nest, {.isa = isa}).value());
      INFO(code);
      CHECK(code.find("interleave") != std::string::npos);
      CHECK(code.find("scatter") == std::string::npos);
    }
  }
}

TEST_CASE("woven stores may bypass the caches if the result is large") {
  const auto code_of = [](std::int64_t width) {
    return to_text(map_kernel(weaving_nest(DType::kF32, width, 2, false), {.isa = IsaLevel::kAvx2}).value());
  };
  CHECK(code_of(1 << 20).find("store_streaming") != std::string::npos);
  CHECK(code_of(128).find("store_streaming") == std::string::npos);
}

}  // namespace
}  // namespace millrace
