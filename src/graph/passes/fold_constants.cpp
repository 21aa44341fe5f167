// SPDX-License-Identifier: Apache-2.0
// Computes small nodes of constants on the host while compiling.
#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/infer.h"
#include "graph/passes/constant_elements.h"
#include "graph/passes/rewriter.h"
#include "millrace/base/saturating.h"
#include "millrace/graph/passes.h"
#include "millrace/graph/text.h"
#include "millrace/jit/body.h"
#include "millrace/jit/loop_kernel.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

/// The maximum number of elements that are folded, one by one; for more, a kernel is much faster.
constexpr std::int64_t kMaxFoldedElements = 64 * 1024;

using Bytes = std::vector<std::byte>;

std::vector<std::int64_t> extents(const Shape& shape) {
  std::vector<std::int64_t> result;
  for (const SizeExpr& dim : shape.dims()) result.push_back(dim.constant());
  return result;
}

class Folder {
 public:
  explicit Folder(const Graph& graph) : graph_(graph) {}

  /// Computes the node's one result if all operands are constants and folding pays off.
  Result<std::optional<SharedBytes>> fold(const Node& node) const {
    if (!is_worth_folding(node)) return std::optional<SharedBytes>();
    if (const auto* op = std::get_if<OpNode>(&node.what); op != nullptr && has_trait(op->op, kStorageView)) {
      return std::optional(constant(node.operands[0])->data);
    }
    if (const auto* own = std::get_if<NestNode>(&node.what)) return fold_nest(node, *own->nest);
    const TensorType& type = node.results[0];
    const auto count = static_cast<std::size_t>(type.shape.num_elements().constant());
    Bytes result(count * size_bytes(type.dtype));
    if (const HostFunction host = host_function(node)) {
      MILLRACE_TRY(fold_elementwise(node, host, result));
    } else {
      fold_view(node, result);
    }
    return std::optional(SharedBytes(std::move(result)));
  }

 private:
  static HostFunction host_function(const Node& node) {
    if (const auto* kernel = std::get_if<KernelNode>(&node.what)) return kernel->kernel.host;
    return definition(std::get<OpNode>(node.what).op).host;
  }

  const ConstantNode* constant(Value value) const { return std::get_if<ConstantNode>(&graph_.nodes[value.node].what); }

  bool is_worth_folding(const Node& node) const {
    const auto* op = std::get_if<OpNode>(&node.what);
    const auto* own = std::get_if<NestNode>(&node.what);
    if (!op && !own && !std::holds_alternative<KernelNode>(node.what)) return false;
    if (own && node.results.size() != 1) return false;
    // Folding a broadcast would only enlarge the constant: kernels read through a broadcast.
    if (op && (!has_trait(op->op, kElementwise) && !has_trait(op->op, kView))) return false;
    if (op && op->op == Op::broadcast) return false;
    if (node.operands.empty() || !std::ranges::all_of(sizes_of(node), &SizeExpr::is_constant)) return false;
    std::int64_t operand_elements = 0;
    for (const Value& operand : node.operands) {
      if (!constant(operand)) return false;
      operand_elements += graph_.type(operand).shape.num_elements().constant();
    }
    std::int64_t elements = node.results[0].shape.num_elements().constant();
    for (std::size_t d = 0; own && d < own->nest->domain.size(); ++d) {  // a nest takes one step per point
      elements = saturating::multiply(d == 0 ? 1 : elements, own->nest->domain[d].extent.constant());
    }
    return elements <=
           (op && has_trait(op->op, kView) ? std::max(kMaxFoldedElements, operand_elements) : kMaxFoldedElements);
  }

  /// Nothing if an index is out of range: the run then reports it.
  std::optional<SharedBytes> fold_nest(const Node& node, const LoopKernel& nest) const {
    std::vector<Bytes> tensors;
    for (const Value& operand : node.operands) {
      const std::span<const std::byte> data = constant(operand)->data;
      tensors.emplace_back(data.begin(), data.end());
    }
    tensors.emplace_back(static_cast<std::size_t>(size_bytes(node.results[0]).constant()));
    std::vector<void*> pointers;
    for (Bytes& tensor : tensors) pointers.push_back(tensor.data());
    if (!evaluate_loop_kernel(nest, pointers, {}).ok()) return std::nullopt;
    return SharedBytes(std::move(tensors.back()));
  }

