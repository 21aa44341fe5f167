// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/guard_rules.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

namespace millrace::structure {
namespace {

/// They allocate nothing, not even for their errors.
constexpr std::string_view kFree[] = {"Semaphore::query"};

/// "Session::get(std::string_view", and empty unless a Status or a Result is returned.
std::string function_at(std::string_view line, std::string_view scope) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  for (const std::string_view word : {"static ", "virtual "}) {
    if (line.starts_with(word)) line.remove_prefix(word.size());
  }
  const auto open = line.find('(');
  if (open == line.npos || !(line.starts_with("Status ") || line.starts_with("Result<"))) return {};
  const auto name = line.rfind(' ', open) + 1;
  std::string_view parameter = line.substr(open + 1, line.find_first_of(",)=", open) - open - 1);
  if (parameter.ends_with(' ')) parameter.remove_suffix(1);
  const auto space = parameter.rfind(' ');  // before the parameter's name, unless it has none
  const bool is_named = space != parameter.npos && parameter.find_first_of("&*>", space) == parameter.npos;
  return fmt::format("{}{}({}", scope, line.substr(name, open - name),
                     is_named ? parameter.substr(0, space) : parameter);
}

/// The functions of a header whose definitions are elsewhere.
void add_declared(const SourceFile& header, std::set<std::string>& declared) {
  std::string scope;
  bool is_public = true;
  std::istringstream lines(header.text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_class = line.starts_with("class ") || line.starts_with("struct ");
    if (is_class && line.ends_with('{')) {
      const auto begin = line.find(' ') + 1;
      scope = line.substr(begin, line.find_first_of(" :{", begin) - begin) + "::";
    } else if (line == "};") {
      scope.clear();
      is_public = true;
    } else if (line.ends_with(" private:") || line.ends_with(" protected:")) {
      is_public = false;
    } else if (line.find('{', line.find(')')) == line.npos && !line.ends_with("= 0;") && is_public) {
      declared.insert(function_at(line, scope));
    }
  }
}

}  // namespace

Violations check_public_functions_are_guarded(const SourceTree& tree) {
  std::set<std::string> declared;
  for (const SourceFile& file : tree) {
    if (file.path.starts_with("include/") && !file.path.ends_with("/status.h")) add_declared(file, declared);
  }
  declared.erase("");
  Violations violations;
  for (const SourceFile& file : tree) {
    if (!file.path.starts_with("src/")) continue;
    int number = 0;
    bool is_local = false;  // in an unnamed namespace
    for (std::size_t begin = 0, end = 0; begin < file.text.size(); begin = end + 1) {
      end = std::min(file.text.find('\n', begin), file.text.size());
      ++number;
      const std::string_view line(file.text.data() + begin, end - begin);
      if (line == "namespace {") is_local = true;
      if (line == "}  // namespace") is_local = false;
      const std::string function = is_local || line.starts_with("static ") ? "" : function_at(line, "");
      const std::string name = function.substr(0, function.find('('));
      if (!declared.contains(function) || std::ranges::find(kFree, name) != std::end(kFree)) continue;
      const auto close = line.ends_with('}') ? end : file.text.find("\n}\n", begin);
      const std::string_view body(file.text.data() + begin, close - begin);
      if (body.find("guard_allocations(") != body.npos) continue;
      if (body.find(fmt::format("return {}(", name)) != body.npos) continue;
      violations.push_back(fmt::format("{}:{}: {} is public; run it in guard_allocations()", file.path, number, name));
    }
  }
  return violations;
}

}  // namespace millrace::structure
