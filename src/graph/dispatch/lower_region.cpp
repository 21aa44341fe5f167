// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "graph/dispatch/compose.h"
#include "millrace/graph/dispatch.h"

namespace millrace {
namespace {

std::uint32_t position(const std::vector<Value>& values, Value value) {
  const auto it = std::find(values.begin(), values.end(), value);
  MILLRACE_CHECK(it != values.end());
  return static_cast<std::uint32_t>(it - values.begin());
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
          buffer.index = position(region.inputs, composed.operands[buffer.index]);
        } else if (buffer.kind == SequenceOperand::Kind::kResult) {
          buffer.index = position(region.outputs, composed.results[buffer.index]);
        }
      }
    }
    sequences.push_back(*std::move(sequence));
  }
  return sequences;
}

}  // namespace millrace
