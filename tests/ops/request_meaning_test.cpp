// SPDX-License-Identifier: Apache-2.0
// The requests of ops before mapping: each nest, run point by point, equals the oracle.
#include <doctest/doctest.h>

#include "tests/support/ops/op_driver.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

TEST_CASE("every nest that an op requests equals the oracle" * test::Sliced()) {
  DriverTally tally;
  for (const OpCase& row : op_cases()) {
    if (!has_trait(row.op, kOrder) && !has_trait(row.op, kSequence)) run_row_by_definition(row, tally);
  }
  for (const std::string& failure : tally.failures) FAIL_CHECK(failure);
  CHECK(tally.ran > 1000);
  CHECK(refusals(tally).empty());
}
