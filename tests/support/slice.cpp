// SPDX-License-Identifier: Apache-2.0
#include "tests/support/slice.h"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace millrace::test {

Slice tested_slice() {
  Slice slice;
  const char* text = std::getenv("MILLRACE_SLICE");
  if (text == nullptr) return slice;
  int end = 0;
  const bool is_read = std::sscanf(text, "%zu/%zu%n", &slice.index, &slice.count, &end) == 2 && text[end] == '\0';
  if (!is_read || slice.index >= slice.count) {
    fmt::print(stderr, "MILLRACE_SLICE: found '{}', expected a number below the number of slices, such as 3/16\n",
               text);
    std::exit(2);
  }
  return slice;
}

std::string to_text(const Slice& slice) { return fmt::format("{}/{}", slice.index, slice.count); }

}  // namespace millrace::test
