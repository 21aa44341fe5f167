// SPDX-License-Identifier: Apache-2.0
// Every row of op_cases.h on simulated GPUs: against the oracle, and without a finding.
#include <doctest/doctest.h>

#include "tests/support/ops/expected_refusals.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

TEST_CASE("every op on a simulated GPU equals the oracle, with no finding" * test::Sliced()) {
  for (const std::string spec : {"sim:gfx1100", "sim:gfx90a"}) {  // subgroups of 32 and of 64
    const TargetSpec target = TargetSpec::parse(spec).value();
    DriverTally tally;
    for (const OpCase& row : op_cases()) run_row_simulated(row, target, tally);
    for (const std::string& failure : tally.failures) FAIL_CHECK(failure);
    for (const std::string& difference : unexpected_refusals(tally, "simulated")) FAIL_CHECK(difference);
  }
}
