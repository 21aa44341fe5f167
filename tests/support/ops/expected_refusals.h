// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/ops/op_driver.h"

namespace millrace::test {

/// The lines of a section of tests/ops/refusals.txt.
std::vector<std::string> listed_refusals(std::string_view section);

/// How refusals(tally) and the section of tests/ops/refusals.txt differ for the targets of the tally: "+ line" for one
/// that the list lacks, "- line" for one that did not happen. A new refusal is a loss; one that is gone leaves the
/// list.
std::vector<std::string> unexpected_refusals(const DriverTally&, std::string_view section);

}  // namespace millrace::test
