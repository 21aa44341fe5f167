// SPDX-License-Identifier: Apache-2.0
// Builds graphs from C++: checks each node's operands, infers its type, and records the first mistake.
#include "millrace/graph/builder.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/build_or_fail.h"
#include "graph/infer.h"
#include "graph/named_dims.h"
#include "graph/variable_rules.h"
#include "graph/verify_built.h"
#include "millrace/base/printable.h"
#include "millrace/graph/text.h"
#include "millrace/jit/loop_kernel_builder.h"
#include "millrace/jit/scalar.h"
#include "millrace/ops/op_def.h"

namespace millrace {

bool Tensor::is_valid() const {
  if (builder_ == nullptr) return false;
  const Graph& graph = builder_->graph();
  return graph.nodes.contains(value_.node) && value_.result < graph.nodes[value_.node].results.size();
}

const TensorType& Tensor::type() const {
  static const TensorType kNone;
  return is_valid() ? builder_->graph().type(value_) : kNone;
}

GraphBuilder::GraphBuilder(std::string name) { graph_.name = std::move(name); }

Tensor GraphBuilder::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
  return {};
}

std::vector<Tensor> GraphBuilder::append(Node node) {
  const std::size_t results = node.results.size();
  if (source_name(node) == nullptr) node.scope = scope_;
  if (!function_.empty() && origin_ == nullptr) {
    origin_ = std::make_shared<const NodeOrigin>(NodeOrigin{std::string(function_)});
  }
  node.origin = origin_;
  const NodeId id = graph_.nodes.push_back(std::move(node));
  std::vector<Tensor> tensors;
  for (std::uint32_t i = 0; i < results; ++i) tensors.push_back(Tensor(this, {id, i}));
  return tensors;
}

bool GraphBuilder::accept(std::span<const Tensor> operands, const std::string& who) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].builder() != this || is_in_body(operands[i].value().node)) {
      return accept(operands[i], fmt::format("{}: operand {}", who, i));
    }
  }
  return true;
}

bool GraphBuilder::accept(Tensor tensor, const std::string& what) {
  if (tensor.builder() == this && !is_in_body(tensor.value().node)) return true;
  if (tensor.builder() == this) {
    fail(invalid_argument(fmt::format(
        "{} was made inside a loop or a branch that has ended; let the loop or the branch return it", what)));
    return false;
  }
  fail(invalid_argument(tensor.builder() == nullptr
                            ? fmt::format("{} is an empty tensor; use one that a builder returned", what)
                            : fmt::format("{} belongs to another graph; build both in one GraphBuilder", what)));
  return false;
}

namespace {

/// One element with the value, rounded to the dtype.
std::vector<std::byte> element_bytes(DType dtype, double value) {
  std::vector<std::byte> bytes(size_bytes(dtype));
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    const std::uint16_t bits = dtype == DType::kF16 ? Half(value).bits : BFloat16(value).bits;
    std::memcpy(bytes.data(), &bits, sizeof bits);
  } else {
    const Scalar scalar = Scalar::from_double(dtype, value);
    std::memcpy(bytes.data(), &scalar.bits, bytes.size());
  }
  return bytes;
}

}  // namespace

Tensor GraphBuilder::add_input(std::string name, DType dtype, Shape shape) {
  if (!status_.ok()) return {};
  const std::string who = next_text(fmt::format("input '{}'", printable(name)));
  if (!accept_outside(who)) return {};
  if (name.empty()) {
    return fail(invalid_argument(fmt::format("{}: the name is empty; give every input a name", who)));
  }
  if (is_name_taken(name)) {
    return fail(invalid_argument(fmt::format("{}: the name is taken; give every input its own", who)));
  }
  TensorType type{dtype, std::move(shape)};
  const std::string problem = broken_limit(type);
  if (!problem.empty()) return fail(invalid_argument(fmt::format("{}: the type {}", who, problem)));
  source_names_.insert(name);
  graph_.inputs.push_back(NodeId(graph_.nodes.size()));
  return append({InputNode{std::move(name)}, {}, {std::move(type)}})[0];
}

