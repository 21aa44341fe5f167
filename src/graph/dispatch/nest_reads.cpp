// SPDX-License-Identifier: Apache-2.0
// Finds what may join an application's loop nest: which operands can be computed inside it, and where it stores.
#include "graph/dispatch/nest_reads.h"

#include <algorithm>
#include <set>

#include "jit/ir/affine.h"

namespace millrace {

const LoopKernel* own_nest(const Node& node) {
  const auto* own = std::get_if<NestNode>(&node.what);
  return own != nullptr ? own->nest.get() : nullptr;
}

bool reads_plainly(const LoopKernel& nest, std::size_t operand) {
  return std::ranges::all_of(
      nest.loads, [&](const Access& load) { return load.tensor != operand || (!load.fill && !load.dynamic_dim); });
}

bool reads_each_once(const LoopKernel& nest, std::size_t operand) {
  const auto first = std::ranges::find(nest.loads, operand, &Access::tensor);
  if (first == nest.loads.end() || !reads_plainly(nest, operand)) return false;
  if (std::ranges::count(nest.loads, operand, &Access::tensor) != 1) return false;
  std::set<std::size_t> used;
  for (const AffineIndex& index : first->indices) {
    if (!count_digits(index, nest.domain, used)) return false;
  }
  for (std::size_t d = 0; d < nest.domain.size(); ++d) {
    if (!used.contains(d) && !nest.domain[d].extent.is(1)) return false;
  }
  return true;
}

bool has_one_place(const LoopKernel& nest, std::uint32_t result, std::uint32_t other) {
  return nest.stores[result].pass == nest.stores[other].pass &&
         nest.stores[result].indices == nest.stores[other].indices;
}

bool reads_where_it_stores(const LoopKernel& nest, std::size_t operand) {
  return std::ranges::all_of(nest.loads, [&](const Access& load) {
    return load.tensor != operand || (!load.fill && !load.dynamic_dim && load.indices == nest.stores[0].indices);
  });
}

}  // namespace millrace
