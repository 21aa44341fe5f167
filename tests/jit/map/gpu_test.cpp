// SPDX-License-Identifier: Apache-2.0
// Nests as kernels of workgroups: interpreted while the simulator observes them, and compared with plain loops.
#include "jit/map/gpu.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "hal/sim/shadow_memory.h"
#include "tests/jit/map/nests.h"
#include "tests/jit/map/plain_nest.h"
#include "tests/support/kernels/machine_kernels.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::GuardedMemory;
using test::PlainBuffers;
using test::PlainIndex;
using test::PlainNest;
using test::PlainTensor;

constexpr std::string_view kGfx[] = {"gfx1100", "gfx90a"};  // subgroups of 32, of 64

/// "256 threads { d1 x 16 threads x 4 lanes, d0 x 16 threads x 4 rows, d2 by 16 staged, stores in turn }".
std::string to_text(const GpuMapping& mapping) {
  std::string text = fmt::format("{} threads {{", mapping.workgroup_size);
  for (std::size_t i = 0; i < mapping.threads.size(); ++i) {
    const ThreadDim& along = mapping.threads[i];
    text += fmt::format("{} d{} x {} threads", i > 0 ? "," : "", along.dim, along.threads);
    if (along.dim == mapping.tile.vector_dim)
      text += fmt::format(" x {} lanes", mapping.tile.lanes);
    else if (along.dim == mapping.tile.row_dim)
      text += fmt::format(" x {} rows", mapping.tile.row_unroll);
  }
  if (mapping.staged_points > 0) text += fmt::format(", d{} by {} staged", mapping.staged_dim, mapping.staged_points);
  if (mapping.stores_one_by_one) text += ", stores in turn";
  return text + " }";
}

TargetSpec target_of(std::string_view gfx) { return {.family = "amdgpu", .gfx = std::string(gfx)}; }

std::string run(const MachineKernel& machine, const TargetSpec& target, const PlainBuffers& buffers,
                const SymbolValues& symbols, std::uint64_t order_seed) {
  const Result<MemoryPlan> plan = plan_memory(machine, target);
  REQUIRE(plan.status().message() == "");
  std::vector<void*> pointers;
  std::vector<ObservedBuffer> arguments;
  for (const GuardedMemory& buffer : buffers) {
    pointers.push_back(buffer.data());
    arguments.push_back(ObservedBuffer::whole(buffer.size_bytes()));
  }
  std::vector<std::int64_t> sizes;
  for (const SizeArgument& size : machine.sizes) sizes.push_back(size.value->evaluate(symbols).value());
  const auto groups = static_cast<std::uint32_t>(machine.num_groups.evaluate(symbols).value());
  ShadowMemory shadow(arguments);
  return test::run_observed(machine, *plan, pointers, sizes, groups, {.observer = &shadow, .order_seed = order_seed})
      .message();
}

/// One run, of threads and groups in the order of `seed`.
void check_kernel(const PlainNest& nest, const MachineKernel& machine, const TargetSpec& target,
                  const SymbolValues& symbols, std::uint32_t seed) {
  REQUIRE(verify(machine).message() == "");
  const PlainBuffers buffers = make_buffers(nest, GuardedMemory::Side::kEnd, seed);
  const std::vector<std::byte> expected = expected_result(nest, buffers);
  const std::string finding = run(machine, target, buffers, symbols, seed);
  if (finding.empty() && std::equal(expected.begin(), expected.end(), buffers.back().data())) return;
  FAIL_CHECK(target.gfx, ": ", finding.empty() ? "wrong" : finding, "\n", to_text(nest), to_text(machine));
}

void check_mapped(const PlainNest& nest, std::uint32_t symbolic, std::uint32_t seed) {
  SymbolValues symbols;
  const LoopKernel kernel = nest.to_kernel(symbolic, symbols);
  REQUIRE(verify(kernel).message() == "");
  for (const std::string_view gfx : kGfx) {
    const TargetSpec target = target_of(gfx);
    const Result<MachineKernel> machine = map_kernel(kernel, target);
    REQUIRE(machine.status().message() == "");
    CAPTURE(symbolic);
    check_kernel(nest, *machine, target, symbols, seed);
  }
}

