// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/support/slice.h"

namespace millrace::test {

/// Marks a test case that takes seconds: TEST_CASE("..." * test::Sliced()). Where MILLRACE_SLICE names a slice (see
/// tested_slice), only one in three of these runs, and all run for 0/1. With sanitizers, where it would take a minute,
/// one in sixteen runs, for the first slice if none is named.
struct Sliced {
  bool only_sanitized = false;  // runs for every slice otherwise

  void fill(doctest::detail::TestCase& test) const {
#ifdef MILLRACE_SANITIZED
    constexpr std::size_t kShares = 16;
    const bool is_shared = true;
#else
    constexpr std::size_t kShares = 3;
    const bool is_shared = !only_sanitized && std::getenv("MILLRACE_SLICE") != nullptr;
#endif
    if (!is_shared) return;
    const Slice slice = tested_slice();
    const std::size_t count = std::min(slice.count, kShares);
    test.m_skip = std::hash<std::string_view>()(test.m_name) % count != slice.index % count;
  }
};

/// The tested slice of a matrix whose cases take a second and more. With sanitizers it has at most one case in sixteen.
inline Slice tested_slice_of_long_cases() {
  const Slice slice = tested_slice();
#ifdef MILLRACE_SANITIZED
  if (slice.count < 16) return {slice.index, 16};
#endif
  return slice;
}

}  // namespace millrace::test
