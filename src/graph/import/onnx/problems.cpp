// SPDX-License-Identifier: Apache-2.0
// Writes the error that lists what cannot be imported.
#include "graph/import/onnx/problems.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace millrace {
namespace {

std::string line_of(const OnnxProblem& problem) {
  const std::string set = problem.set.empty() ? "" : fmt::format(" [{}]", problem.set);
  return fmt::format("\n  {}{}{}", problem.path, problem.reason, set);
}

/// "; likewise graph.node[7] (Pow 'b'), graph.node[9] (Pow 'c'), graph.node[12] (Pow 'd') and 4 more".
std::string others_text(std::span<const OnnxProblem* const> others) {
  constexpr std::size_t kMaxNamed = 3;
  std::string text;
  for (const OnnxProblem* other : others.first(std::min(others.size(), kMaxNamed))) {
    text += (text.empty() ? "; likewise " : ", ") + other->path;
  }
  if (others.size() > kMaxNamed) text += fmt::format(" and {} more", others.size() - kMaxNamed);
  return text;
}

}  // namespace

std::string list_problems(const std::string& where, std::span<const OnnxProblem> problems) {
  constexpr std::size_t kMaxLines = 20;  // more are joined
  std::string text =
      fmt::format("{}: {} part{} cannot be imported:", where, problems.size(), problems.size() == 1 ? "" : "s");
  using Group = std::vector<const OnnxProblem*>;
  std::vector<Group> groups;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::size_t> places;
  for (const OnnxProblem& problem : problems) {
    std::size_t place = groups.size();
    const bool can_join = problems.size() > kMaxLines && !problem.op.empty();
    if (can_join) place = places.try_emplace({problem.op, problem.reason, problem.set}, place).first->second;
    if (place == groups.size()) groups.emplace_back();
    groups[place].push_back(&problem);
  }
  for (const Group& group : groups) text += line_of(*group[0]) + others_text(std::span(group).subspan(1));
  return text;
}

}  // namespace millrace
