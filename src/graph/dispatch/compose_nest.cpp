// SPDX-License-Identifier: Apache-2.0
// Composes an application's loop nest with the elementwise nodes around it.
#include <algorithm>

#include <fmt/format.h>

#include "graph/dispatch/composer.h"
#include "graph/dispatch/node_instructions.h"

namespace millrace {

ComposedRequest Composer::compose_nest(NodeId root, const LoopKernel& nest) {
  kernel_.domain = nest.domain;
  kernel_.extents = nest.extents;
  kernel_.reductions = nest.reductions;
  kernel_.temporaries = nest.temporaries;
  for (const Value& output : region_.outputs) {
    const Access& store = nest.stores[stored_with(output, root)];
    const auto number = static_cast<std::uint32_t>(kernel_.results.size());
    kernel_.results.push_back({fmt::format("y{}", number), graph_.type(output), dispatch_.layout_of(output)});
    kernel_.stores.push_back({number, store.indices, std::nullopt, std::nullopt, store.pass});
  }
  for (std::uint32_t pass = 0; pass < nest.terms.size(); ++pass) {
    earlier_.emplace_back();
    compose_nest_body(earlier_.back().term, root, nest, pass);
    earlier_.back().computed = std::move(computed_);
    computed_.clear();
  }
  BodyBuilder epilogue;
  compose_nest_body(epilogue, root, nest, std::nullopt);
  finish_passes();
  kernel_.name = region_.name;
  kernel_.epilogue = epilogue.finish();
  return {std::move(kernel_), operands_, region_.outputs};
}

/// The result of the root at whose place the region stores the output: the output itself, or one that the nodes after
/// the root read.
std::uint32_t Composer::stored_with(Value output, NodeId root) const {
  if (output.node == root) return output.result;
  for (const NodeId id : region_.nodes) {
    for (const Value& operand : graph_.nodes[id].operands) {
      if (operand.node == root) return operand.result;
    }
  }
  return 0;
}

/// Composes the term of a pass, or the epilogue: the nest's own values, then the region's outputs that are stored
/// there.
void Composer::compose_nest_body(BodyBuilder& b, NodeId root, const LoopKernel& nest,
                                 std::optional<std::uint32_t> pass) {
  const std::vector<BodyValue> yields = inline_nest(b, root, nest, pass ? nest.terms[*pass] : nest.epilogue, 0, 0);
  std::size_t next = 0;
  for (const Reduction& reduction : nest.reductions) {
    if (pass == reduction.pass) earlier_.back().reduced.push_back(yields[next++]);
  }
  for (std::uint32_t i = 0; i < nest.temporaries.size(); ++i) {
    if (pass == nest.temporaries[i].pass) earlier_.back().kept.emplace_back(yields[next++], i);
  }
  for (const std::size_t store : nest.stores_of(pass)) {
    const Value result{root, static_cast<std::uint32_t>(store)};
    const BodyValue rounded = round_to(b, graph_.type(result).dtype, yields[next++]);
    computed_.push_back({result, nest.stores[store].indices, rounded});
  }
  for (std::size_t i = 0; i < region_.outputs.size(); ++i) {
    const Access& store = kernel_.stores[i];
    if (store.pass != pass) continue;
    const BodyValue value = pull(b, region_.outputs[i], store.indices);
    if (pass) {
      earlier_.back().stored.push_back(value);
    } else {
      b.yield(value);
    }
  }
}

}  // namespace millrace
