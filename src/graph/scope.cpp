// SPDX-License-Identifier: Apache-2.0
// The tree of scopes that name the parts of a model, and the prefixes that scopes add to names.
#include "millrace/graph/scope.h"

#include <vector>

#include "base/text/reader.h"

namespace millrace {

ScopeId ScopeTable::find_or_add(std::optional<ScopeId> parent, std::string_view name) {
  const auto [known, is_new] = ids_.try_emplace({parent, std::string(name)}, ScopeId(scopes_.size()));
  if (is_new) scopes_.push_back({std::string(name), parent});
  return known->second;
}

std::optional<ScopeId> ScopeTable::find_or_add(const ScopeTable& other, std::optional<ScopeId> scope) {
  std::vector<std::string_view> path;  // innermost first
  for (; scope; scope = other[*scope].parent) path.push_back(other[*scope].name);
  std::optional<ScopeId> own;
  for (auto name = path.rbegin(); name != path.rend(); ++name) own = find_or_add(own, *name);
  return own;
}

template <class Spell>
std::string ScopeTable::join(std::optional<ScopeId> scope, Spell spell) const {
  std::vector<std::string_view> path;  // innermost first
  for (; scope; scope = scopes_[*scope].parent) path.push_back(scopes_[*scope].name);
  std::string text;
  for (auto name = path.rbegin(); name != path.rend(); ++name) (text += spell(*name)) += '/';
  return text;
}

std::string ScopeTable::prefix(std::optional<ScopeId> scope) const {
  return join(scope, [](std::string_view name) { return name; });
}

std::string ScopeTable::prefix_text(std::optional<ScopeId> scope) const { return join(scope, name_text); }

}  // namespace millrace
