// SPDX-License-Identifier: Apache-2.0
#include "tests/support/child_case.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace millrace::test {

int run_child(const std::string& environment, const std::string& test_case) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = environment + " '" + self + "' --no-skip -tc='" + test_case + "' > /dev/null";
  return std::system(command.c_str());
}

bool is_llvm_loaded() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libLLVM") != std::string::npos) return true;
  }
  return false;
}

}  // namespace millrace::test
