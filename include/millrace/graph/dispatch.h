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

/// An operand that is copied to a result: one of a concat or pad, because its producer cannot write it there, or a
/// loop's condition or first state, because something else needs it.
struct CopiedOperand {
  std::uint32_t operand = 0;
  std::string reason;  // "%x is an input"
};

struct DispatchGraph;

/// Nodes that become one kernel, or the kernels of one multi-pass algorithm; or a loop or a condition.
struct Region {
  std::string name;                        // "conv2d_add_max_3": of its kernels, for texts and traces
  std::string label = {};                  // "layer3/q": for people, see label_of
  std::vector<NodeId> nodes;               // in graph order
  std::vector<Value> inputs;               // read from outside, each listed once
  std::vector<Value> outputs;              // read from outside or graph outputs; never an unused result of an op
  std::vector<std::string> reasons;        // why these nodes are together, one per line
  std::vector<CopiedOperand> copies = {};  // whose other operands are in the result's storage already
  std::string copy_reason = {};            // of a scatter that copies its operand first: why it has to
  std::vector<std::shared_ptr<const DispatchGraph>> bodies = {};  // of a loop or a condition, as its node has them
};

/// The place of a value in the storage of the concat or pad that reads it. Its elements are side by side there, or in
/// rows: then its outer dims go from row to row, and nobody but the concat or pad reads it. What is padded along
/// several axes is in rows of rows, the outermost first.
struct StoragePart {
  struct Rows {
    std::size_t num_outer_dims = 0;  // those of the rows before it, too
    SizeExpr pitch_elements;         // from one row to the next
  };
  Value whole;  // the result of the concat or pad
  SizeExpr offset_elements;
  std::vector<Rows> rows = {};
};

/// A value that an update needs in memory of its own, from which it is copied to the variable at the end.
struct CopiedUpdate {
  GraphUpdate update;
  std::string reason;  // "%x is an input"
};

/// Why two neighbours are not one region. node_groups.cpp decides by it.
enum class JoinRule : std::uint8_t {
  kControl,        // `node` is a loop or a condition: the host decides what it runs
  kReadsMemory,    // the kernel of `node`, the reader, computes nothing on the way from memory
  kBehindView,     // `node` is a view between the two: the reader needs other points than its own
  kBehindReshape,  // `node` is a reshape between the two: it shares its operand's storage
  kTwoRoots,       // a kernel has one node such as a dot or a reduction; they are `node` and `other`
  kNoEpilogue,     // the kernel of `node`, in the producer's region, computes nothing behind it
  kViewAlone,      // `node`, a view, puts elements side by side that may be far apart; the reader needs them so
  kOtherPoints,    // the producer's region stores at the points of `node`, which are not the reader's
  kReadAround,     // `node`, of a third region, reads one of the two, and the other one needs it
  kReadByRoot,     // `node`, a dot or a reduction of one of the regions, reads the other one at points of its own
  kRootInOperand,  // `node`, in the producer's region, is more than elementwise, which is all that the reader takes
  kIsStored,       // `node`, in the producer's region, is an output or a variable's new value
  kOtherReader,    // `node` reads the producer's region, too
  kTooManyNodes,   // `found` in both, at most `limit` in one
  kTooManyInstructions,  // likewise
};

/// A value that one region stores and another reads, and why the two are not one.
struct Separation {
  Value value = {};  // in memory; the reader may read it through views
  NodeId reader{};   // the node of the other region
  JoinRule rule{};
  NodeId node{}, other{};  // see JoinRule
  std::int64_t found = 0, limit = 0;
};

/// A graph cut into regions. A reshape belongs to no region: its value shares its operand's storage. A concat belongs
/// to none if the regions that store its operands write all of its result.
struct DispatchGraph {
  Graph graph;
  IdVector<RegionId, Region> regions;  // producers before their readers
  std::map<Value, Value> aliases;      // reshaped value -> the value whose storage it shares
  std::map<Value, StoragePart> parts;  // stored value -> its place in another's storage
  /// Stored value -> the one that it replaces, in the same storage: an operand that its region reads last and changes,
  /// or a variable whose new value it is.
  std::map<Value, Value> in_place;
  std::vector<CopiedUpdate> copied_updates;  // of all updates, those that are not in place
  std::vector<Separation> separations;       // by reader; one for each edge between nodes of two regions

  /// Follows the aliases to the value that owns the storage.
  Value storage_of(Value value) const {
    for (auto it = aliases.find(value); it != aliases.end(); it = aliases.find(value)) value = it->second;
    return value;
  }
  /// Where the value's elements are in its storage, or, if it is a part, from the first of them on.
  Layout layout_of(Value value) const;
  /// Also follows what the value replaces, to the first value in the memory that it is in.
  Value memory_of(Value value) const {
    value = storage_of(value);
    for (auto it = in_place.find(value); it != in_place.end(); it = in_place.find(value)) {
      value = storage_of(it->second);
    }
    return value;
  }
};

/// Cuts the graph into regions. Elementwise chains become one region; elementwise nodes and views move into the
/// reduction or contraction that reads them, and elementwise nodes after it into its epilogue. Those before a sort or
/// scan move into its load. Only views are recomputed. Operands of concats and pads are stored
/// where the result has them, unless they need memory of their own (CopiedOperand). A scatter changes its operand in
/// place if nothing needs that later, elementwise work what it reads last in every order, and a variable's new value is
/// stored in the variable when nothing needs the old value any more, unless something is in the way
/// (Region::copy_reason, CopiedUpdate). A region has at most 128 nodes, and no more instructions than LLVM compiles in
/// 100 ms (kMaxMapInstructions). Target-independent. O(nodes * operands), except that each join searches for cycles:
/// quadratic at worst.
Result<DispatchGraph> form_dispatches(Graph);
/// What people call the work of these nodes: the name of the last one that has a name, as texts spell it; without one,
/// the last scope. Empty if there is neither.
std::string label_of(const Graph&, std::span<const NodeId>);
/// Checks these invariants. Fails with kInternal and one line per failure.
/// * Every region stores at least one value.
/// * Every region input is a graph input, a constant, a variable or stored by earlier regions, after following aliases.
///   A concat without a region is stored when all of its operands are, each as a part of it.
/// * What is stored in rows of another value is no region's input.
/// * No region reads a value after another region has replaced it in place.
/// * Every region output is used, unless it is a loop's or a condition's, and is stored by one region only.
/// * Bodies keep these invariants.
/// * Every graph output and every update is a graph input, a constant, a variable or stored by a region, after
///   following aliases.
/// * Every update is in place or among the copied ones.
Status verify(const DispatchGraph&);
std::string to_text(const DispatchGraph&);
/// The edge, the rule, and what would help: "%e -> %y: %y reads it through %t = transpose, at other points; ...".
std::string to_text(const Graph&, const Separation&);

/// A region's kernels for one target. The sequences number their operands like Region::inputs, and their results like
/// Region::outputs.
Result<std::vector<KernelSequence>> lower_region(const DispatchGraph&, RegionId, const Target&, const LowerOptions&);
/// Checks, before scheduling, that every region but loops and conditions has at least one kernel sequence, that
/// verify(KernelSequence) accepts each, and that a generator of the target planned each kernel. `sequences` has one
/// entry per region.
Status verify(const DispatchGraph&, const std::vector<std::vector<KernelSequence>>& sequences, const Target&);

}  // namespace millrace
