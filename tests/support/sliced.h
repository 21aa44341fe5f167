// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/support/slice.h"

namespace millrace::test {

/// Marks a test case that takes seconds: TEST_CASE("..." * test::Sliced()). With sanitizers, where it would take a
/// minute, only one in sixteen of these runs for each slice (see tested_slice); all run where MILLRACE_SLICE is 0/1.
struct Sliced {
  void fill(doctest::detail::TestCase& test) const {
#ifdef MILLRACE_SANITIZED
    const Slice slice = tested_slice();
    const std::size_t count = std::min<std::size_t>(slice.count, 16);
    const bool is_due = std::hash<std::string_view>()(test.m_name) % count == slice.index % count;
    test.m_skip = !is_due;
#else
    (void)test;
#endif
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
