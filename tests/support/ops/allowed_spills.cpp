// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/allowed_spills.h"

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "millrace/base/check.h"

namespace millrace::test {
namespace {

/// "pow f64 12 why" by "pow f64".
std::map<std::string, std::uint32_t> read_spills() {
  std::ifstream file(MILLRACE_SOURCE_DIR "/tests/ops/scalar_spills.txt");
  MILLRACE_CHECK(file.good());
  std::map<std::string, std::uint32_t> spills;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string op, dtype, why;
    std::uint32_t max_spills = 0;
    words >> op >> dtype >> max_spills >> why;
    MILLRACE_CHECK(!why.empty());
    spills[op + " " + dtype] = max_spills;
  }
  return spills;
}

}  // namespace

std::uint32_t allowed_scalar_spills(Op op, DType dtype) {
  static const std::map<std::string, std::uint32_t> kSpills = read_spills();
  const auto found = kSpills.find(std::string(to_text(op)) + " " + std::string(to_text(dtype)));
  return found == kSpills.end() ? 0 : found->second;
}

}  // namespace millrace::test
