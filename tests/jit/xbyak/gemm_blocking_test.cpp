// SPDX-License-Identifier: Apache-2.0
#include "jit/xbyak/gemm_blocking.h"

#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "hal/cpu/code_loader.h"
#include "hal/host/routines/gemm/gemm_f32.h"
#include "hal/host/routines/routine.h"
#include "jit/xbyak/gemm_kernel.h"
#include "millrace/jit/memory_plan.h"
#include "tests/jit/xbyak/gemm_harness.h"

namespace millrace::gemm_test {
namespace {

/// C = A * B with f32 values that are small integers, so that every order of summation gives the same bits.
struct Product {
  GemmProblem problem;
  std::vector<float> a, b;

  struct Sizes {
    std::int64_t m = 1, n = 1, k = 1;
    std::int64_t b_n = 1, b_k = 1;               // strides
    std::int64_t batch = 1, b_batch_stride = 0;  // products of one A by as many B
  };

  static Product make(const Sizes& sizes) {
    const auto& [m, n, k, b_n, b_k, batch, b_batch_stride] = sizes;
    Product product;
    product.problem.m = m;
    product.problem.n = n;
    product.problem.k = k;
    product.problem.batch_extents = {batch};
    product.problem.num_outer_batch = 1;
    product.problem.a = {.buffer = 0, .m = k, .k = 1, .batch = {0}};
    product.problem.b = {.buffer = 1, .n = b_n, .k = b_k, .batch = {b_batch_stride}};
    product.problem.stores = {{.buffer = 2, .m = n, .n = 1, .batch = {m * n}}};
    product.a.resize(static_cast<std::size_t>(m * k));
    product.b.resize(static_cast<std::size_t>((batch - 1) * b_batch_stride + (n - 1) * b_n + (k - 1) * b_k + 1));
    std::mt19937 random(3);
    for (auto* values : {&product.a, &product.b}) {
      for (float& value : *values) value = static_cast<float>(random() % 9) - 4;
    }
    return product;
  }

  std::vector<float> expected() const {
    std::vector<float> c;
    for (std::int64_t batch = 0; batch < problem.batch_extents[0]; ++batch) {
      for (std::int64_t m = 0; m < problem.m; ++m) {
        for (std::int64_t n = 0; n < problem.n; ++n) {
          double sum = 0;
          for (std::int64_t k = 0; k < problem.k; ++k) {
            const std::int64_t b_at = batch * problem.b.batch[0] + n * problem.b.n + k * problem.b.k;
            sum += static_cast<double>(a[static_cast<std::size_t>(m * problem.a.m + k)]) *
                   b[static_cast<std::size_t>(b_at)];
          }
          c.push_back(static_cast<float>(sum));
        }
      }
    }
    return c;
  }

