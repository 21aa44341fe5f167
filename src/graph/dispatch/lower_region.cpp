// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "graph/dispatch/compose.h"
#include "millrace/graph/dispatch.h"

namespace millrace {
namespace {

Result<std::uint32_t> position(const Region& region, const std::vector<Value>& values, Value value) {
  const auto it = std::find(values.begin(), values.end(), value);
  if (it != values.end()) return static_cast<std::uint32_t>(it - values.begin());
  return internal_error(
      fmt::format("region {}: its kernel touches result {} of node {}, which the region does not name", region.name,
                  value.result, index_of(value.node)));
}

}  // namespace

Result<std::vector<KernelSequence>> lower_region(const DispatchGraph& dispatch, RegionId id, const Target& target,
                                                 const LowerOptions& options) {
  const Region& region = dispatch.regions[id];
  MILLRACE_TRY_ASSIGN(std::vector<ComposedRequest> requests, compose_region(dispatch, region));
  std::vector<KernelSequence> sequences;
  for (ComposedRequest& composed : requests) {
    Result<KernelSequence> sequence = lower_request(composed.request, target, options);
    if (!sequence.ok()) {
      return Status(sequence.status().code(), fmt::format("region {}: {}", region.name, sequence.status().message()));
    }
    for (SequenceKernel& kernel : sequence->kernels) {
      for (SequenceOperand& buffer : kernel.buffers) {
        if (buffer.kind == SequenceOperand::Kind::kOperand) {
          MILLRACE_TRY_ASSIGN(buffer.index, position(region, region.inputs, composed.operands[buffer.index]));
        } else if (buffer.kind == SequenceOperand::Kind::kResult) {
          MILLRACE_TRY_ASSIGN(buffer.index, position(region, region.outputs, composed.results[buffer.index]));
        }
      }
    }
    sequences.push_back(*std::move(sequence));
  }
  return sequences;
}

}  // namespace millrace
