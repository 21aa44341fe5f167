// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/text/near_name.h"
#include "graph/infer.h"
#include "graph/text/constant_text.h"
#include "graph/text/read_attributes.h"
#include "graph/text/read_type.h"
#include "graph/text/value_names.h"
#include "millrace/base/printable.h"
#include "millrace/graph/text.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

/// Reorders the nodes: those missing from `order` come first, in their old order.
Graph reorder(Graph graph, const std::vector<NodeId>& order) {
  IdVector<NodeId, NodeId> moved;
  moved.resize(graph.nodes.size());
  const auto kLeftOut = NodeId(graph.nodes.size());
  for (NodeId& id : moved) id = kLeftOut;
  auto next = static_cast<std::uint32_t>(graph.nodes.size() - order.size());
  for (const NodeId id : order) moved[id] = NodeId{next++};
  next = 0;
  for (NodeId& id : moved) id = id == kLeftOut ? NodeId{next++} : id;
  IdVector<NodeId, Node> nodes;
  nodes.resize(graph.nodes.size());
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = nodes[moved[NodeId{i}]] = std::move(graph.nodes[NodeId{i}]);
    for (Value& operand : node.operands) operand.node = moved[operand.node];
  }
  graph.nodes = std::move(nodes);
  for (NodeId& input : graph.inputs) input = moved[input];
  for (GraphOutput& output : graph.outputs) output.value.node = moved[output.value.node];
  return graph;
}

class GraphParser {
 public:
  GraphParser(std::string_view text, const ParseOptions& options)
      : text_(options.name, text), kernels_(options.kernels), files_(options.directory) {}

  Result<Graph> parse() {
    if (!text_.take_word("graph")) return text_.unexpected("expected 'graph'; begin with graph <name>(<inputs>) {");
    const std::size_t begin = text_.position();
    MILLRACE_TRY(read_header());
    while (!text_.take_word("return")) MILLRACE_TRY(read_statement());
    MILLRACE_TRY(read_outputs());
    if (!text_.at_end()) return text_.unexpected("expected the end of the text; keep one graph in a text");
    if (has_placed_inputs_) graph_ = reorder(std::move(graph_), order_);
    const Status status = verify(graph_);
    return status.ok() ? Result<Graph>(std::move(graph_)) : text_.error(begin, status.message());
  }

 private:
  Status read_header() {
    MILLRACE_TRY_ASSIGN(graph_.name, text_.read_name("expected the graph's name; give it one"));
    if (!text_.take("(")) return text_.unexpected("expected '('; write the graph's inputs in parentheses");
    if (!text_.take(")")) {
      do {
        MILLRACE_TRY(read_input());
      } while (text_.take(","));
      if (!text_.take(")")) return text_.unexpected("expected ',' or ')'; close the graph's inputs");
    }
    if (!text_.take("{")) return text_.unexpected("expected '{'; write the graph's nodes in braces");
    is_fixed_.resize(graph_.inputs.size());
    return {};
  }

  Status read_input() {
    MILLRACE_TRY_ASSIGN(ValueName value, read_value_name(text_));
    if (!text_.take(":")) return text_.unexpected("expected ':'; say the input's type");
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(TensorType type, read_type(text_, symbols_));
    MILLRACE_TRY(check_limits(begin, type));
    MILLRACE_TRY(values_.define(text_, value, {NodeId(graph_.nodes.size()), 0}));
    graph_.inputs.push_back(graph_.nodes.push_back({InputNode{std::move(value.name)}, {}, {std::move(type)}}));
    return {};
  }

  Status check_limits(std::size_t begin, const TensorType& type) const {
    const std::string problem = broken_limit(type);
    return problem.empty() ? Status() : text_.error(begin, "the type " + problem);
  }

  Status read_statement() {
    if (text_.take_word("input")) return read_place();
    if (text_.rest().starts_with('%')) return read_node();
    return text_.unexpected(
        "expected a node, 'input' or 'return'; begin a node with the names of its results, such as %y");
  }

