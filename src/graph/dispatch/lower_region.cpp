// SPDX-License-Identifier: Apache-2.0
// Turns one region into kernel requests and lowers them for a target, and checks all regions before scheduling.
#include "graph/dispatch/lower_region.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/dispatch/compose.h"
#include "millrace/graph/dispatch.h"
#include "millrace/graph/text.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {
namespace {

using Positions = std::map<Value, std::uint32_t>;

Positions positions_of(const std::vector<Value>& values) {
  Positions positions;
  for (std::uint32_t i = 0; i < values.size(); ++i) positions.emplace(values[i], i);
  return positions;
}

Result<std::uint32_t> find_position(const Region& region, const Positions& positions, Value value) {
  const auto it = positions.find(value);
  if (it != positions.end()) return it->second;
  return internal_error(
      fmt::format("region {}: its kernel touches result {} of node {}, which the region does not name", region.name,
                  value.result, index_of(value.node)));
}

/// "region exp_0 (%y = exp)": the region with its first nodes.
std::string region_text(const DispatchGraph& dispatch, const Region& region) {
  constexpr std::size_t kMaxShown = 3;
  std::string nodes;
  for (std::size_t i = 0; i < std::min(region.nodes.size(), kMaxShown); ++i) {
    nodes += (nodes.empty() ? "" : ", ") + node_text(dispatch.graph, region.nodes[i]);
  }
  if (region.nodes.size() > kMaxShown) nodes += fmt::format(" and {} more", region.nodes.size() - kMaxShown);
  return fmt::format("region {} ({})", region.name, nodes);
}

std::string kernel_problem(const SequenceKernel& entry, const Target& target) {
  const auto serves = [&](const auto& generator) { return generator->name() == entry.kernel.generator; };
  if (std::ranges::any_of(target.generators(), serves)) return "";
  return fmt::format("kernel '{}' is planned by '{}', which does not serve {}", entry.kernel.name,
                     entry.kernel.generator, target.to_text());
}

}  // namespace

Status verify(const DispatchGraph& dispatch, const std::vector<std::vector<KernelSequence>>& sequences,
              const Target& target) {
  return guard_allocations([&]() -> Status {
    std::string problems;
    for (std::uint32_t i = 0; i < dispatch.regions.size(); ++i) {
      const auto problem = [&](const std::string& text) {
        const std::string where = region_text(dispatch, dispatch.regions[RegionId{i}]);
        if (!text.empty()) problems += fmt::format("{}{}: {}", problems.empty() ? "" : "\n", where, text);
      };
      const bool is_control = !dispatch.regions[RegionId{i}].bodies.empty();
      if (i >= sequences.size() || (sequences[i].empty() && !is_control)) {
        problem("has no kernel for " + target.to_text());
        continue;
      }
      for (const KernelSequence& sequence : sequences[i]) {
        problem(unguarded(verify(sequence)).message());
        for (const SequenceKernel& entry : sequence.kernels) problem(kernel_problem(entry, target));
      }
    }
    return problems.empty() ? Status() : internal_error(problems);
  });
}

Result<std::vector<KernelSequence>> lower_region(const DispatchGraph& dispatch, RegionId id, const Target& target,
                                                 const LowerOptions& options) {
  RequestMemo memo(target, options);
  return lower_region(dispatch, id, memo);
}

Result<std::vector<KernelSequence>> lower_region(const DispatchGraph& dispatch, RegionId id, RequestMemo& memo) {
  return guard_allocations([&]() -> Result<std::vector<KernelSequence>> {
    const Region& region = dispatch.regions[id];
    if (!region.bodies.empty()) return std::vector<KernelSequence>();
    MILLRACE_TRY_ASSIGN(std::vector<ComposedRequest> requests, compose_region(dispatch, region));
    const Positions inputs = positions_of(region.inputs), outputs = positions_of(region.outputs);
    std::vector<KernelSequence> sequences;
    for (ComposedRequest& composed : requests) {
      Result<KernelSequence> sequence = memo.lower(composed.request);
      if (!sequence.ok()) {
        return Status(sequence.status().code(), region_text(dispatch, region) + ": " + sequence.status().message());
      }
      for (SequenceKernel& kernel : sequence->kernels) {
        for (SequenceOperand& buffer : kernel.buffers) {
          if (buffer.kind == SequenceOperand::Kind::kOperand) {
            MILLRACE_TRY_ASSIGN(buffer.index, find_position(region, inputs, composed.operands[buffer.index]));
          } else if (buffer.kind == SequenceOperand::Kind::kResult) {
            MILLRACE_TRY_ASSIGN(buffer.index, find_position(region, outputs, composed.results[buffer.index]));
          }
        }
      }
      sequences.push_back(*std::move(sequence));
    }
    return sequences;
  });
}

}  // namespace millrace
