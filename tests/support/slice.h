// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace millrace::test {

/// A share of a matrix that takes too long to be tested whole each time.
struct Slice {
  std::size_t index = 0, count = 16;

  bool has(std::size_t number) const { return number % count == index; }
  /// The slice to take of a matrix of `total` cases, never an empty one: if there are fewer cases than slices, some
  /// slices are the same.
  Slice within(std::size_t total) const { return count <= total ? *this : Slice{index % total, total}; }
};

/// "3/16" of the environment's MILLRACE_SLICE, from 0; the first of 16 where nothing is said. Ends the process, with a
/// message, where it says something else. scripts/test.sh nightly says 0/1; .ci/run goes round, one slice per commit.
Slice tested_slice();
std::string to_text(const Slice&);

}  // namespace millrace::test