  std::vector<float> run(const GemmBlocking& blocking, IsaLevel isa) const {
    BodyBuilder body;
    body.yield(body.reduced(0, DType::kF32));
    const EpilogueProgram epilogue = compile_epilogue(body.finish(), problem).value();
    const ExecutableImage image = emit_gemm_image(problem, blocking, epilogue, isa).value();
    const MappedCode code = MappedCode::map(image.bytes, image.code_bytes).value();
    const std::int64_t batch = problem.batch_extents[0];
    std::vector<float> c(static_cast<std::size_t>(batch * problem.m * problem.n));
    const GuardedBuffer memory(static_cast<std::size_t>(blocking.workgroup_bytes()), true, 64);
    void* const buffers[] = {const_cast<float*>(a.data()), const_cast<float*>(b.data()), c.data()};
    std::uint32_t status = 0;
    const KernelArgs args{&status, memory.data(), buffers, nullptr};
    const auto groups = static_cast<std::uint32_t>(batch * blocking.tile_groups() * blocking.panel_groups());
    gemm_f32(code.data(), image.routine.parameters, &args, 0, groups);
    return c;
  }
};

TEST_CASE("every blocking gives the product") {
  std::mt19937 random(11);
  const auto upto = [&](std::int64_t bound) { return 1 + static_cast<std::int64_t>(random() % bound); };
  for (const IsaLevel isa : generated_levels()) {
    const std::int64_t lanes = isa == IsaLevel::kAvx512 ? 16 : 8;
    for (int i = 0; i < 150; ++i) {
      const bool is_turned = i % 3 == 0;
      const bool is_long = i % 10 == 0;  // longer than one accumulator's run
      const std::int64_t m = upto(60), n = upto(is_long ? 40 : 150), k = is_long ? 400 + upto(1500) : upto(90);
      const Product product = Product::make({m, n, k, is_turned ? k + 2 : 1, is_turned ? 1 : n + 1});
      const std::int64_t vectors = upto(5);
      GemmBlocking blocking;
      blocking.lanes = lanes;
      blocking.tiles = EvenSplit::at_most(m, upto((lanes == 16 ? 31 - vectors : 14 - vectors) / vectors));
      blocking.panels = EvenSplit::at_most((n + lanes - 1) / lanes, vectors);
      blocking.k_blocks = EvenSplit::at_most(k, upto(k));
      blocking.tiles_per_group = upto(blocking.tiles.parts);
      blocking.panels_per_group = upto(blocking.panels.parts);
      blocking.pack_b = is_turned || i % 3 == 1;
      INFO(to_text(isa) << " m " << m << " n " << n << " k " << k << ": " << blocking.to_text());
      CHECK(product.run(blocking, isa) == product.expected());
    }
  }
}

/// One tile; B in panels of one vector and in two blocks of k, packed. k is odd, so that the second block is shorter.
GemmBlocking packed_in_two_blocks(const Product& product, std::int64_t lanes) {
  GemmBlocking blocking;
  blocking.lanes = lanes;
  blocking.tiles = EvenSplit::at_most(product.problem.m, product.problem.m);
  blocking.panels = EvenSplit::at_most(product.problem.n / lanes, 1);
  blocking.k_blocks = EvenSplit::at_most(product.problem.k, product.problem.k / 2 + 1);
  blocking.pack_b = true;
  return blocking;
}

/// B[k, n] = x[k + n]: the second block of k of the first panel starts where the first block of the second panel does,
/// but is shorter; it may not pass for it.
TEST_CASE("packed panels at one address are distinguished by their panel") {
  for (const IsaLevel isa : generated_levels()) {
    const std::int64_t lanes = isa == IsaLevel::kAvx512 ? 16 : 8;
    const Product product = Product::make({.m = 4, .n = 2 * lanes, .k = 2 * lanes - 1});
    CHECK(product.run(packed_in_two_blocks(product, lanes), isa) == product.expected());
  }
}

/// B[batch, k, n] = x[3 * batch + k, n]: the first block of k of the second batch starts where the second block of the
/// first one does, and is one row longer.
TEST_CASE("packed panels at one address are distinguished by their block of k") {
  for (const IsaLevel isa : generated_levels()) {
    const std::int64_t lanes = isa == IsaLevel::kAvx512 ? 16 : 8;
    const Product product =
        Product::make({.m = 4, .n = lanes, .k = 5, .b_k = lanes, .batch = 2, .b_batch_stride = 3 * lanes});
    CHECK(product.run(packed_in_two_blocks(product, lanes), isa) == product.expected());
  }
}

TEST_CASE("pieces of an even split differ by one at most and cover the whole") {
  for (std::int64_t total = 1; total < 60; ++total) {
    for (std::int64_t largest = 1; largest <= total; ++largest) {
      const EvenSplit split = EvenSplit::at_most(total, largest);
      CHECK_LE(split.largest(), largest);
      CHECK_EQ(split.parts, (total + largest - 1) / largest);
      CHECK_EQ(split.start(split.parts), total);
      for (std::int64_t piece = 0; piece < split.parts; ++piece) {
        CHECK_EQ(split.start(piece) + split.size(piece), split.start(piece + 1));
        CHECK_LE(split.largest() - split.size(piece), 1);
      }
    }
  }
}

TEST_CASE("a group's memory is within the target's limit") {
  std::mt19937 random(5);
  const auto upto = [&](std::int64_t bound) { return 1 + static_cast<std::int64_t>(random() % bound); };
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    const TargetSpec spec{"cpu", isa};
    for (int i = 0; i < 2000; ++i) {
      GemmProblem problem;
      problem.m = upto(upto(300));
      problem.n = upto(upto(20000));
      problem.k = upto(upto(20000));
      problem.a = {.buffer = 0, .m = problem.k, .k = 1};
      problem.b = i % 3 == 0 ? GemmAccess{.buffer = 1, .n = problem.k, .k = 1}
                             : GemmAccess{.buffer = 1, .n = 1, .k = problem.n};
      const GemmRegisters registers{spec.num_vector_registers(), static_cast<std::int64_t>(random() % 12)};
      const GemmBlocking blocking = choose_gemm_blocking(problem, registers, spec);
      INFO("m " << problem.m << " n " << problem.n << " k " << problem.k << ": " << blocking.to_text());
      CHECK_LE(blocking.workgroup_bytes(), static_cast<std::int64_t>(memory_limits(spec).workgroup_bytes));
      CHECK_LE(blocking.tiles.largest() * blocking.panels.largest() + registers.epilogue, registers.available);
    }
  }
}

std::string blocking_of(const Product& product, IsaLevel isa) {
  const TargetSpec spec{"cpu", isa};
  return choose_gemm_blocking(product.problem, {spec.num_vector_registers(), 1}, spec).to_text();
}

TEST_CASE("blocks follow the caches") {
  constexpr IsaLevel kAvx2 = IsaLevel::kAvx2, kAvx512 = IsaLevel::kAvx512;
  CHECK_EQ(blocking_of(Product::make({64, 64, 64, 1, 64}), kAvx512),
           "tiles 9x6+2x5 rows, panels 1x4 vectors of 16, k 1x64, groups of 11 tiles x 1 panels");
  CHECK_EQ(blocking_of(Product::make({64, 64, 64, 64, 1}), kAvx512),
           "tiles 9x6+2x5 rows, panels 1x4 vectors of 16, k 1x64, groups of 11 tiles x 1 panels, B packed");
  CHECK_EQ(blocking_of(Product::make({512, 512, 512, 1, 512}), kAvx512),
           "tiles 82x6+4x5 rows, panels 8x4 vectors of 16, k 1x512, groups of 6 tiles x 1 panels");
  CHECK_EQ(blocking_of(Product::make({512, 512, 512, 1, 512}), kAvx2),
           "tiles 82x6+4x5 rows, panels 32x2 vectors of 8, k 1x512, groups of 22 tiles x 1 panels, B packed");
  CHECK_EQ(blocking_of(Product::make({100, 64, 5000, 1, 64}), kAvx512),
           "tiles 15x6+2x5 rows, panels 1x4 vectors of 16, k 4x1250, groups of 17 tiles x 1 panels, B packed");
  CHECK_EQ(blocking_of(Product::make({8, 4096, 512, 1, 4096}), kAvx512),
           "tiles 1x8 rows, panels 84x3+2x2 vectors of 16, k 32x16, groups of 1 tiles x 29 panels");
}

}  // namespace
}  // namespace millrace::gemm_test