TEST_CASE("random nests give the results of plain loops on GPUs, static and symbolic, without a finding") {
  for (std::uint32_t seed = 0; seed < 250; ++seed) {
    const PlainNest nest = test::random_nest(seed);
    check_mapped(nest, seed % 2 == 0 ? 0 : 0xb5a96d3cu * (seed + 1), seed);
  }
}

PlainNest domain(std::vector<std::int64_t> extents, std::size_t num_parallel) {
  PlainNest nest;
  nest.extents = std::move(extents);
  nest.num_parallel = num_parallel;
  return nest;
}

/// Row-major, an axis each for some dims of the domain.
PlainTensor tensor(const PlainNest& nest, DType dtype, const std::vector<std::size_t>& dims) {
  PlainTensor tensor;
  tensor.dtype = dtype;
  tensor.strides.assign(dims.size(), 1);
  for (const std::size_t dim : dims) {
    PlainIndex index{0, std::vector<std::int64_t>(nest.extents.size())};
    index.coefficients[dim] = 1;
    tensor.indices.push_back(std::move(index));
    tensor.extents.push_back(nest.extents[dim]);
  }
  for (std::size_t i = dims.size(); i-- > 1;) {
    tensor.strides[i - 1] = tensor.strides[i] * std::max<std::int64_t>(tensor.extents[i], 1);
  }
  return tensor;
}

PlainNest map_nest(std::int64_t n, DType dtype) {
  PlainNest nest = domain({n}, 1);
  nest.operands = {tensor(nest, dtype, {0}), tensor(nest, dtype, {0})};
  nest.result = tensor(nest, dtype, {0});
  return nest;
}

PlainNest broadcast_nest(std::int64_t n, DType dtype) {
  PlainNest nest = domain({3, n, 5}, 3);
  nest.operands = {tensor(nest, dtype, {0, 1, 2}), tensor(nest, dtype, {2}), tensor(nest, dtype, {1})};
  nest.result = tensor(nest, dtype, {0, 1, 2});
  nest.combine = PlainNest::Combine::kAdd;
  return nest;
}

PlainNest transpose_nest(std::int64_t n, DType dtype) {
  PlainNest nest = domain({n, 33}, 2);
  nest.operands = {tensor(nest, dtype, {1, 0})};
  nest.result = tensor(nest, dtype, {0, 1});
  return nest;
}

/// Sums, or whatever `kind`, of small numbers: exact in any order.
PlainNest reduced(PlainNest nest, DType dtype, ReductionKind kind, const std::vector<std::size_t>& dims) {
  nest.reduction = kind;
  const bool is_wide = dtype == DType::kF64 || dtype == DType::kI32;
  nest.result = tensor(nest, returns_index(kind) ? DType::kI64 : is_wide ? dtype : DType::kF32, dims);
  return nest;
}

PlainNest row_nest(std::int64_t n, DType dtype, ReductionKind kind) {
  PlainNest nest = domain({3, n}, 1);
  nest.operands = {tensor(nest, dtype, {0, 1})};
  return reduced(nest, dtype, kind, {0});
}

PlainNest column_nest(std::int64_t n, DType dtype, ReductionKind kind) {
  PlainNest nest = domain({5, n}, 1);
  nest.operands = {tensor(nest, dtype, {1, 0})};
  return reduced(nest, dtype, kind, {0});
}

PlainNest whole_nest(std::int64_t n, DType dtype, ReductionKind kind) {
  PlainNest nest = domain({n}, 0);
  nest.operands = {tensor(nest, dtype, {0})};
  return reduced(nest, dtype, kind, {});
}

PlainNest product_nest(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype) {
  PlainNest nest = domain({m, n, k}, 2);
  nest.operands = {tensor(nest, dtype, {0, 2}), tensor(nest, dtype, {2, 1})};
  return reduced(nest, dtype, ReductionKind::kSum, {0, 1});
}

/// y[c, i] = sum of x[c, i + j - 1] * w[j] over j < 3, with zeros around x.
PlainNest window_nest(std::int64_t n, DType dtype) {
  PlainNest nest = domain({2, n, 3}, 2);
  PlainTensor x = tensor(nest, dtype, {0, 1});
  x.indices[1] = {-1, {0, 1, 1}};
  x.fill = 0;
  nest.operands = {x, tensor(nest, dtype, {2})};
  return reduced(nest, dtype, ReductionKind::kSum, {0, 1});
}

