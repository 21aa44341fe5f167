// SPDX-License-Identifier: Apache-2.0
// Requests whose sizes a run binds. Their sequences have kernels of several algorithms; a run launches those of one.
#include <algorithm>
#include <bit>

#include <doctest/doctest.h>

#include "jit/algorithms/size_margin.h"
#include "tests/jit/algorithms/sort/gpu_sort_run.h"

namespace millrace {
namespace {

using Names = std::vector<std::string>;

SortDescriptor sort_of(const SizeExpr& n, const SizeExpr& k) {
  SortDescriptor sort = test::descriptor_of({.extents = {3, 1}, .axis = 1, .k = 1});
  const Shape shape{3, n}, kept{3, k};
  sort.k = k;
  sort.input = {"x", {DType::kF32, shape}, Layout::row_major(shape)};
  sort.values = {"values", {DType::kF32, kept}, Layout::row_major(kept)};
  sort.indices = {"indices", {DType::kI64, kept}, Layout::row_major(kept)};
  return sort;
}

/// The kernels that have groups.
Names launched(const KernelSequence& sequence, const SymbolValues& symbols) {
  Names names;
  for (const SequenceKernel& entry : sequence.kernels) {
    if (entry.kernel.num_groups.evaluate(symbols).value() > 0) names.push_back(entry.kernel.name);
  }
  return names;
}

std::int64_t scratch_bytes(const KernelSequence& sequence, const SymbolValues& symbols) {
  std::int64_t bytes = 0;
  for (const SequenceScratch& scratch : sequence.scratch) bytes += scratch.size_bytes.evaluate(symbols).value();
  return bytes;
}

TEST_CASE("a run of a sort launches the kernels for its size alone, and has no scratch of others") {
  const Dim n("n");
  const KernelSequence sequence = test::lowered_sort(sort_of(n, n), "gfx1100");
  CHECK(sequence.kernels.size() == 2 + 4 * 3);
  CHECK(launched(sequence, {{"n", 0}}) == Names{});
  for (const std::int64_t size : {1, 2, 511, 512}) CHECK(launched(sequence, {{"n", size}}) == Names{"sort_tile"});
  for (const std::int64_t size : {513, 4096}) CHECK(launched(sequence, {{"n", size}}) == Names{"sort_large_tile"});
  CHECK(scratch_bytes(sequence, {{"n", 4096}}) == 0);
  for (const std::int64_t size : {4097, 100000, 3'000'000}) {
    CHECK(launched(sequence, {{"n", size}}).size() == 4 * 3);
    CHECK(scratch_bytes(sequence, {{"n", size}}) >= 2 * 3 * size * (4 + 8));
  }
}

TEST_CASE("a run of a TopK launches the kernels for its size and its k alone") {
  const Dim n("n"), k = Dim("k").at_most(100);
  const KernelSequence sequence = test::lowered_sort(sort_of(n, k), "gfx1100");
  const auto launched_at = [&](std::int64_t size, std::int64_t count) {
    const SymbolValues symbols{{"n", size}, {"k", count}};
    const Names names = launched(sequence, symbols);
    CHECK((scratch_bytes(sequence, symbols) == 0) == (names.size() == 1));
    return names;
  };
  CHECK(launched_at(32, 16) == Names{"sort_tile"});
  CHECK(launched_at(33, 16) == Names{"sort_lanes"});
  CHECK(launched_at(512, 16) == Names{"sort_lanes"});
  CHECK(launched_at(512, 17) == Names{"sort_tile"});
  CHECK(launched_at(513, 16) == Names{"sort_large_tile"});
  CHECK(launched_at(4096, 100) == Names{"sort_large_tile"});
  CHECK(launched_at(4097, 100) == Names{"sort_few_part", "sort_few_merge"});
  const std::int64_t max_i32 = 0x7fffffff;
  CHECK(launched_at(max_i32, 1) == Names{"sort_few_part", "sort_few_merge"});
  CHECK(launched_at(max_i32 + 1, 1) == Names{"sort_part", "sort_merge"});
}

TEST_CASE("facts leave out the kernels of impossible sizes") {
  const auto names_of = [](const Dim& n, const SizeExpr& k) {
    Names names;
    for (const SequenceKernel& entry : test::lowered_sort(sort_of(n, k), "gfx1100").kernels) {
      names.push_back(entry.kernel.name);
    }
    return names;
  };
  CHECK(names_of(Dim("n").at_most(512), Dim("n").at_most(512)) == Names{"sort"});
  CHECK(names_of(Dim("n").at_least(513).at_most(4096), Dim("n").at_least(513).at_most(4096)) == Names{"sort"});
  CHECK(names_of(Dim("n").at_least(33).at_most(500), 3) == Names{"sort"});
  CHECK(names_of(Dim("n").at_least(10).at_most(500), 3) == Names{"sort_lanes", "sort"});
}

TEST_CASE("powers of two that a run decides equal those of plain code") {
  const Dim n("n");
  const SizePower any = bit_ceil_of(n, 4096), large = bit_ceil_of(n, 4096, 10), threads = threads_for(n, 32, 256);
  CHECK(any.maximum() == 4096);
  CHECK(threads.maximum() == 256);
  const std::int64_t one = 1;
  for (std::int64_t size = 0; size <= 4096; ++size) {
    const SymbolValues symbols{{"n", size}};
    const auto at_run = [&](const SizeExpr& expr) { return expr.evaluate(symbols).value(); };
    const auto smallest = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
    REQUIRE(at_run(any.value) == (size == 0 ? 0 : smallest));
    REQUIRE((one << at_run(any.bits)) == smallest);
    REQUIRE(at_run(large.value) == std::max<std::int64_t>(smallest, 1024));
    REQUIRE((one << at_run(large.bits)) == at_run(large.value));
    const std::int64_t num_threads = size == 0 ? 0 : size > 32 ? 256 : smallest;
    REQUIRE(at_run(threads.value) == num_threads);
    REQUIRE((one << at_run(threads.bits)) == std::max(num_threads, one));
    REQUIRE(bit_ceil_of(size, 4096).value.is(at_run(any.value)));
  }
}

TEST_CASE("conditions that exclude each other never hold together") {
  const Dim n("n"), k("k");
  CHECK(never_holds(margin_of_both(margin_of_at_most(n, 16), margin_of_at_least(n, 17))));
  CHECK(!never_holds(margin_of_both(margin_of_at_most(n, 17), margin_of_at_least(n, 17))));
  CHECK(!never_holds(margin_of_both(margin_of_at_most(k, 16), margin_of_at_least(n, 17))));
  CHECK(always_holds(max(margin_of_at_most(n, 16), margin_of_at_least(n, 0))));
  const SizeExpr is_17 = indicator(margin_of_both(margin_of_at_most(n, 17), margin_of_at_least(n, 17)));
  for (const std::int64_t size : {0, 16, 17, 18, 1000}) {
    CHECK(is_17.evaluate({{"n", size}}).value() == (size == 17 ? 1 : 0));
  }
}

}  // namespace
}  // namespace millrace
