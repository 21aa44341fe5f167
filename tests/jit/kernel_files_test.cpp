// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/support/kernels/kernel_file.h"

using namespace millrace;

TEST_CASE("kernels in files satisfy their directives") {
  const std::vector<std::string> files = test::kernel_files();
  CHECK(!files.empty());
  for (const std::string& file : files) {
    const std::string problems = test::kernel_file_problems(file);
    if (!problems.empty()) FAIL_CHECK(problems);
  }
}