Tensor GraphBuilder::add_constant(TensorType type, SharedBytes bytes) {
  if (!status_.ok()) return {};
  const std::string who = next_text("constant");
  const std::string problem = broken_limit(type);
  if (!problem.empty()) return fail(invalid_argument(fmt::format("{}: the type {}", who, problem)));
  if (!type.shape.is_static()) {
    return fail(invalid_argument(
        fmt::format("{}: the type is {}, expected dims that are numbers; give numbers", who, type.to_text())));
  }
  if (!size_bytes(type).is(static_cast<std::int64_t>(bytes.size()))) {
    return fail(invalid_argument(fmt::format("{}: {} bytes given, expected {} for {}; give every element once", who,
                                             bytes.size(), size_bytes(type).to_text(), type.to_text())));
  }
  return append({ConstantNode{std::move(bytes)}, {}, {std::move(type)}})[0];
}

Tensor GraphBuilder::add_variable(std::string name, TensorType type, SharedBytes initial) {
  if (!status_.ok()) return {};
  const std::string who = next_text(fmt::format("variable '{}'", printable(name)));
  if (!accept_outside(who)) return {};
  if (name.empty()) {
    return fail(invalid_argument(fmt::format("{}: the name is empty; give every variable a name", who)));
  }
  if (is_name_taken(name)) {
    return fail(invalid_argument(fmt::format("{}: the name is taken; give every variable its own", who)));
  }
  const std::string problem = variable_problem(type, initial.size());
  if (!problem.empty()) return fail(invalid_argument(fmt::format("{}: {}", who, problem)));
  source_names_.insert(name);
  return append({VariableNode{std::move(name), std::move(initial)}, {}, {std::move(type)}})[0];
}

Tensor GraphBuilder::add_update(Tensor variable, Tensor value) {
  if (!status_.ok() || !accept(variable, "update: the variable") || !accept(value, "update: the value")) return {};
  if (!accept_outside("update of " + value_text(graph_, variable.value()))) return {};
  const GraphUpdate update{variable.value().node, value.value()};
  const std::string problem = update_problem(graph_, update, graph_.updates);
  if (!problem.empty()) return fail(invalid_argument(problem));
  graph_.updates.push_back(update);
  return {};
}

Tensor GraphBuilder::add_fill(DType dtype, Shape shape, double value) {
  const std::string problem = broken_limit({dtype, shape});
  if (!problem.empty()) {
    return fail(invalid_argument(fmt::format("{}: the type {}", next_text("fill"), problem)));
  }
  Tensor scalar = constant_bytes({dtype, {}}, element_bytes(dtype, value));
  if (!scalar.is_valid() || shape.rank() == 0) return scalar;
  return op1(Op::broadcast, {scalar}, BroadcastAttrs{shape.dims(), {}});
}

std::vector<Tensor> GraphBuilder::add_op(Op op, std::span<const Tensor> operands, Attributes attributes) {
  if (!is_known(op)) {
    return {fail(invalid_argument(fmt::format("{}, expected less than {}; use a name of Op",
                                              next_text(fmt::format("op number {}", static_cast<unsigned>(op))),
                                              std::size(kAllOps))))};
  }
  const std::string who = next_text(to_text(op));
  std::vector<Tensor> none(static_cast<std::size_t>(info(op).num_results));
  if (!status_.ok() || !accept(operands, who)) return none;
  Node node{OpNode{op, std::move(attributes)}, {}, {}};
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) {
    node.operands.push_back(operand.value());
    types.push_back(operand.type());
  }
  Result<Inference> inferred = infer_node(node, types);
  if (!inferred.ok()) {
    fail({inferred.status().code(), fmt::format("{}: {}", who, inferred.status().message())});
    return none;
  }
  node.results = std::move(inferred->results);
  return append(std::move(node));
}

Tensor GraphBuilder::op1(Op which, std::initializer_list<Tensor> operands, Attributes attributes) {
  const std::vector<Tensor> tensors = op(which, std::span(operands.begin(), operands.size()), std::move(attributes));
  return tensors.empty() ? Tensor() : tensors[0];
}

