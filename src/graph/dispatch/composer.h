// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "graph/dispatch/compose.h"
#include "graph/dispatch/row_reads.h"

namespace millrace {

/// A value as others see it if it is stored as `dtype`: a 16-bit float is rounded even if it is never stored.
BodyValue round_to(BodyBuilder& b, DType dtype, BodyValue value);

/// A node of the region that has a loop nest of its own.
struct RootNest {
  NodeId node{};
  LoopKernel nest;
  std::uint32_t pass = 0;  // the pass of the region's kernel that computes it; compose_roots() finds it
};

/// Composes the nodes of one region into one LoopKernel by pulling: to compute a value at an index, computes its
/// operands at that index (for a view, at the mapped index) and runs its body. Values from outside the region are
/// loaded.
class Composer {
 public:
  /// Keeps references to both.
  Composer(const DispatchGraph& dispatch, const Region& region)
      : dispatch_(dispatch),
        graph_(dispatch.graph),
        region_(region),
        members_(region.nodes.begin(), region.nodes.end()) {}

  /// Composes a region that has only elementwise nodes and views, as a map over the points of the outputs.
  ComposedRequest compose_map();
  /// The map that computes `value` from the region's inputs, for a sort or scan that reads it as `input`.
  ComposedRequest compose_load(Value value, const KernelTensor& input);
  /// Composes a region with roots. The nests of all roots have the same domain, and store their results at the same
  /// points. If a root needs the result of another, or if an output has a value for each point of the reductions, the
  /// kernel has several passes.
  ComposedRequest compose_roots(std::vector<RootNest> roots);
  /// Composes a region whose root is an application's nest. Nodes before it are computed where it reads them, nodes
  /// after it where it stores the results that they read: all at one place (has_one_place).
  ComposedRequest compose_nest(NodeId root, const LoopKernel& nest);

 private:
  /// A value of a body that is already computed at an index.
  struct Computed {
    Value value;
    Indices indices;
    BodyValue result;
  };
  /// A root, and the first numbers of its reductions and extents in the kernel.
  struct NumberedRoot {
    const RootNest* root = nullptr;
    std::uint32_t first_reduction = 0, first_extent = 0;
  };
  /// A pass whose term is composed. Later passes can still make it keep one of its values.
  struct Pass {
    BodyBuilder term;
    std::vector<Computed> computed;
    std::vector<BodyValue> reduced, stored;
    std::vector<std::pair<BodyValue, std::uint32_t>> kept;  // with the numbers of the temporaries
  };

  Indices set_domain(const Shape& shape);
  std::uint32_t operand_number(Value value);
  std::uint32_t access_number(Access access);

  void number_roots(std::vector<RootNest>& roots);
  void compose_pass(std::uint32_t pass, const std::vector<RootNest>& roots);
  void finish_passes();
  bool is_stored_in_pass(Value output) const;
  std::uint32_t stored_with(Value output, NodeId root) const;
  void compose_nest_body(BodyBuilder& b, NodeId root, const LoopKernel& nest, std::optional<std::uint32_t> pass);
  std::vector<BodyValue> inline_nest(BodyBuilder& b, NodeId root, const LoopKernel& nest, const Body& body,
                                     std::uint32_t first_reduction, std::uint32_t first_extent);
  std::vector<BodyValue> inline_root(BodyBuilder& b, const NumberedRoot& root, const Body& body);
  std::optional<BodyValue> kept_value(BodyBuilder& b, Value value, const Indices& indices);
  std::uint32_t temporary_number(std::uint32_t pass, BodyValue value);

  BodyValue pull(BodyBuilder& b, Value value, const Indices& indices);
  BodyValue compute(BodyBuilder& b, Value value, const Indices& indices);
  BodyValue load(BodyBuilder& b, Value value, const Indices& indices);
  std::optional<Scalar> scalar_constant(const Node& node) const;
  ComposedRequest finish(BodyBuilder& epilogue, const Indices& point);

  const DispatchGraph& dispatch_;
  const Graph& graph_;
  const Region& region_;
  std::set<NodeId> members_;
  std::map<NodeId, NumberedRoot> roots_;
  std::vector<SizeExpr> extents_;           // of the domain of a region with roots
  Indices root_point_;                      // where roots store their results
  std::optional<Shape> row_shape_;          // of the operands of roots that reduce rows
  Indices term_point_;                      // where these roots read their operands
  std::map<NodeId, std::uint32_t> passes_;  // per node of a region with roots: the first pass that can compute it
  std::vector<Pass> earlier_;               // passes before the body under construction
  LoopKernel kernel_;
  std::vector<Value> operands_;
  std::vector<Computed> computed_;  // in the body under construction
};

}  // namespace millrace