  /// Reads the rest of "input %x", which places an input among the nodes.
  Status read_place() {
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(const Value value, values_.read(text_));
    const std::size_t input = index_of(value.node);  // inputs are the first nodes until everything is read
    if (input >= graph_.inputs.size() || is_fixed_[input]) {
      text_.move_to(begin);
      return text_.unexpected(input >= graph_.inputs.size()
                                  ? "expected an input of the graph; remove the line"
                                  : "expected its place once, and before it is read; move the line up or remove it");
    }
    is_fixed_[input] = true;
    has_placed_inputs_ = true;
    order_.push_back(value.node);
    return {};
  }

  Status read_node() {
    std::vector<ValueName> names;
    do {
      MILLRACE_TRY_ASSIGN(ValueName name, read_value_name(text_));
      names.push_back(std::move(name));
    } while (text_.take(","));
    if (!text_.take("=")) return text_.unexpected("expected ',' or '='; say what computes the values");
    Node node;
    MILLRACE_TRY(read_operation(node));
    if (names.size() != node.results.size()) {
      return text_.error(names[0].begin,
                         fmt::format("found {} name{}, expected {} for the results of {}; name each once", names.size(),
                                     names.size() == 1 ? "" : "s", node.results.size(), kind_name(node)));
    }
    const auto id = NodeId(graph_.nodes.size());
    for (std::uint32_t i = 0; i < names.size(); ++i) MILLRACE_TRY(values_.define(text_, names[i], {id, i}));
    if (std::ranges::none_of(names, &ValueName::is_number)) {
      for (ValueName& name : names) node.names.push_back(std::move(name.name));
    }
    graph_.nodes.push_back(std::move(node));
    order_.push_back(id);
    return {};
  }

  Status read_operation(Node& node) {
    const std::size_t begin = text_.position();
    if (text_.take_word("constant")) return read_constant(node);
    if (text_.take_word("kernel")) {
      MILLRACE_TRY_ASSIGN(node.what, read_kernel());
      MILLRACE_TRY(read_operands(node));
    } else {
      MILLRACE_TRY_ASSIGN(const Op op, read_op());
      MILLRACE_TRY(read_operands(node));
      std::optional<DType> elements;
      if (!node.operands.empty()) elements = graph_.type(node.operands[0]).dtype;
      MILLRACE_TRY_ASSIGN(Attributes attributes, read_attributes(text_, op, elements, symbols_));
      if (op == Op::reshape && !node.operands.empty()) {
        std::vector<SizeExpr>& shape = std::get<ShapeAttrs>(attributes).shape;
        shape = with_found_dim(Shape(std::move(shape)), graph_.type(node.operands[0]).shape).dims();
      }
      node.what = OpNode{op, std::move(attributes)};
    }
    std::vector<TensorType> operands;
    for (const Value& operand : node.operands) operands.push_back(graph_.type(operand));
    Result<Inference> inferred = infer_node(node, operands);
    if (!inferred.ok()) {
      return text_.error(begin, fmt::format("{}: {}", kind_name(node), inferred.status().message()));
    }
    node.results = std::move(inferred->results);
    return check_types(node);
  }

  Result<Op> read_op() {
    const std::size_t begin = text_.position();
    const std::string_view name = text_.take_name();
    for (const Op op : kAllOps) {
      if (to_text(op) == name) return op;
    }
    NearName near(name);
    for (const Op op : kAllOps) near.consider(to_text(op));
    text_.move_to(begin);
    return text_.unexpected("expected an op, 'constant' or 'kernel'; " + near.remedy("'millrace ops' lists the ops"));
  }

  Result<KernelNode> read_kernel() {
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(const std::string name, text_.read_name("expected the kernel's name; write it"));
    NearName near(name);
    const CustomKernel* found = nullptr;
    for (const CustomKernel& kernel : kernels_) {
      near.consider(kernel.name);
      if (kernel.name != name) continue;
      if (found != nullptr && kernel != *found) {
        return text_.error(begin, fmt::format("found kernel {}, expected one of that name in ParseOptions::kernels, "
                                              "which has two; rename one",
                                              string_text(name)));
      }
      found = &kernel;
    }
    if (found != nullptr) return KernelNode{*found};
    return text_.error(begin, fmt::format("found kernel {}, expected one that the application gives as "
                                          "ParseOptions::kernels; {}",
                                          string_text(name), near.remedy("give it there, or use ops alone")));
  }

