// SPDX-License-Identifier: Apache-2.0
// The contents of the random sorts of the tests, and how a failing one shrinks. tests/random_sorts.cpp runs them.
#include "tests/support/random/random_sort.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/sliced.h"

namespace millrace::test {
namespace {

void see(const SortTrial& trial, std::set<std::string>& seen) {
  seen.insert(trial.op == Op::sort ? "sort" : "topk");
  seen.insert(trial.has_dynamic_extents ? "dynamic extents" : "static extents");
  if (trial.has_dynamic_k) seen.insert(trial.has_dynamic_extents ? "dynamic n and k" : "dynamic k");
  seen.insert(trial.axis + 1 == trial.x.extents().size() ? "last axis" : "other axis");
  seen.insert("strides " + std::to_string(static_cast<int>(trial.strides)));
  seen.insert("used " + std::to_string(trial.used_results));
  seen.insert(trial.is_sorted ? "sorted" : "unsorted");
  seen.insert(trial.is_descending ? "descending" : "ascending");
  seen.insert(std::string(to_text(trial.x.type.dtype)));
  for (const std::int64_t n : {0, 1, 2, 16, 255, 257, 1023, 1024, 1025}) {
    if (trial.n() == n) seen.insert("n " + std::to_string(n));
  }
  if (trial.n() > 4096) seen.insert("n above 4096");
  if (trial.n() > 32'768) seen.insert("n above 32768");
  if (trial.n() >= 131'072) seen.insert("n of 2 * 65536");
  if (trial.op == Op::sort) return;
  if (trial.k == 0) seen.insert("k 0");
  if (trial.k == trial.n()) seen.insert("k n");
  if (trial.k > 1024) seen.insert("k above 1024");
}

/// Whether an element has these bits.
bool has_element(const reference::Tensor& x, std::uint8_t bits) {
  return std::ranges::find(x.bytes, std::byte{bits}) != x.bytes.end();
}

}  // namespace

TEST_CASE("random sorts have every dtype, kind of program and threshold" * test::Sliced()) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    for (const SortTrial& trial : make_random_sorts(seed)) see(trial, seen);
  }
  std::set<std::string> expected = {"sort",
                                    "topk",
                                    "dynamic extents",
                                    "static extents",
                                    "dynamic k",
                                    "last axis",
                                    "other axis",
                                    "dynamic n and k",
                                    "strides 0",
                                    "strides 1",
                                    "strides 2",
                                    "used 1",
                                    "used 2",
                                    "used 3",
                                    "sorted",
                                    "unsorted",
                                    "ascending",
                                    "descending",
                                    "n 0",
                                    "n 1",
                                    "n 2",
                                    "n 16",
                                    "n 255",
                                    "n 257",
                                    "n 1023",
                                    "n 1024",
                                    "n 1025",
                                    "n above 4096",
                                    "n above 32768",
                                    "n of 2 * 65536",
                                    "k 0",
                                    "k n",
                                    "k above 1024"};
  for (const DType dtype : kAllDTypes) expected.insert(std::string(to_text(dtype)));
  CHECK(seen == expected);
}

TEST_CASE("a failing sort shrinks to the elements and the k that it needs to fail") {
  SortTrial trial;
  trial.op = Op::topk;
  trial.axis = 1;
  trial.k = 40;
  trial.has_dynamic_extents = trial.has_dynamic_k = true;
  trial.max_k = 100;
  trial.x = reference::Tensor(DType::kU8, {3, 100, 4});
  trial.x.bytes[777] = std::byte{7};
  trial.x.bytes[123] = std::byte{9};
  const SortTrial smallest = shrink_sort(trial, [](const SortTrial& one) {
    return one.k >= 3 && one.n() >= 5 && has_element(one.x, 7) && (one.used_results & 2) != 0;
  });
  CHECK(to_text(smallest) ==
        "graph sorts(%x: u8[1x5x1]) {\n"
        "  %1.0, %1.1 = topk(%x) {k = 3, axis = 1, largest = false, sorted = true} : u8[1x3x1], i64[1x3x1]\n"
        "  return indices = %1.1\n"
        "}\n"
        "x: dense u8[1x5x1], k 3, bits 0x7 0x0 0x0 0x0 0x0\n");
}

}  // namespace millrace::test
