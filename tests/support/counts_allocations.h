// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

namespace millrace {

/// Marks a test case that counts: TEST_CASE("..." * CountsAllocations()). It is left out with ThreadSanitizer, whose
/// runtime replaces the operators itself.
struct CountsAllocations {
  void fill(doctest::detail::TestCase& test) const {
#ifdef MILLRACE_THREAD_SANITIZED
    test.m_skip = true;
#else
    (void)test;
#endif
  }
};

}  // namespace millrace