  Status read_operands(Node& node) {
    if (!text_.take("(")) return text_.unexpected("expected '('; write the operands in parentheses");
    if (text_.take(")")) return {};
    do {
      MILLRACE_TRY_ASSIGN(const Value operand, values_.read(text_));
      if (index_of(operand.node) < is_fixed_.size()) is_fixed_[index_of(operand.node)] = true;
      node.operands.push_back(operand);
    } while (text_.take(","));
    return text_.take(")") ? Status() : text_.unexpected("expected ',' or ')'; close the operands");
  }

  /// Checks the optional types after an operation.
  Status check_types(const Node& node) {
    if (!text_.take(":")) return {};
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (i > 0 && !text_.take(",")) {
        return text_.unexpected(fmt::format("expected ',' and the type of result {}; give all types or none", i));
      }
      const std::size_t begin = text_.position();
      MILLRACE_TRY_ASSIGN(const TensorType type, read_type(text_, symbols_));
      if (type == node.results[i]) continue;
      return text_.error(begin, fmt::format("found {}, expected {}, the result of {}; correct the type or leave it out",
                                            type.to_text(), node.results[i].to_text(), kind_name(node)));
    }
    return {};
  }

  Status read_constant(Node& node) {
    if (!text_.take("(")) return text_.unexpected("expected '('; write the elements in parentheses");
    if (text_.take_word("file")) return read_file_constant(node);
    const std::size_t begin = text_.position();
    // Skip the elements for now; reading them needs the type, which follows.
    MILLRACE_TRY(skip_elements(text_));
    text_.take(")");
    if (!text_.take(":")) return text_.unexpected("expected ':' and a type; say what the elements are");
    const std::size_t type_begin = text_.position();
    MILLRACE_TRY_ASSIGN(TensorType type, read_type(text_, symbols_));
    MILLRACE_TRY(check_limits(type_begin, type));
    if (!type.shape.is_static()) {
      return text_.error(type_begin, fmt::format("found {}, expected dims that are numbers, as it is a constant; give "
                                                 "numbers",
                                                 type.to_text()));
    }
    const std::size_t end = text_.position();
    text_.move_to(begin);
    MILLRACE_TRY_ASSIGN(std::vector<std::byte> bytes, read_elements(text_, type));
    text_.move_to(end);
    set_constant(node, {std::move(type), std::move(bytes)});
    return {};
  }

  Status read_file_constant(Node& node) {
    MILLRACE_TRY_ASSIGN(ConstantFiles::Constant constant, files_.read(text_));
    if (!text_.take(")")) return text_.unexpected("expected ')'; close the constant");
    set_constant(node, std::move(constant));
    return check_types(node);
  }

  static void set_constant(Node& node, ConstantFiles::Constant constant) {
    node.what = ConstantNode{std::move(constant.bytes)};
    node.results = {std::move(constant.type)};
  }

  Status read_outputs() {
    std::set<std::string> names;
    do {
      const std::size_t begin = text_.position();
      MILLRACE_TRY_ASSIGN(std::string name, text_.read_name("expected an output's name; name what is computed"));
      if (!names.insert(name).second) {
        return text_.error(begin, fmt::format("found output {} again, expected a name that is not taken; rename it",
                                              string_text(name)));
      }
      if (!text_.take("=")) return text_.unexpected("expected '='; say the output's value");
      MILLRACE_TRY_ASSIGN(const Value value, values_.read(text_));
      graph_.outputs.push_back({std::move(name), value});
    } while (text_.take(","));
    return text_.take("}") ? Status() : text_.unexpected("expected ',' or '}'; close the graph");
  }

  TextReader text_;
  const std::vector<CustomKernel>& kernels_;
  ConstantFiles files_;
  Graph graph_;
  std::map<std::string, Dim> symbols_;
  ValueNames values_;
  std::vector<NodeId> order_;   // the nodes in braces, in order
  std::vector<bool> is_fixed_;  // per input: it has been read, or has its own line
  bool has_placed_inputs_ = false;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const ParseOptions& options) {
  return guard_allocations([&] { return fmt::format("graph '{}'", printable(options.name)); },
                           [&]() -> Result<Graph> { return GraphParser(text, options).parse(); });
}

}  // namespace millrace
