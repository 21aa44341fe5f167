// SPDX-License-Identifier: Apache-2.0
// Runs sorts on CPUs, and compares their results with plain code.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/algorithms/sort/sort_cases.h"

namespace millrace::test {

/// Runs the algorithm by the interpreter, in memory that ends at a page without access, and compares.
template <class T>
void check_sort(const SortCase& test, const std::string& algorithm, IsaLevel isa = IsaLevel::kAvx2) {
  CAPTURE(to_text(test.dtype));
  CAPTURE(test.k);
  CAPTURE(algorithm);
  const Result<KernelSequence> sequence =
      lower_request(descriptor_of(test), interpreted_target(isa), forced(algorithm));
  REQUIRE(sequence.status().message() == "");
  const std::vector<T> input = make_input<T>(test);
  GuardedMemory x(input.size() * sizeof(T), GuardedMemory::Side::kEnd);
  std::copy(input.begin(), input.end(), reinterpret_cast<T*>(x.data()));
  x.make_read_only();
  std::vector<std::int64_t> kept = test.extents;
  kept[test.axis] = test.k;
  const GuardedMemory values(num_elements(kept) * sizeof(T), GuardedMemory::Side::kEnd);
  const GuardedMemory indices(num_elements(kept) * 8, GuardedMemory::Side::kStart);
  std::vector<void*> results;
  if (test.wants_values) results.push_back(values.data());
  if (test.wants_indices) results.push_back(indices.data());
  CHECK(run_sequence(*sequence, {x.data()}, results, {}) == 0);
  CHECK(count_wrong(test, input, test.wants_values ? values.data() : nullptr,
                    test.wants_indices ? indices.data() : nullptr) == 0);
}

inline void check_sort_of_dtype(const SortCase& test, const std::string& algorithm, IsaLevel isa = IsaLevel::kAvx2) {
  visit_dtype(test.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      return;  // std::vector<bool> has no elements in memory: see the test of its own
    } else {
      check_sort<T>(test, algorithm, isa);
    }
  });
}

}  // namespace millrace::test
