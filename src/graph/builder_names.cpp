// SPDX-License-Identifier: Apache-2.0
// Names values and opens scopes. A message about a later node begins with the names of its open scopes.
#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/text/reader.h"
#include "millrace/graph/builder.h"
#include "millrace/graph/text.h"

namespace millrace {

Tensor Tensor::named(std::string_view name) const {
  if (!is_valid()) return *this;
  const auto where = [&] { return fmt::format("name {}", string_text(name)); };
  const Status status = guard_allocations(where, [&]() -> Status {
    builder_->name_value(value_, name);
    return {};
  });
  if (!status.ok()) builder_->fail(status);
  return *this;
}

void GraphBuilder::name_value(Value value, std::string_view name) {
  const Tensor tensor(this, value);
  if (!accept(std::span(&tensor, 1), "named")) return;
  if (name.empty()) {
    fail(invalid_argument(value_text(graph_, value) + ": the name is empty; choose a name"));
    return;
  }
  Node& node = graph_.nodes[value.node];
  if (!value_name(graph_, value).empty()) return;
  const std::string scope = graph_.scopes.prefix(node.scope);
  std::string found(name);
  const auto [count, is_new] = value_names_.try_emplace(scope + found, 0);
  if (!is_new || source_names_.contains(scope + found)) {
    do {
      found = fmt::format("{}_{}", name, ++count->second);
    } while (source_names_.contains(scope + found) || !value_names_.try_emplace(scope + found, 0).second);
  }
  node.names.resize(node.results.size());
  node.names[value.result] = std::move(found);
}

bool GraphBuilder::is_name_taken(const std::string& name) const {
  return source_names_.contains(name) || value_names_.contains(name);
}

GraphBuilder::OpenScope GraphBuilder::scope(std::string_view name) {
  const std::optional<ScopeId> outer = scope_;
  const auto where = [&] { return fmt::format("scope {}", string_text(name)); };
  const Status status = guard_allocations(where, [&]() -> Status {
    if (name.empty()) return invalid_argument("scope: the name is empty; choose a name");
    if (status_.ok()) scope_ = graph_.scopes.find_or_add(outer, name);
    return {};
  });
  if (!status.ok()) fail(status);
  return {*this, outer};
}

std::string GraphBuilder::next_text(std::string_view what) const {
  const std::string scope = graph_.scopes.prefix_text(scope_);
  return function_.empty() ? fmt::format("%{}{} = {}", scope, graph_.nodes.size(), what)
                           : fmt::format("{}{}", scope, function_);
}

}  // namespace millrace
