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

void OnnxProblems::push_back(OnnxProblem problem) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
  if (num_bytes_ >= kMaxBytes) {
    ++num_left_out_;
    return;
  }
  num_bytes_ += problem.path.size() + problem.reason.size();
  kept_.push_back(std::move(problem));
}

std::string list_problems(const std::string& where, const OnnxProblems& problems) {
  constexpr std::size_t kMaxLines = 20;  // longer lists join lines
  std::string text =
      fmt::format("{}: {} part{} cannot be imported:", where, problems.size(), problems.size() == 1 ? "" : "s");
  using Group = std::vector<const OnnxProblem*>;
  std::vector<Group> groups;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::size_t> places;
  for (const OnnxProblem& problem : problems.kept()) {
    std::size_t place = groups.size();
    const bool can_join = problems.size() > kMaxLines && !problem.op.empty();
    if (can_join) place = places.try_emplace({problem.op, problem.reason, problem.set}, place).first->second;
    if (place == groups.size()) groups.emplace_back();
    groups[place].push_back(&problem);
  }
  for (const Group& group : groups) text += line_of(*group[0]) + others_text(std::span(group).subspan(1));
  if (const std::size_t num_more = problems.size() - problems.kept().size(); num_more > 0) {
    text += fmt::format("\n  and {} more", num_more);
  }
  return text;
}

}  // namespace millrace
