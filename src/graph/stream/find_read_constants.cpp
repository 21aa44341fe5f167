// SPDX-License-Identifier: Apache-2.0
// Finds the constants that a program keeps on its device.
#include "millrace/graph/schedule.h"

namespace millrace {

std::set<Value> find_read_constants(const DispatchGraph& dispatch,
                                    const std::vector<std::vector<KernelSequence>>& sequences) {
  std::set<Value> constants;
  const auto add = [&](Value value) {
    const Value storage = dispatch.storage_of(value);
    if (std::holds_alternative<ConstantNode>(dispatch.graph.nodes[storage.node].what)) constants.insert(storage);
  };
  for (const Value& value : required_values(dispatch.graph)) add(value);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const Region& region = dispatch.regions[RegionId(i)];
    for (const KernelSequence& sequence : sequences[i]) {
      for (const SequenceKernel& part : sequence.kernels) {
        for (const SequenceOperand& buffer : part.buffers) {
          if (buffer.kind == SequenceOperand::Kind::kOperand) add(region.inputs[buffer.index]);
        }
      }
    }
  }
  return constants;
}

}  // namespace millrace
