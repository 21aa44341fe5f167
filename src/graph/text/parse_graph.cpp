// SPDX-License-Identifier: Apache-2.0
// The parser of graphs: reads the grammar of graph/text.h and builds the nodes as it goes.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/control_rules.h"
#include "graph/infer.h"
#include "graph/text/append_op.h"
#include "graph/text/read_attributes.h"
#include "graph/text/read_called.h"
#include "graph/text/read_constant.h"
#include "graph/text/read_type.h"
#include "graph/text/reorder_nodes.h"
#include "graph/text/value_names.h"
#include "graph/variable_rules.h"
#include "jit/ir/read_loop_kernel.h"
#include "millrace/base/printable.h"
#include "millrace/graph/text.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

/// The state that a text's graph shares with the bodies inside it.
struct ParsedText {
  ParsedText(std::string_view text_given, const ParseOptions& options)
      : text(options.name, text_given), kernels(options.kernels), files(options.directory) {}
  TextReader text;
  const std::vector<CustomKernel>& kernels;
  ConstantFiles files;
  std::map<std::string, Dim> symbols;
};

class GraphParser {
 public:
  /// `depth` is the number of bodies around the graph.
  explicit GraphParser(ParsedText& parsed, std::size_t depth = 0)
      : parsed_(parsed), text_(parsed.text), files_(parsed.files), symbols_(parsed.symbols), depth_(depth) {
    graph_.is_body = depth > 0;
  }

  /// Parses a text that consists of one graph.
  Result<Graph> parse() {
    MILLRACE_TRY_ASSIGN(Graph graph, read_graph());
    if (!text_.at_end()) return text_.unexpected("expected the end of the text; keep one graph in a text");
    MILLRACE_TRY(check(graph));
    return graph;
  }

 private:
  Result<Graph> read_graph() {
    if (!text_.take_word("graph")) return text_.unexpected("expected 'graph'; begin with graph <name>(<inputs>) {");
    begin_ = text_.position();
    MILLRACE_TRY(read_header());
    while (!text_.take_word("return")) MILLRACE_TRY(read_statement());
    MILLRACE_TRY(read_outputs());
    return has_placed_inputs_ ? reorder_nodes(std::move(graph_), order_) : std::move(graph_);
  }

