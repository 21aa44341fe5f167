// SPDX-License-Identifier: Apache-2.0
// Finds the node that a kernel computes, so that messages about code generation can name it.
#include "graph/compile/node_of_kernel.h"

#include "millrace/graph/text.h"

namespace millrace {
namespace {

/// Searches the bodies of a loop or a condition; empty if none of them has the kernel.
std::string node_in_bodies(const LoweredGraph& lowered, const Step& step, KernelIndex kernel) {
  const auto& bodies = lowered.bodies.at(*step.region);
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    const IdVector<KernelIndex, KernelIndex>& outer = step.control->bodies[k].kernels;
    for (std::uint32_t i = 0; i < outer.size(); ++i) {
      if (outer[KernelIndex{i}] == kernel) return node_of_kernel(*bodies[k], KernelIndex{i});
    }
  }
  return {};
}

}  // namespace

std::string node_of_kernel(const LoweredGraph& lowered, KernelIndex kernel) {
  for (const Step& step : lowered.schedule.steps) {
    if (step.control != nullptr) {
      if (std::string node = node_in_bodies(lowered, step, kernel); !node.empty()) return node;
    } else if (step.kernel == kernel) {
      const DispatchGraph& dispatch = lowered.dispatch;
      return caller_text(dispatch.graph, dispatch.regions[*step.region].nodes.back());
    }
  }
  return {};
}

}  // namespace millrace
