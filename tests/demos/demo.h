// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/tools/workplace.h"

namespace millrace::test {

/// Runs the example of this name in the directory.
ToolRun run_demo(const Workplace&, const std::string& name, const std::string& arguments);
/// The message of a call that must exit with 1 and print nothing else except times of stages.
std::string demo_error(const Workplace&, const std::string& name, const std::string& arguments);

}  // namespace millrace::test
