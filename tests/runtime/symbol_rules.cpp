// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/symbol_rules.h"

#include <set>
#include <sstream>

namespace millrace::runtime_test {

Symbols parse_symbols(std::string_view nm_output) {
  Symbols symbols;
  std::istringstream lines{std::string(nm_output)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, type;
    if (!(words >> name >> type) || type.size() != 1) continue;  // a line with a file's name
    if (type == "U") symbols.undefined.push_back(name);
    if (std::string_view("TDBR").find(type) != std::string_view::npos) symbols.strong.push_back(name);
    if (std::string_view("WVu").find(type) != std::string_view::npos) symbols.weak.push_back(name);
  }
  return symbols;
}

std::vector<std::string> find_foreign_symbols(const Symbols& running, const Symbols& compiling) {
  std::vector<std::string> found;
  const std::set<std::string> foreign(compiling.strong.begin(), compiling.strong.end());
  std::set<std::string> own(running.strong.begin(), running.strong.end());
  own.insert(running.weak.begin(), running.weak.end());
  for (const auto* names : {&running.strong, &running.weak, &running.undefined}) {
    for (const std::string& name : *names) {
      const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
      if (foreign.contains(name)) found.push_back(name + ": the compiling half's");
      if (has("llvm") || has("LLVM") || has("Xbyak")) found.push_back(name + ": a code generator's");
    }
  }
  for (const std::string& name : running.undefined) {
    const bool is_ours = name.find("8millrace") != std::string::npos;
    if (is_ours && !own.contains(name)) found.push_back(name + ": wanted, and not in the running half");
  }
  return found;
}

}  // namespace millrace::runtime_test