/// y[b, i, j] = sum of x[b, i + p, k] * w[p, k, j]: a convolution along rows.
PlainNest convolution_nest(std::int64_t n, DType dtype) {
  PlainNest nest = domain({2, n, 20, 3, 18}, 3);
  PlainTensor x = tensor(nest, dtype, {0, 1, 4});
  x.extents[1] = n + 2;
  x.indices[1].coefficients[3] = 1;
  x.strides[0] = x.strides[1] * (n + 2);
  nest.operands = {x, tensor(nest, dtype, {3, 4, 2})};
  return reduced(nest, dtype, ReductionKind::kSum, {0, 1, 2});
}

constexpr std::int64_t kSizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 3000};

TEST_CASE("maps of every size and dtype equal plain loops" * test::Sliced()) {
  const DType dtypes[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16,
                          DType::kI8,  DType::kI16, DType::kI32, DType::kI64};
  for (const DType dtype : dtypes) {
    for (const std::int64_t n : kSizes) {
      for (const std::uint32_t symbolic : {0u, 0xffffffffu}) {
        check_mapped(map_nest(n, dtype), symbolic, 1);
        if (n > 1000) continue;
        check_mapped(broadcast_nest(n, dtype), symbolic, 2);
        check_mapped(transpose_nest(n, dtype), symbolic, 3);
      }
    }
  }
}

TEST_CASE("reductions of rows, columns and everything, of every size and dtype, equal plain loops") {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32}) {
    for (const std::int64_t n : kSizes) {
      for (const auto kind : {ReductionKind::kSum, ReductionKind::kMin, ReductionKind::kMax, ReductionKind::kArgMin,
                              ReductionKind::kArgMax}) {
        const std::uint32_t symbolic = n % 2 == 0 ? 0 : 0xffffffffu;
        check_mapped(row_nest(n, dtype, kind), symbolic, 4);
        check_mapped(column_nest(n, dtype, kind), symbolic, 5);
        check_mapped(whole_nest(n, dtype, kind), symbolic, 6);
      }
    }
  }
}

TEST_CASE("contractions and windows of every size and dtype equal plain loops" * test::Sliced()) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kI32}) {
    for (const std::int64_t n : kSizes) {
      const std::uint32_t symbolic = n % 2 == 0 ? 0 : 0xffffffffu;
      check_mapped(product_nest(7, 9, n, dtype), symbolic, 7);
      if (n <= 257) {
        check_mapped(product_nest(n, 17, 19, dtype), symbolic, 8);
        check_mapped(product_nest(65, n, 33, dtype), symbolic, 9);
      }
      check_mapped(window_nest(n, dtype), symbolic, 10);
    }
  }
}

TEST_CASE("contractions by whole and partial blocks in workgroup memory equal plain loops" * test::Sliced()) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kI32}) {
    for (const std::uint32_t symbolic : {0u, 0xffffffffu}) {
      for (const std::int64_t n : {16, 31, 64}) check_mapped(convolution_nest(n, dtype), symbolic, 11);
    }
  }
}

/// With tiles that only much larger nests would be given.
TEST_CASE("blocks with every tile of rows and lanes equal plain loops" * test::Sliced()) {
  const TargetSpec target = target_of("gfx1100");
  for (const PlainNest& nest : {product_nest(70, 90, 33, DType::kF32), product_nest(64, 128, 48, DType::kF64),
                                product_nest(16, 17, 16, DType::kI32), convolution_nest(50, DType::kF32)}) {
    for (const std::uint32_t symbolic : {0u, 7u}) {
      SymbolValues symbols;
      const LoopKernel collapsed = collapse_dims(nest.to_kernel(symbolic, symbols));
      GpuMapping mapping = choose_staged_mapping(collapsed).value();
      for (mapping.tile.lanes = 1; mapping.tile.lanes <= 4; mapping.tile.lanes *= 2) {
        for (mapping.tile.row_unroll = 1; mapping.tile.row_unroll <= 4; mapping.tile.row_unroll *= 2) {
          for (const bool in_turn : {false, true}) {
            mapping.stores_one_by_one = in_turn;
            CAPTURE(to_text(mapping));
            check_kernel(nest, map_gpu_kernel(collapsed, target, mapping), target, symbols, 13);
          }
        }
      }
    }
  }
}

