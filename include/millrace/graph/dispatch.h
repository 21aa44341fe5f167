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

/// An operand that is copied to a result. The operand of a concat or pad is copied if its producer cannot write
/// directly into the result. The condition or first state of a loop is copied if something else needs the operand,
/// which the loop would overwrite.
struct CopiedOperand {
  std::uint32_t operand = 0;
  std::string reason;  // "%x is an input"
};

struct DispatchGraph;

/// Nodes that become one kernel or, for a multi-pass algorithm, several kernels; or a single loop or condition.
struct Region {
  std::string name;                        // "conv2d_add_max_3": its kernels' name in texts and traces
  std::string label = {};                  // "layer3/q": for people, see label_of
  std::vector<NodeId> nodes;               // in graph order
  std::vector<Value> inputs;               // values that the nodes read from outside the region, each listed once
  std::vector<Value> outputs;              // results that other regions read, or graph outputs
  std::vector<std::string> reasons;        // why these nodes are together, one per line
  std::vector<CopiedOperand> copies = {};  // operands that their producers do not write in place
  std::string copy_reason = {};            // why a scatter has to copy its operand first
  std::vector<std::shared_ptr<const DispatchGraph>> bodies = {};  // bodies of a loop or condition, in the node's order
};

/// The place of a value in the storage of the concat or pad that reads it. The value's elements are adjacent there, or
/// in rows with gaps between them. With rows, the value's outer dims index the rows, and only the concat or pad may
/// read the value. A value that is padded along several axes has rows within rows, listed outermost first.
struct StoragePart {
  struct Rows {
    std::size_t num_outer_dims = 0;  // the dims that index the rows of this and all outer levels
    SizeExpr pitch_elements;         // from one row to the next
  };
  Value whole;  // the result of the concat or pad
  SizeExpr offset_elements;
  std::vector<Rows> rows = {};
};

/// A variable's new value that cannot be stored directly in the variable. It has memory of its own, and is copied to
/// the variable at the end of the run.
struct CopiedUpdate {
  GraphUpdate update;
  std::string reason;  // "%x is an input"
};

/// Why a value's producer and its reader are in different regions; node_groups.cpp decides.
enum class JoinObstacle : std::uint8_t {
  kControl,         // `node` is a loop or a condition: the host decides what it runs
  kReadsMemory,     // the kernel of `node`, the reader, can load this operand only from memory
  kAfterView,       // `node`, a view between the two, makes the reader need elements at other points
  kAfterReshape,    // `node`, a reshape between the two, shares its operand's storage, so it is in memory
  kTwoRoots,        // `node` and `other` are dots, reductions or the like, and need more than one kernel
  kNoEpilogue,      // `node`, in the producer's region, has a kernel without an epilogue
  kViewAlone,       // the reader loads whole rows; `node`, a view, makes rows of distant elements
  kShapeDiffers,    // `node`, in the producer's region, has a different shape from the reader
  kPlaceDiffers,    // `node`, an application's nest, stores what the reader reads at two places
  kWouldFormCycle,  // `node`, in a third region, reads one region, and the other region needs `node`
  kReadByRoot,      // `node`, one region's dot or reduction, reads the other region at other points
  kRootInOperand,   // `node`, in the producer's region, is not elementwise, so the reader cannot fuse it
  kIsStored,        // `node`, in the producer's region, is an output or update: in memory anyway
  kOtherReader,     // `node` reads the producer's region too, so the value is in memory anyway
  kRowTooLong,      // passes over rows of the reduction `node` would walk `found` bytes; at most `limit` stay in cache
  kTooManyNodes,    // the two have `found` nodes together; a region has at most `limit`
  kTooManyInstructions,  // the two have `found` instructions together, at most `limit` fit
};

/// A value that one region stores and another reads, and the obstacle that keeps the two apart.
struct Separation {
  Value value = {};  // the stored value; the reader may read it through views
  NodeId reader{};   // the node that reads the value, in the other region
  JoinObstacle obstacle{};
  NodeId node{}, other{};  // see JoinObstacle
  std::int64_t found = 0, limit = 0;
};

