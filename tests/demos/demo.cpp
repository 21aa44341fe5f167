// SPDX-License-Identifier: Apache-2.0
#include "tests/demos/demo.h"

#include <doctest/doctest.h>

namespace millrace::test {

ToolRun run_demo(const Workplace& here, const std::string& name, const std::string& arguments) {
  return here.run_command("'" MILLRACE_EXAMPLES "/" + name + "/" + name + "' " + arguments);
}

std::string demo_error(const Workplace& here, const std::string& name, const std::string& arguments) {
  const ToolRun run = run_demo(here, name, arguments);
  CHECK(run.exit_code == 1);
  CHECK(run.out == "");
  std::string message = run.error;
  while (contains(message.substr(0, message.find('\n')), " ms")) message.erase(0, message.find('\n') + 1);
  REQUIRE(message.ends_with('\n'));
  message.pop_back();
  return message;
}

}  // namespace millrace::test
