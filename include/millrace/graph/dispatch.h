// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/jit/algorithm.h"

namespace millrace {

enum class RegionId : std::uint32_t {};

/// An operand that is copied to a result. For a concat or pad, its producer cannot write it there; for a loop's
/// condition or first state, something else needs the operand.
struct CopiedOperand {
  std::uint32_t operand = 0;
  std::string reason;  // "%x is an input"
};

struct DispatchGraph;

/// Nodes that become one kernel, or the kernels of one multi-pass algorithm; or one loop or condition.
struct Region {
  std::string name;                        // "conv2d_add_max_3": its kernels' name in texts and traces
  std::string label = {};                  // "layer3/q": for people, see label_of
  std::vector<NodeId> nodes;               // in graph order
  std::vector<Value> inputs;               // values from outside that the nodes read, each listed once
  std::vector<Value> outputs;              // read by other regions, or graph outputs; never an unused result
  std::vector<std::string> reasons;        // why these nodes are together, one per line
  std::vector<CopiedOperand> copies = {};  // operands that are not stored in the result in place
  std::string copy_reason = {};            // why a scatter has to copy its operand first
  std::vector<std::shared_ptr<const DispatchGraph>> bodies = {};  // of a loop or a condition, in its node's order
};

/// The place of a value in the storage of the concat or pad that reads it. Its elements are adjacent there, or in rows
/// with gaps. If in rows, its outer dims index the rows, and only the concat or pad reads it. A value padded along
/// several axes has rows within rows, listed outermost first.
struct StoragePart {
  struct Rows {
    std::size_t num_outer_dims = 0;  // including the outer dims of the rows before it
    SizeExpr pitch_elements;         // from one row to the next
  };
  Value whole;  // the result of the concat or pad
  SizeExpr offset_elements;
  std::vector<Rows> rows = {};
};

/// An update's new value that needs memory of its own, from which it is copied to the variable at the end.
struct CopiedUpdate {
  GraphUpdate update;
  std::string reason;  // "%x is an input"
};

/// The rule that keeps two neighbours from being one region; node_groups.cpp applies it.
enum class JoinRule : std::uint8_t {
  kControl,              // `node` is a loop or a condition: the host decides what it runs
  kReadsMemory,          // the kernel of `node`, the reader, computes nothing on the way from memory
  kAfterView,            // `node`, a view between the two, makes the reader need points other than its own
  kAfterReshape,         // `node` is a reshape between the two: it shares its operand's storage
  kTwoRoots,             // both `node` and `other` are a dot, a reduction or the like; a kernel has one at most
  kNoEpilogue,           // the kernel of `node`, in the producer's region, has no epilogue
  kViewAlone,            // the reader needs adjacent elements; `node`, a view, gathers them from far apart
  kOtherPoints,          // the producer's region stores at the points of `node`, which are not the reader's
  kReadAround,           // `node`, in a third region, reads one of the two and is needed by the other
  kReadByRoot,           // `node`, one region's dot or reduction, reads the other region at points of its own
  kRootInOperand,        // the reader takes elementwise operands only; `node`, in the producer's region, is not
  kIsStored,             // `node`, in the producer's region, is an output or a variable's new value
  kOtherReader,          // `node` reads the producer's region too
  kTooManyNodes,         // `found` in both together; a region has at most `limit`
  kTooManyInstructions,  // the same for instructions
};

/// A value that one region stores and another reads, and the rule that keeps the two apart.
struct Separation {
  Value value = {};  // the stored value; the reader may read it through views
  NodeId reader{};   // the node of the other region
  JoinRule rule{};
  NodeId node{}, other{};  // see JoinRule
  std::int64_t found = 0, limit = 0;
};

/// A graph cut into regions. A reshape belongs to no region: its value shares its operand's storage. A concat belongs
/// to no region if the regions that store its operands write all of its result.
struct DispatchGraph {
  Graph graph;
  IdVector<RegionId, Region> regions;  // producers before their readers
  std::map<Value, Value> aliases;      // reshaped value -> the value whose storage it shares
  std::map<Value, StoragePart> parts;  // stored value -> its place in another's storage
  /// Stored value -> the value that it overwrites in the same storage: an operand that its region is the last to read,
  /// or the variable whose new value it is.
  std::map<Value, Value> in_place;
  std::vector<CopiedUpdate> copied_updates;  // the updates that are not in place
  std::vector<Separation> separations;       // sorted by reader; one per edge between nodes of two regions

  /// Follows the aliases to the value that owns the storage.
  Value storage_of(Value value) const {
    for (auto it = aliases.find(value); it != aliases.end(); it = aliases.find(value)) value = it->second;
    return value;
  }
  /// The layout of the value in its storage. For a part, the offset counts from the part's first element.
  Layout layout_of(Value value) const;
  /// Like storage_of, but also follows what the value overwrites, to the first value in that memory.
  Value memory_of(Value value) const {
    value = storage_of(value);
    for (auto it = in_place.find(value); it != in_place.end(); it = in_place.find(value)) {
      value = storage_of(it->second);
    }
    return value;
  }
};

/// Cuts the graph into regions. Elementwise chains become one region. Elementwise nodes and views move into the
/// reduction or contraction that reads them, and elementwise nodes after it into its epilogue. Those before a sort or
/// scan move into its load. Only views are recomputed. Operands of concats and pads are stored where the result has
/// them, unless they need memory of their own (CopiedOperand). A scatter changes its operand in place if nothing needs
/// that later (otherwise Region::copy_reason says why not); elementwise nodes overwrite an operand that they are the
/// last to read in every order; a variable's new value is stored in the variable when nothing needs the old value any
/// more (otherwise CopiedUpdate). A region has at most 128 nodes, and no more instructions than LLVM compiles in 100 ms
/// (kMaxMapInstructions). Target-independent. O(nodes * operands), except that each join searches for cycles: quadratic
/// at worst. The result is verified. Precondition: verify(graph) passed.
Result<DispatchGraph> form_dispatches(Graph);
/// A name for these nodes, for people: the name of the last named node, as texts spell it; if none is named, the last
/// scope; empty if there is no scope either.
std::string label_of(const Graph&, std::span<const NodeId>);
/// Checks these invariants. Fails with kInternal and one line per failure.
/// * Every region stores at least one value.
/// * Every region input is a graph input, a constant, a variable or stored by earlier regions, after following aliases.
///   A concat without a region is stored when all of its operands are, each as a part of it.
/// * A value that is stored in rows of another value is not the input of any region.
/// * No region reads a value after another region has overwritten it in place.
/// * Every region output is used, unless it is a loop's or a condition's, and is stored by one region only.
/// * Bodies keep these invariants.
/// * Every graph output and every update is a graph input, a constant, a variable or stored by a region, after
///   following aliases.
/// * Every update is in place or among the copied ones.
Status verify(const DispatchGraph&);
std::string to_text(const DispatchGraph&);
/// The edge, the rule, and a remedy: "%e -> %y: %y reads it through %t = transpose, at other points; ...".
std::string to_text(const Graph&, const Separation&);

/// A region's kernels for one target. The operands of each sequence are in the order of Region::inputs, its results in
/// that of Region::outputs.
Result<std::vector<KernelSequence>> lower_region(const DispatchGraph&, RegionId, const Target&, const LowerOptions&);
/// Checks, before scheduling, that every region except loops and conditions has at least one kernel sequence, that
/// verify(KernelSequence) accepts each, and that a generator of the target planned each kernel. `sequences` has one
/// entry per region.
Status verify(const DispatchGraph&, const std::vector<std::vector<KernelSequence>>& sequences, const Target&);

}  // namespace millrace