TEST_CASE("a long epilogue of a block is emitted once, whatever the tile") {
  const TargetSpec target = target_of("gfx90a");
  const auto num_negations = [&](const SizeExpr& m, std::size_t length) {
    const std::string text = to_text(map_kernel(test::negated_matmul_nest(m, 4096, 4096, length), target).value());
    std::size_t count = 0;
    for (auto at = text.find(" = neg "); at != std::string::npos; at = text.find(" = neg ", at + 1)) ++count;
    return count;
  };
  CHECK(to_text(choose_gpu_mapping(test::negated_matmul_nest(4096, 4096, 4096, 40), target)) ==
        "256 threads { d1 x 16 threads x 4 lanes, d0 x 16 threads x 4 rows, d2 by 16 staged, stores in turn }");
  CHECK(num_negations(4096, 40) == 40);
  CHECK(num_negations(Dim("m"), 40) == 40);
  CHECK(num_negations(4096, 39) == 39 * 4);
  CHECK(num_negations(4095, 39) == 39 * 4 + 39);
}

TEST_CASE("mappings are chosen by the strides of the accesses") {
  const auto chosen = [](const PlainNest& nest, std::string_view gfx = "gfx1100") {
    SymbolValues symbols;
    return to_text(choose_gpu_mapping(collapse_dims(nest.to_kernel(0, symbols)), target_of(gfx)));
  };
  CHECK(chosen(map_nest(1 << 20, DType::kF32)) == "256 threads { d0 x 256 threads x 4 lanes }");
  CHECK(chosen(map_nest(1 << 20, DType::kF16)) == "256 threads { d0 x 256 threads x 4 lanes }");
  CHECK(chosen(map_nest(1001, DType::kF32)) == "256 threads { d0 x 256 threads }");
  CHECK(chosen(map_nest(5, DType::kF32)) == "32 threads { d0 x 8 threads }");
  CHECK(chosen(map_nest(5, DType::kF32), "gfx90a") == "64 threads { d0 x 8 threads }");
  CHECK(chosen(transpose_nest(1000, DType::kF32)) == "256 threads { d1 x 16 threads, d0 x 16 threads }");
  CHECK(chosen(row_nest(100, DType::kF32, ReductionKind::kSum)) == "256 threads { d1 x 128 threads, d0 x 2 threads }");
  CHECK(chosen(row_nest(5000, DType::kF32, ReductionKind::kSum)) == "256 threads { d1 x 256 threads }");
  CHECK(chosen(column_nest(5000, DType::kF32, ReductionKind::kSum)) ==
        "256 threads { d0 x 8 threads, d1 x 32 threads }");
  CHECK(chosen(whole_nest(5000, DType::kF32, ReductionKind::kSum)) == "256 threads { d0 x 256 threads }");
  CHECK(chosen(product_nest(1, 4096, 4096, DType::kF32)) == "256 threads { d0 x 32 threads, d1 x 8 threads }");
  CHECK(chosen(product_nest(4096, 1, 4096, DType::kF32)) == "256 threads { d1 x 256 threads }");
  CHECK(chosen(product_nest(4096, 4096, 4096, DType::kF32)) ==
        "256 threads { d1 x 16 threads x 4 lanes, d0 x 16 threads x 4 rows, d2 by 16 staged }");
  CHECK(chosen(product_nest(256, 256, 4096, DType::kF32)) ==
        "256 threads { d1 x 16 threads x 2 lanes, d0 x 16 threads x 1 rows, d2 by 16 staged }");
  CHECK(chosen(product_nest(8, 8, 4096, DType::kF32)) == "256 threads { d1 x 8 threads, d2 x 32 threads }");
  CHECK(chosen(window_nest(1000, DType::kF32)) == "256 threads { d1 x 256 threads }");
  CHECK(chosen(convolution_nest(1000, DType::kF32)) ==
        "256 threads { d2 x 16 threads x 1 lanes, d1 x 16 threads x 2 rows, d3 by 16 staged }");
}

}  // namespace
}  // namespace millrace
