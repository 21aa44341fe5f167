// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/jit/algorithm.h"

namespace millrace {

enum class RegionId : std::uint32_t {};

/// Nodes that become one kernel (or the planned number of passes of one algorithm).
struct Region {
  std::string name;                  // "conv2d_add_max_3": for text, kernels and traces
  std::vector<NodeId> nodes;         // in graph order
  std::vector<Value> inputs;         // read from outside, each once
  std::vector<Value> outputs;        // read from outside or by the graph's outputs; never an unused result
  std::vector<std::string> reasons;  // why these nodes are together, one a line
};

/// A graph cut into regions. A view that renames elements in place (reshape) is no region: its value lives where its
/// operand lives.
struct DispatchGraph {
  Graph graph;
  IdVector<RegionId, Region> regions;  // in an order in which inputs are ready
  std::map<Value, Value> aliases;      // reshaped value -> the value whose storage it shares

  /// The value that owns the storage.
  Value storage_of(Value value) const {
    for (auto it = aliases.find(value); it != aliases.end(); it = aliases.find(value)) value = it->second;
    return value;
  }
};

/// Cuts the graph: elementwise chains become one region; elementwise and views go into the reduction or contraction
/// that reads them (or, after it, into its epilogue); a node is computed twice only when it is a view or cheaper than a
/// store; a region has at most 128 nodes, and no more instructions than LLVM turns into code in 100 ms.
/// Target-independent. O(nodes * operands).
Result<DispatchGraph> form_dispatches(Graph);
Status verify(const DispatchGraph&);
std::string to_text(const DispatchGraph&);

/// A region's kernels on one target. The sequences' operands are numbered as Region::inputs, results as
/// Region::outputs.
Result<std::vector<KernelSequence>> lower_region(const DispatchGraph&, RegionId, const Target&, const LowerOptions&);
/// Whether every region has its kernels for the target, each planned by a generator that serves it. `sequences`: a row
/// per region. Nothing is scheduled before.
Status verify(const DispatchGraph&, const std::vector<std::vector<KernelSequence>>& sequences, const Target&);

}  // namespace millrace
