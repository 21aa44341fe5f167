// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/jit/algorithms/sort/cpu_sort_run.h"

namespace millrace {
namespace {

using test::check_sort;
using test::check_sort_of_dtype;
using test::descriptor_of;
using test::forced;
using test::interpreted_target;
using test::Pattern;
using test::SortCase;

constexpr const char* kAlgorithm = "topk_heap";
constexpr std::int64_t kMaxTogether = 256;  // elements that are compared before a branch: 4 vectors of 64 bytes

TEST_CASE("every dtype and pattern gives the first k stably, NaN greatest, in both directions") {
  for (const DType dtype : kAllDTypes) {
    for (const Pattern pattern : test::kAllPatterns) {
      for (const bool largest : {false, true}) {
        SortCase test{dtype, {2, 2 * kMaxTogether + 33}, 1, 9, largest};
        test.pattern = pattern;
        check_sort_of_dtype(test, kAlgorithm, largest ? IsaLevel::kAvx512 : IsaLevel::kBaseline);
      }
    }
  }
}

TEST_CASE("rows may end anywhere in a vector, for any k and each subset of wanted results") {
  for (const std::int64_t rest : {0, 1, 15, 16, 17, 63, 64, 65, 128, 129}) {
    for (const std::int64_t k : {0, 1, 2, 3, 4, 31, 32}) {
      for (const int wanted : {1, 2, 3}) {
        SortCase test{DType::kF32, {3, k + rest}, 1, k, wanted != 2, (wanted & 1) != 0, (wanted & 2) != 0};
        test.pattern = rest % 2 == 0 ? Pattern::kSpecial : Pattern::kRandom;
        check_sort<float>(test, kAlgorithm, IsaLevel::kAvx512);
        test.dtype = DType::kI64;
        check_sort<std::int64_t>(test, kAlgorithm);
      }
    }
  }
}

TEST_CASE("a heap selects along any axis, for a k up to the whole row") {
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    check_sort<float>({DType::kF32, {5, 70, 4}, axis, 4, true}, kAlgorithm);
    check_sort<float>({DType::kF32, {5, 5, 5}, axis, 5}, kAlgorithm);
  }
  check_sort<float>({DType::kF32, {0, 4}, 1, 4}, kAlgorithm);
}

TEST_CASE("k results in no order are the first k") {
  SortCase test{DType::kF32, {3, 300}, 1, 20, true};
  test.sorted = false;
  check_sort<float>(test, kAlgorithm);
}

TEST_CASE("a heap beyond workgroup memory is in scratch") {
  const SortCase test{DType::kI32, {2, 100'000}, 1, 70'000, true};
  const Result<KernelSequence> sequence =
      lower_request(descriptor_of(test), interpreted_target(IsaLevel::kAvx2), forced(kAlgorithm));
  REQUIRE(sequence.status().message() == "");
  REQUIRE(sequence->scratch.size() == 1);
  CHECK(sequence->scratch[0].size_bytes == SizeExpr(2 * 70'000 * 8));
  check_sort<std::int32_t>(test, kAlgorithm);
}

TEST_CASE("a heap takes a k below a quarter of a row, and for sizes that a run binds stands next to full sorts") {
  const Target target = interpreted_target(IsaLevel::kAvx2);
  const auto algorithm_of = [&](const SizeExpr& n, const SizeExpr& k) {
    SortDescriptor sort = descriptor_of({DType::kI32, {2, 9}, 1, 4, true});
    const Shape shape{2, n}, kept{2, k};
    sort.input = {"x", {DType::kI32, shape}, Layout::row_major(shape)};
    sort.k = k;
    sort.values = {"values", {DType::kI32, kept}, Layout::row_major(kept)};
    sort.indices = {"indices", {DType::kI64, kept}, Layout::row_major(kept)};
    const Result<KernelSequence> sequence = lower_request(sort, target, forced(""));
    REQUIRE(sequence.status().message() == "");
    for (const std::int64_t run_k : {1, 2, 8}) {
      if (k.is_constant() && k.constant() != run_k) continue;
      if (k == n && run_k != 8) continue;
      std::int32_t x[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 2, 7, 1, 8, 2, 8, 1}, values[16];
      std::int64_t indices[16];
      CHECK(test::run_sequence(*sequence, {x}, {values, indices}, {{"n", 8}, {"k", run_k}}) == 0);
      for (std::int64_t row = 0; row < 2; ++row) {
        std::vector<std::int64_t> order(8);
        for (std::int64_t i = 0; i < 8; ++i) order[static_cast<std::size_t>(i)] = i;
        std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
          const std::int32_t left = x[row * 8 + a], right = x[row * 8 + b];
          return left != right ? left > right : a < b;
        });
        for (std::int64_t i = 0; i < run_k; ++i) {
          const std::int64_t expected = order[static_cast<std::size_t>(i)];
          CHECK(indices[row * run_k + i] == expected);
          CHECK(values[row * run_k + i] == x[row * 8 + expected]);
        }
      }
    }
    return sequence->algorithm;
  };
  const Dim n = Dim("n").at_least(1).at_most(1000), k = Dim("k").at_most(1000);
  const auto algorithm_of_32 = [&](std::int64_t few) {
    return lower_request(descriptor_of({DType::kI32, {2, 32}, 1, few}), target, forced("")).value().algorithm;
  };
  CHECK(algorithm_of_32(7) == kAlgorithm);
  CHECK(algorithm_of_32(8) == "merge_sort");
  CHECK(algorithm_of(n, 2) == kAlgorithm);
  CHECK(algorithm_of(n, n) == "radix_sort, merge_sort");
  CHECK(algorithm_of(n, k) == "topk_heap, radix_sort, merge_sort");
}

TEST_CASE("a k that is too large for a row is refused") {
  const Result<KernelSequence> sequence =
      lower_request(descriptor_of({DType::kF32, {2, 32}, 1, 8}), interpreted_target(IsaLevel::kAvx2), forced(""));
  REQUIRE(sequence.status().message() == "");
  REQUIRE(!sequence->refusals.empty());
  CHECK(sequence->refusals[3] ==
        Refusal{"topk_heap", "the first 8 of 32 elements per row, expected less than a quarter of them to pay off"});
}

}  // namespace
}  // namespace millrace