Tensor GraphBuilder::add_custom(CustomKernel kernel, std::span<const Tensor> operands) {
  const std::string who = next_text("kernel " + printable(kernel.name));
  if (!status_.ok() || !accept(operands, who)) return {};
  Node node{KernelNode{std::move(kernel)}, {}, {}};
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) {
    node.operands.push_back(operand.value());
    types.push_back(operand.type());
  }
  Result<Inference> inferred = infer_node(node, types);
  if (!inferred.ok()) return fail({inferred.status().code(), fmt::format("{}: {}", who, inferred.status().message())});
  node.results = std::move(inferred->results);
  return append(std::move(node))[0];
}

std::vector<Tensor> GraphBuilder::add_nest(Result<LoopKernel> nest, std::span<const Tensor> inputs,
                                           const std::string& who) {
  const auto refuse = [&](const Status& status) {
    fail({status.code(), fmt::format("{}: {}", who, status.message())});
    return std::vector<Tensor>();
  };
  if (!nest.ok()) return refuse(nest.status());
  Node node{NestNode{std::make_shared<const LoopKernel>(*std::move(nest))}, {}, {}};
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) {
    node.operands.push_back(input.value());
    types.push_back(input.type());
  }
  Result<Inference> inferred = infer_node(node, types);
  if (!inferred.ok()) return refuse(inferred.status());
  node.results = std::move(inferred->results);
  return append(std::move(node));
}

Tensor GraphBuilder::add_output(std::string name, Tensor tensor) {
  const std::string who = fmt::format("output '{}'", printable(name));
  if (!status_.ok() || !accept(tensor, fmt::format("{}: the tensor", who)) || !accept_outside(who)) return {};
  if (name.empty()) return fail(invalid_argument("output '': the name is empty; give every output a name"));
  if (!output_names_.insert(name).second) {
    return fail(invalid_argument(fmt::format("{}: the name is taken; give every output its own", who)));
  }
  graph_.outputs.push_back({std::move(name), tensor.value()});
  return {};
}

Result<Graph> GraphBuilder::take_graph() {
  if (!status_.ok()) return status_;
  if (!open_.empty()) {
    return invalid_argument(
        fmt::format("graph '{}': finish() is called inside a loop or a branch; call it after the loop or the branch",
                    printable(graph_.name)));
  }
  Graph graph = std::move(graph_);
  drop_body_nodes(graph);
  graph_ = Graph{};
  graph_.name = graph.name;
  scope_.reset();
  fail(failed_precondition(fmt::format("graph '{}' is finished; start another GraphBuilder", printable(graph.name))));
  MILLRACE_TRY(verify_built(graph));
  MILLRACE_TRY(collect_live_symbols(graph).status());
  return graph;
}

// The public functions.

std::string_view plain_name(const std::source_location& function) {
  const std::string_view whole = function.function_name();
  const std::string_view front = whole.substr(0, whole.find('('));  // "millrace::Tensor millrace::softmax"
  return front.substr(front.find_last_of(" :") + 1);
}

std::vector<Tensor> or_invalid(std::vector<Tensor> tensors, std::size_t count) {
  if (tensors.size() == count) return tensors;
  using Tensors = Result<std::vector<Tensor>>;
  Tensors made = guard_allocations([&]() -> Tensors { return std::vector<Tensor>(count); });
  return made.ok() ? *std::move(made) : std::vector<Tensor>();
}

Tensor GraphBuilder::input(std::string name, DType dtype, Shape shape) {
  return build_or_fail(this, [&] { return add_input(std::move(name), dtype, std::move(shape)); });
}

Tensor GraphBuilder::constant_bytes(TensorType type, std::span<const std::byte> bytes) {
  return build_or_fail(this, [&] { return add_constant(std::move(type), SharedBytes(bytes)); }, bytes.size());
}

Tensor GraphBuilder::constant_shared(TensorType type, SharedBytes bytes) {
  return build_or_fail(this, [&] { return add_constant(std::move(type), std::move(bytes)); });
}

