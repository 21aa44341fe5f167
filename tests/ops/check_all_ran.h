// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include "tests/support/ops/op_driver.h"

namespace millrace::test {

/// So many trials ran, none was refused, and all agree with the oracle.
inline void check_all_ran(const DriverTally& tally, std::size_t number) {
  for (const std::string& failure : tally.failures) FAIL_CHECK(failure);
  for (const std::string& refusal : refusals(tally)) FAIL_CHECK(refusal);
  CHECK(tally.ran == static_cast<std::int64_t>(number));
}

}  // namespace millrace::test