  Status fold_elementwise(const Node& node, HostFunction host, Bytes& result) const {
    static const Attributes kNoAttributes = NoAttrs{};
    const auto* op = std::get_if<OpNode>(&node.what);
    const DType dtype = node.results[0].dtype;
    const bool reads_bits = op != nullptr && definition(op->op).reads_bits;
    HostEval eval;
    std::vector<Scalar> operands(node.operands.size());
    for (std::size_t i = 0; i < result.size() / size_bytes(dtype); ++i) {
      for (std::size_t o = 0; o < operands.size(); ++o) {
        const DType from = graph_.type(node.operands[o]).dtype;
        const std::span<const std::byte> data = constant(node.operands[o])->data;
        operands[o] = reads_bits ? load_scalar(from, data.data() + i * size_bytes(from)) : load_element(from, data, i);
      }
      store_element(dtype, result, i, host(eval, {eval, operands}, op ? op->attributes : kNoAttributes));
      if (!eval.mistake().empty()) return invalid_argument("the body on the host " + eval.mistake());
    }
    return {};
  }

  /// Copies each element of a transpose or slice from its place in the operand.
  void fold_view(const Node& node, Bytes& result) const {
    const auto& op = std::get<OpNode>(node.what);
    const SharedBytes& from = constant(node.operands[0])->data;
    const std::size_t bytes = size_bytes(node.results[0].dtype);
    const std::vector<std::int64_t> shape = extents(node.results[0].shape);
    const auto [start, strides] = source_walk(node, op);
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::size_t i = 0; i < result.size() / bytes; ++i) {
      std::int64_t at = start;
      for (std::size_t d = 0; d < shape.size(); ++d) at += index[d] * strides[d];
      std::memcpy(result.data() + i * bytes, from.data() + static_cast<std::size_t>(at) * bytes, bytes);
      for (std::size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
    }
  }

  /// The index of the first source element, and the source stride of each result dim.
  std::pair<std::int64_t, std::vector<std::int64_t>> source_walk(const Node& node, const OpNode& op) const {
    const Layout layout = Layout::row_major(graph_.type(node.operands[0]).shape);
    std::vector<std::int64_t> strides;
    std::int64_t start = 0;
    for (std::size_t d = 0; d < node.results[0].shape.rank(); ++d) {
      if (const auto* transpose = std::get_if<PermutationAttrs>(&op.attributes)) {
        const std::int64_t axis = transpose->permutation[d];
        const auto rank = static_cast<std::int64_t>(layout.strides.size());
        strides.push_back(layout.strides[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)].constant());
      } else {
        const auto& slice = std::get<SliceAttrs>(op.attributes);
        start += slice.start[d].constant() * layout.strides[d].constant();
        strides.push_back(saturating::multiply(slice.step[d], layout.strides[d].constant()));
      }
    }
    return {start, strides};
  }

  const Graph& graph_;
};

}  // namespace

Status fold_constants(Graph& graph) {
  return guard_allocations([&]() -> Status {
    GraphRewriter rewriter(graph);
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      Node node = rewriter.mapped(NodeId{i});
      Result<std::optional<SharedBytes>> folded = Folder(rewriter.graph()).fold(node);
      if (!folded.ok()) {
        return Status(folded.status().code(),
                      fmt::format("{}: {}", node_text(graph, NodeId{i}), folded.status().message()));
      }
      if (*folded) {
        rewriter.keep(NodeId{i}, rewriter.append({ConstantNode{**std::move(folded)}, {}, node.results}));
      } else {
        rewriter.keep(NodeId{i}, rewriter.append(std::move(node)));
      }
    }
    graph = rewriter.finish();
    return {};
  });
}

}  // namespace millrace