Tensor GraphBuilder::variable(std::string name, TensorType type, double initial) {
  return build_or_fail(this, [&] {
    const DType dtype = type.dtype;
    return add_variable(std::move(name), std::move(type), element_bytes(dtype, initial));
  });
}

Tensor GraphBuilder::variable_bytes(std::string name, TensorType type, std::span<const std::byte> initial) {
  const auto add = [&] { return add_variable(std::move(name), std::move(type), SharedBytes(initial)); };
  return build_or_fail(this, add, initial.size());
}

Tensor GraphBuilder::variable_shared(std::string name, TensorType type, SharedBytes initial) {
  return build_or_fail(this, [&] { return add_variable(std::move(name), std::move(type), std::move(initial)); });
}

void GraphBuilder::update(Tensor variable, Tensor value) {
  build_or_fail(this, [&] { return add_update(variable, value); });
}

Tensor GraphBuilder::fill(DType dtype, Shape shape, double value) {
  return build_or_fail(this, [&] { return add_fill(dtype, std::move(shape), value); });
}

std::vector<Tensor> GraphBuilder::op(Op op, std::span<const Tensor> operands, Attributes attributes) {
  const std::size_t num_results = is_known(op) ? static_cast<std::size_t>(info(op).num_results) : 1;
  std::vector<Tensor> results = build_or_fail(
      this, [&] { return add_op(op, operands, std::move(attributes)); }, 0, is_known(op) ? to_text(op) : "op");
  return or_invalid(std::move(results), num_results);
}

Tensor GraphBuilder::custom(CustomKernel kernel, std::initializer_list<Tensor> operands) {
  return build_or_fail(this,
                       [&] { return add_custom(std::move(kernel), std::span(operands.begin(), operands.size())); });
}

Tensor GraphBuilder::custom(CustomKernel (*make)(std::string), std::string name,
                            std::initializer_list<Tensor> operands) {
  return build_or_fail(this, [&] { return custom(make(std::move(name)), operands); });
}

KernelResults GraphBuilder::nest(std::string name, std::span<const Tensor> inputs, void* function, BuildNest build) {
  const auto add = [&]() -> KernelResults {
    const std::string who = next_text("kernel " + printable(name));
    if (!status_.ok() || !accept(inputs, who)) return {};
    LoopKernelBuilder kernel(std::move(name));
    std::vector<OperandId> operands;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      operands.push_back(kernel.operand(fmt::format("x{}", i), inputs[i].type()));
    }
    build(function, kernel, operands);
    return KernelResults(add_nest(kernel.finish_unverified(), inputs, who));
  };
  return build_or_fail(this, add, 0, "kernel");
}

KernelResults GraphBuilder::kernel(LoopKernel nest, std::vector<Tensor> inputs) {
  return build_or_fail(this, [&]() -> KernelResults {
    const std::string who = next_text("kernel " + printable(nest.name));
    if (!status_.ok() || !accept(inputs, who)) return {};
    return KernelResults(add_nest(std::move(nest), inputs, who));
  });
}

Tensor KernelResults::operator[](std::size_t result) const {
  if (result < results_.size()) return results_[result];
  if (results_.empty() || !results_[0].is_valid()) return {};
  GraphBuilder& graph = *results_[0].builder();
  const std::string who = node_text(graph.graph(), results_[0].value().node);
  return graph.fail(invalid_argument(
      fmt::format("{}: result {}, expected less than {}, the number of its stores", who, result, results_.size())));
}

KernelResults::operator Tensor() const {
  if (results_.size() <= 1) return (*this)[0];
  if (!results_[0].is_valid()) return {};
  GraphBuilder& graph = *results_[0].builder();
  const std::string who = node_text(graph.graph(), results_[0].value().node);
  return graph.fail(invalid_argument(
      fmt::format("{}: {} results are used as one tensor; choose one by its number", who, results_.size())));
}

void GraphBuilder::output(std::string name, Tensor tensor) {
  build_or_fail(this, [&] { return add_output(std::move(name), tensor); });
}

Result<Graph> GraphBuilder::finish() {
  return guard_allocations([&] { return take_graph(); });
}

}  // namespace millrace
