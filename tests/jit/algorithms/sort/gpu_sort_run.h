// SPDX-License-Identifier: Apache-2.0
// Sorts for GPUs, run while the simulator observes them and compared with plain code.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/jit/algorithms/observed_sequence.h"
#include "tests/jit/algorithms/run_sequence.h"
#include "tests/jit/algorithms/sort/sort_cases.h"

namespace millrace::test {

/// The target's own choice when no algorithm is named.
inline KernelSequence lowered_sort(const SortDescriptor& sort, std::string_view gfx,
                                   const std::string& algorithm = "") {
  Result<KernelSequence> sequence = lower_request(sort, gpu_target(gfx), forced(algorithm));
  REQUIRE_MESSAGE(sequence.ok(), sequence.status().message());
  return *std::move(sequence);
}

/// What the simulator found, or that results are wrong; empty: neither.
template <class T>
std::string complaint_of(const KernelSequence& sequence, const SortCase& test, const SymbolValues& symbols = {},
                         std::uint64_t order_seed = 0) {
  std::vector<T> input = make_input<T>(test);
  const std::vector<T> before = input;
  auto kept = test.extents;
  kept[test.axis] = test.k;
  const std::size_t num_results = num_elements(kept);
  std::vector<std::byte> values(num_results * sizeof(T) + 1), indices(num_results * 8 + 1);
  SequenceRun run{.operands = {{input.data(), input.size() * sizeof(T)}}, .results = {}};
  run.symbols = symbols;
  run.order_seed = order_seed;
  if (test.wants_values) run.results.push_back({values.data(), values.size() - 1});
  if (test.wants_indices) run.results.push_back({indices.data(), indices.size() - 1});
  const std::string finding = finding_in(sequence, run);
  if (!finding.empty()) return finding;
  if (!before.empty() && std::memcmp(input.data(), before.data(), before.size() * sizeof(T)) != 0) {
    return "the input has changed";
  }
  const std::size_t num_wrong = count_wrong(test, input, test.wants_values ? values.data() : nullptr,
                                            test.wants_indices ? indices.data() : nullptr);
  return num_wrong == 0 ? "" : std::to_string(num_wrong) + " results are wrong";
}

inline void check_sort(const SortCase& test, std::string_view gfx, const std::string& algorithm = "") {
  CAPTURE(to_text(test.dtype));
  CAPTURE(test.extents);
  CAPTURE(test.k);
  CAPTURE(static_cast<int>(test.pattern));
  CAPTURE(gfx);
  const KernelSequence sequence = lowered_sort(descriptor_of(test), gfx, algorithm);
  visit_dtype(test.dtype, [&]<class T>() {
    // std::vector<bool> has no bool elements; bytes that are 0 or 1 sort in the same order.
    using Element = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    CHECK(complaint_of<Element>(sequence, test) == "");
  });
}

}  // namespace millrace::test