  Status check(const Graph& graph) const {
    const Status status = unguarded(verify(graph));
    return status.ok() ? status : text_.error(begin_, status.message());
  }

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
    MILLRACE_TRY(expect_no_scope(text_, value, "an input"));
    if (!text_.take(":")) return text_.unexpected("expected ':'; say the input's type");
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(TensorType type, read_type(text_, symbols_));
    MILLRACE_TRY(check_limits(text_, begin, type));
    MILLRACE_TRY(values_.define(text_, value, {NodeId(graph_.nodes.size()), 0}));
    graph_.inputs.push_back(graph_.nodes.push_back({InputNode{std::move(value.name)}, {}, {std::move(type)}}));
    return {};
  }

  Status read_statement() {
    if (text_.take_word("input")) return read_place();
    if (text_.take_word("update")) return read_update();
    if (text_.rest().starts_with('%')) return read_node();
    return text_.unexpected(
        "expected a node, 'input', 'update' or 'return'; begin a node with the names of its results, such as %y");
  }

  /// Reads the rest of "update %variable = %value".
  Status read_update() {
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(const Value variable, values_.read(text_));
    if (!text_.take("=")) return text_.unexpected("expected '='; say the variable's new value");
    MILLRACE_TRY_ASSIGN(const Value value, values_.read(text_));
    const GraphUpdate update{variable.node, value};
    const std::string problem = update_problem(graph_, update, graph_.updates);
    if (!problem.empty()) return text_.error(begin, problem);
    graph_.updates.push_back(update);
    return {};
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
                                  : "expected one place per input, before its readers; move the line up or remove it");
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
    const auto first = NodeId(graph_.nodes.size());
    std::string what;  // for messages
    MILLRACE_TRY_ASSIGN(const std::vector<Value> values, read_operation(what));
    if (names.size() != values.size()) {
      return text_.error(names[0].begin,
                         fmt::format("found {} name{}, expected {} for the results of {}; name each once", names.size(),
                                     names.size() == 1 ? "" : "s", values.size(), what));
    }
    for (std::size_t i = 0; i < names.size(); ++i) MILLRACE_TRY(values_.define(text_, names[i], values[i]));
    MILLRACE_TRY_ASSIGN(const std::optional<ScopeId> scope, find_scope(names));
    for (auto id = first; index_of(id) < graph_.nodes.size(); id = NodeId{index_of(id) + 1}) {
      order_.push_back(id);
      Node& node = graph_.nodes[id];
      if (auto* variable = std::get_if<VariableNode>(&node.what)) {
        MILLRACE_TRY(expect_no_scope(text_, names[0], "a variable"));
        variable->name = names[0].name;
        continue;
      }
      node.scope = scope;
      name_results(id, names, values);
    }
    return {};
  }

  /// The scope of a node: the names of all its results must have the same one.
  Result<std::optional<ScopeId>> find_scope(const std::vector<ValueName>& names) {
    for (const ValueName& name : names) {
      if (name.scopes == names[0].scopes) continue;
      return text_.error(name.begin, fmt::format("found '{}', expected the scope of '{}', the node's first result; "
                                                 "correct it",
                                                 name.spelling, names[0].spelling));
    }
    std::optional<ScopeId> scope;
    for (const std::string& name : names[0].scopes) scope = graph_.scopes.find_or_add(scope, name);
    return scope;
  }

  /// Stores the names of a new node's results in the node. A result that the text only numbers has no name.
  void name_results(NodeId id, const std::vector<ValueName>& names, const std::vector<Value>& values) {
    Node& node = graph_.nodes[id];
    std::vector<std::string> own(node.results.size());
    for (std::uint32_t i = 0; i < node.results.size(); ++i) {
      const auto found = std::ranges::find(values, Value{id, i});
      if (found == values.end()) continue;
      const ValueName& name = names[static_cast<std::size_t>(found - values.begin())];
      if (!name.is_number) own[i] = name.name;
    }
    const bool is_named = std::ranges::any_of(own, [](const std::string& name) { return !name.empty(); });
    if (is_named) node.names = std::move(own);
  }

  /// Appends the operation's nodes. Returns its results.
  Result<std::vector<Value>> read_operation(std::string& what) {
    const std::size_t begin = text_.position();
    if (text_.take_word("constant")) {
      MILLRACE_TRY_ASSIGN(ConstantFiles::Constant constant, read_constant({text_, files_, symbols_}));
      return append_constant(std::move(constant), begin, what);
    }
    if (text_.take_word("variable")) {
      MILLRACE_TRY_ASSIGN(ConstantFiles::Constant constant, read_variable({text_, files_, symbols_}, graph_.is_body));
      return append({VariableNode{{}, std::move(constant.bytes)}, {}, {std::move(constant.type)}}, what);
    }
    if (text_.take_word("kernel")) {
      if (text_.rest().starts_with('(')) return read_nest(begin, what);
      MILLRACE_TRY_ASSIGN(KernelNode kernel, read_kernel(text_, parsed_.kernels));
      MILLRACE_TRY_ASSIGN(std::vector<Value> operands, read_operands());
      return infer({std::move(kernel), std::move(operands), {}}, begin, what);
    }
    if (text_.take_word("while")) {
      MILLRACE_TRY_ASSIGN(std::vector<Value> operands, read_operands());
      LoopNode loop;
      MILLRACE_TRY(read_bodies("while", begin, {&loop.body}));
      return infer({std::move(loop), std::move(operands), {}}, begin, what);
    }
    if (text_.take_word("if")) {
      MILLRACE_TRY_ASSIGN(std::vector<Value> operands, read_operands());
      CondNode cond;
      MILLRACE_TRY(read_bodies("if", begin, {&cond.if_true, &cond.if_false}));
      return infer({std::move(cond), std::move(operands), {}}, begin, what);
    }
    MILLRACE_TRY_ASSIGN(const Called called, read_called(text_));
    MILLRACE_TRY_ASSIGN(CallOperands operands, read_call_operands(&called));
    what = called.name;
    std::optional<DType> elements;
    if (!operands.values.empty()) elements = graph_.type(operands.values[0]).dtype;
    const FieldSource fields{text_, what, elements, symbols_};
    const OperationPlace place{text_, begin, what};
    if (called.is_composite(operands.count())) {
      return checked(append_composite(graph_, *called.composite, operands, fields, place), what);
    }
    MILLRACE_TRY_ASSIGN(Attributes attributes, read_attributes(*called.op, fields, place));
    if (needs_function(graph_, *called.op, operands)) {
      return checked(append_function(graph_, *called.op, operands, place), what);
    }
    complete_attributes(attributes, graph_, operands.values);
    return infer({OpNode{*called.op, std::move(attributes)}, std::move(operands.values), {}}, begin, what);
  }

  /// Reads the rest of "kernel(%x) { loop_kernel ... }".
  Result<std::vector<Value>> read_nest(std::size_t begin, std::string& what) {
    MILLRACE_TRY_ASSIGN(std::vector<Value> operands, read_operands());
    if (!text_.take("{")) return text_.unexpected("expected '{'; write the loop nest of the kernel in braces");
    MILLRACE_TRY_ASSIGN(LoopKernel nest, read_loop_kernel(text_));
    if (!text_.take("}")) return text_.unexpected("expected '}'; close the kernel");
    NestNode own{std::make_shared<const LoopKernel>(std::move(nest))};
    return infer({std::move(own), std::move(operands), {}}, begin, what);
  }

  /// Checks the optional types that follow an operation against the appended values.
  Result<std::vector<Value>> checked(Result<std::vector<Value>> values, std::string_view what) {
    if (values.ok()) MILLRACE_TRY(check_types(*values, what));
    return values;
  }

  Status read_bodies(std::string_view what, std::size_t begin,
                     std::initializer_list<std::shared_ptr<const Graph>*> bodies) {
    if (depth_ == kMaxControlDepth) return text_.error(begin, too_deep(what));
    if (!text_.take("{")) {
      return text_.unexpected(fmt::format("expected '{{'; write {} in braces", bodies.size() == 1
                                                                                   ? "the graph of the body"
                                                                                   : "the graphs of both branches"));
    }
    for (std::shared_ptr<const Graph>* body : bodies) {
      GraphParser parser(parsed_, depth_ + 1);
      MILLRACE_TRY_ASSIGN(Graph graph, parser.read_graph());
      MILLRACE_TRY(parser.check(graph));
      *body = std::make_shared<const Graph>(std::move(graph));
    }
    return text_.take("}") ? Status() : text_.unexpected("expected '}'; close the bodies");
  }

  /// Appends a node that computes something; its operands determine its results.
  Result<std::vector<Value>> infer(Node node, std::size_t begin, std::string& what) {
    std::vector<TensorType> operands;
    for (const Value& operand : node.operands) operands.push_back(graph_.type(operand));
    Result<Inference> inferred = infer_node(node, operands);
    if (!inferred.ok()) {
      return text_.error(begin, fmt::format("{}: {}", kind_name(node), inferred.status().message()));
    }
    node.results = std::move(inferred->results);
    MILLRACE_TRY_ASSIGN(std::vector<Value> values, append(std::move(node), what));
    MILLRACE_TRY(check_types(values, what));
    return values;
  }

  /// If one element stands for all, appends a scalar and a broadcast.
  Result<std::vector<Value>> append_constant(ConstantFiles::Constant constant, std::size_t begin, std::string& what) {
    const TensorType type = constant.type;
    const bool stands_for_all = constant.bytes.size() == size_bytes(type.dtype) && !type.shape.num_elements().is(1);
    if (stands_for_all) constant.type.shape = {};
    Node node{ConstantNode{std::move(constant.bytes)}, {}, {std::move(constant.type)}};
    MILLRACE_TRY_ASSIGN(std::vector<Value> values, append(std::move(node), what));
    if (!stands_for_all) return values;
    std::string unnamed;
    return infer({OpNode{Op::broadcast, BroadcastAttrs{type.shape.dims(), {}}}, std::move(values), {}}, begin, unnamed);
  }

  Result<std::vector<Value>> append(Node node, std::string& what) {
    what = kind_name(node);
    const auto count = static_cast<std::uint32_t>(node.results.size());
    const NodeId id = graph_.nodes.push_back(std::move(node));
    std::vector<Value> values;
    for (std::uint32_t i = 0; i < count; ++i) values.push_back({id, i});
    return values;
  }

  Result<std::vector<Value>> read_operands() {
    MILLRACE_TRY_ASSIGN(CallOperands operands, read_call_operands(nullptr));
    return std::move(operands.values);
  }

  /// Reads the operands in parentheses. They can be numbers only if `called` is given and accepts numbers.
  Result<CallOperands> read_call_operands(const Called* called) {
    if (!text_.take("(")) return text_.unexpected("expected '('; write the operands in parentheses");
    CallOperands operands;
    if (text_.take(")")) return operands;
    do {
      if (called != nullptr && called->takes_number(operands.count()) && begins_number(text_)) {
        if (operands.number) return text_.unexpected("expected a value, not a second number; define a constant");
        operands.number_position = operands.count();
        MILLRACE_TRY_ASSIGN(operands.number, read_literal(text_));
        continue;
      }
      MILLRACE_TRY_ASSIGN(const Value operand, values_.read(text_));
      if (index_of(operand.node) < is_fixed_.size()) is_fixed_[index_of(operand.node)] = true;
      operands.values.push_back(operand);
    } while (text_.take(","));
    if (!text_.take(")")) return text_.unexpected("expected ',' or ')'; close the operands");
    return operands;
  }

  /// Checks the optional types after an operation.
  Status check_types(const std::vector<Value>& values, std::string_view what) {
    if (!text_.take(":")) return {};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0 && !text_.take(",")) {
        return text_.unexpected(fmt::format("expected ',' and the type of result {}; give all types or none", i));
      }
      MILLRACE_TRY(read_same_type(text_, symbols_, graph_.type(values[i]), what));
    }
    return {};
  }

  Status read_outputs() {
    std::set<std::string> names;
    if ((!graph_.updates.empty() || graph_.is_body) && text_.take("}")) return {};
    do {
      const std::size_t begin = text_.position();
      MILLRACE_TRY_ASSIGN(std::string name, text_.read_name("expected an output's name; name what is computed"));
      if (!names.insert(name).second) {
        return text_.error(begin, fmt::format("found output {} again, expected a name that is not taken; rename it",
                                              printable(string_text(name))));
      }
      if (!text_.take("=")) return text_.unexpected("expected '='; say the output's value");
      MILLRACE_TRY_ASSIGN(const Value value, values_.read(text_));
      graph_.outputs.push_back({std::move(name), value});
    } while (text_.take(","));
    return text_.take("}") ? Status() : text_.unexpected("expected ',' or '}'; close the graph");
  }

  ParsedText& parsed_;
  TextReader& text_;
  std::size_t begin_ = 0;  // the position after the word "graph", for errors
  ConstantFiles& files_;
  std::map<std::string, Dim>& symbols_;
  std::size_t depth_;
  Graph graph_;
  ValueNames values_;
  std::vector<NodeId> order_;   // the nodes in braces, in order
  std::vector<bool> is_fixed_;  // per input: whether a node has read it, or it has its own line
  bool has_placed_inputs_ = false;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const ParseOptions& options) {
  return guard_allocations([&] { return fmt::format("graph '{}'", printable(options.name)); },
                           [&]() -> Result<Graph> {
                             ParsedText parsed(text, options);
                             return GraphParser(parsed).parse();
                           });
}

}  // namespace millrace