/// A graph cut into regions. A reshape belongs to no region: its value shares its operand's storage. A concat belongs
/// to no region if the regions that store its operands write all of its result.
struct DispatchGraph {
  Graph graph;
  IdVector<RegionId, Region> regions;  // producers before their readers
  std::map<Value, Value> aliases;      // reshaped value -> the value whose storage it shares
  std::map<Value, StoragePart> parts;  // stored value -> its place in the storage of a concat or pad
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
  /// The layout of the value in its storage. For a value with a StoragePart, the offset counts from the first element
  /// of that part.
  Layout layout_of(Value value) const;
  /// Like storage_of, but also follows `in_place`, to the first value that was stored in this memory.
  Value memory_of(Value value) const {
    value = storage_of(value);
    for (auto it = in_place.find(value); it != in_place.end(); it = in_place.find(value)) {
      value = storage_of(it->second);
    }
    return value;
  }
};

/// Cuts the graph into regions. A chain of elementwise nodes becomes one region. Elementwise nodes and views move into
/// the reduction, contraction or own nest that reads them; elementwise nodes after it move into its epilogue, and those
/// before a sort or scan into its load. Up to four reductions that read one value over the same axes become one region.
/// Reductions over the same axes, and elementwise nodes that read their results again at each point of a row, become
/// one region whose kernel has several passes: a softmax or a norm is one region. Only views are recomputed. A region
/// has at most 128 nodes, and no more instructions than LLVM compiles in 100 ms (kMaxMapInstructions).
///
/// Values share memory where possible. Operands of concats and pads are stored directly in the result, unless they need
/// memory of their own (CopiedOperand). A scatter changes its operand in place if nothing needs the operand later;
/// otherwise, Region::copy_reason says why not. Elementwise nodes overwrite an operand if they are its last readers in
/// every order in which the regions can run. A variable's new value is stored in the variable once nothing needs the
/// old value; otherwise, there is a CopiedUpdate.
///
/// Target-independent. O(nodes * operands), but quadratic at worst, because each join searches for cycles. The result
/// is verified. Precondition: verify(graph) passed.
Result<DispatchGraph> form_dispatches(Graph);
/// A name for these nodes, for people: the name of the last named node, as texts spell it; if none is named, the last
/// scope; empty if there is no scope either.
std::string label_of(const Graph&, std::span<const NodeId>);
/// Checks these invariants. Fails with kInternal and one line per failure.
/// * Every region stores at least one value.
/// * Every region input is a graph input, a constant, a variable or stored by earlier regions, after following aliases.
///   A concat without a region counts as stored when all of its operands are stored as parts of it.
/// * A value whose StoragePart has rows is not an input of any region.
/// * No region reads a value after another region has overwritten it in place.
/// * Every region output is stored by one region only. It is used, except that a loop, a condition or an application's
///   nest may have unused outputs.
/// * Bodies keep these invariants.
/// * Every graph output and every update is a graph input, a constant, a variable or stored by a region, after
///   following aliases.
/// * Every update is in `in_place` or in `copied_updates`.
Status verify(const DispatchGraph&);
std::string to_text(const DispatchGraph&);
/// The edge, the obstacle, and a remedy: "%e -> %y: %y reads it through %t = transpose, at other points; ...".
std::string to_text(const Graph&, const Separation&);

/// A region's kernels for one target. The operands of each sequence are in the order of Region::inputs, and its results
/// in the order of Region::outputs.
Result<std::vector<KernelSequence>> lower_region(const DispatchGraph&, RegionId, const Target&, const LowerOptions&);
/// Checks, before scheduling, that every region except loops and conditions has at least one kernel sequence, that
/// verify(KernelSequence) accepts each, and that a generator of the target planned each kernel. `sequences` has one
/// entry per region.
Status verify(const DispatchGraph&, const std::vector<std::vector<KernelSequence>>& sequences, const Target&);

}  // namespace millrace
