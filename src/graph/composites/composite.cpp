// SPDX-License-Identifier: Apache-2.0
#include "graph/composites/composite.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"

namespace millrace {

GraphBuilder* builder_of(std::span<const Tensor> tensors) {
  const auto it = std::ranges::find_if(tensors, &Tensor::is_valid);
  return it == tensors.end() ? nullptr : it->builder();
}

Tensor fail_without_memory(GraphBuilder* builder, std::string_view function) {
  if (builder == nullptr) return {};
  const auto where = [&] { return fmt::format("%{} = {}", builder->graph().nodes.size(), function); };
  return builder->fail(out_of_memory_at(where));
}

Tensor refuse(GraphBuilder& graph, std::string_view composite, std::string_view what) {
  return graph.fail(invalid_argument(fmt::format("%{} = {}: {}", graph.graph().nodes.size(), composite, what)));
}

}  // namespace millrace
