// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process_memory.h"

#include <fstream>
#include <stdexcept>

namespace millrace::test {

std::int64_t status_bytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    std::int64_t kilobytes = 0;
    if (word == field + ":" && file >> kilobytes) return kilobytes * 1024;
  }
  throw std::runtime_error("/proc/self/status has no " + field);
}

bool forget_peak() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << 5 << std::flush);
}

}  // namespace millrace::test
