// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/base/ids.h"

namespace millrace {

enum class ScopeId : std::uint32_t {};

/// A part of a model that its author named, such as a layer.
struct Scope {
  std::string name;
  std::optional<ScopeId> parent;  // empty at the top level
};

/// The scopes of a graph. Each path occurs once, and parents come before their children.
class ScopeTable {
 public:
  /// Returns the scope with this name in `parent`; adds it if it is missing. O(log scopes).
  ScopeId find_or_add(std::optional<ScopeId> parent, std::string_view name);
  /// Returns the scope with the same path as `scope` of the other table; adds it if it is missing.
  std::optional<ScopeId> find_or_add(const ScopeTable& other, std::optional<ScopeId> scope);
  const Scope& operator[](ScopeId id) const { return scopes_[id]; }
  bool contains(ScopeId id) const { return scopes_.contains(id); }
  std::size_t size() const { return scopes_.size(); }

  /// The prefix of a name in the scope: "decoder/layer3/"; empty outside all scopes.
  std::string prefix(std::optional<ScopeId> scope) const;
  /// The prefix as texts and messages spell it: names that are not plain are in quotes, as in `decoder/"layer 3"/`.
  std::string prefix_text(std::optional<ScopeId> scope) const;

 private:
  template <class Spell>
  std::string join(std::optional<ScopeId> scope, Spell spell) const;

  IdVector<ScopeId, Scope> scopes_;
  std::map<std::pair<std::optional<ScopeId>, std::string>, ScopeId> ids_;
};

}  // namespace millrace
