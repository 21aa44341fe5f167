// SPDX-License-Identifier: Apache-2.0
// Imports nodes one by one. If a node fails, its problem is noted and the other nodes are still imported, so that one
// attempt finds every problem.
#include <array>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/import/onnx/custom_op.h"
#include "graph/import/onnx/fold_tensor.h"
#include "graph/import/onnx/import_state.h"
#include "graph/import/onnx/names.h"
#include "graph/import/onnx/node_context.h"
#include "graph/import/onnx/op_table.h"
#include "millrace/base/printable.h"

namespace millrace {

std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

std::string node_path(const OnnxScope& scope, const NodeProto& node, std::size_t index) {
  return fmt::format("{}.node[{}] ({} '{}')", scope.path, index, printable(node.op_type), printable(node.name));
}

const OnnxValue* OnnxScope::find(std::string_view name) const {
  for (const OnnxScope* scope = this; scope != nullptr; scope = scope->outer) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

namespace {

constexpr std::int64_t kMaxDefaultVersion = 28;

std::string domain_text(std::string_view domain) { return domain.empty() ? "ai.onnx" : printable(domain); }

class NodeImporter {
 public:
  NodeImporter(OnnxImport& import, OnnxScope& scope, const NodeProto& node, std::size_t index)
      : import_(import), scope_(scope), node_(node), index_(index), domain_(plain_domain(node.domain)) {
    const auto version = scope.opsets->find(domain_);
    if (version != scope.opsets->end()) version_ = version->second;
  }

  /// Fails only if memory runs out, or if the whole model must be refused.
  Status import() {
    for (const AttributeProto& attribute : node_.attribute) {
      if (scope_.call != nullptr || attribute.ref_attr_name.empty()) continue;
      note_problem(fmt::format(".attribute '{}': refers to the attribute '{}' of a function, outside any function",
                               printable(attribute.name), printable(attribute.ref_attr_name)));
      return define_failed();
    }
    Result<OnnxResults> results = import_results();
    if (!results.ok() && is_plain_out_of_memory(results)) return results.status();
    if (const Status mistake = import_.graph.take_mistake(); !mistake.ok() && results.ok()) {
      if (is_plain_out_of_memory(mistake)) return mistake;
      results = Status(mistake.code(), ": " + mistake.message());
    }
    if (!results.ok()) {
      note_problem(results.status().message());
      return define_failed();
    }
    return define(std::move(results->values()));
  }

 private:
  void note_problem(const std::string& reason) {
    if (reason.empty()) return;  // the problem of another node caused this one
    import_.problems.push_back({node_path(scope_, node_, index_), reason,
                                fmt::format("{} {}", domain_text(domain_), version_.value_or(0)),
                                std::string(node_.op_type)});
  }

  /// How the node is imported, decided before its operands are looked at.
  struct Way {
    const FunctionProto* function = nullptr;
    const OnnxCustomOp* custom = nullptr;
    const OnnxOp* op = nullptr;
  };
  Result<Way> find_way() const {
    const auto function = import_.functions.find({domain_, node_.op_type, node_.overload});
    if (function != import_.functions.end()) return Way{.function = function->second};
    if (!version_) {
      return invalid_argument(fmt::format(": the model imports no version of the domain {}", domain_text(domain_)));
    }
    for (const OnnxCustomOp& custom : import_.options.custom_ops) {
      const bool is_it = plain_domain(custom.domain) == domain_ && custom.name == node_.op_type;
      if (is_it && *version_ >= custom.since_version) return Way{.custom = &custom};
    }
    if (!domain_.empty()) {
      return unimplemented(
          fmt::format(": the domain {} is not known; give the op as a custom op", domain_text(domain_)));
    }
    const OnnxOp* op = find_onnx_op(node_.op_type);
    if (op == nullptr) return unimplemented(": the op is not supported");
    if (*version_ > kMaxDefaultVersion || *version_ < op->since_version) {
      return unimplemented(fmt::format(": found version {} of the domain, expected {} to {}", *version_,
                                       op->since_version, kMaxDefaultVersion));
    }
    return Way{.op = op};
  }

  Result<std::vector<const OnnxValue*>> find_operands() const {
    static const OnnxValue kOmitted;
    std::vector<const OnnxValue*> operands;
    bool has_failed = false;
    for (std::size_t i = 0; i < node_.input.size(); ++i) {
      if (node_.input[i].empty()) {
        operands.push_back(&kOmitted);
        continue;
      }
      const OnnxValue* value = scope_.find(node_.input[i]);
      if (value == nullptr) {
        return invalid_argument(
            fmt::format(".input[{}]: '{}' is not the result of an earlier node", i, printable(node_.input[i])));
      }
      has_failed = has_failed || value->is_failed();
      operands.push_back(value);
    }
    if (has_failed) return invalid_argument("");
    return operands;
  }

  Result<OnnxResults> import_results() {
    MILLRACE_TRY_ASSIGN(const Way way, find_way());
    MILLRACE_TRY_ASSIGN(const std::vector<const OnnxValue*> operands, find_operands());
    const OnnxNodeNames names(import_.graph, node_);
    if (way.function != nullptr) {
      MILLRACE_TRY_ASSIGN(std::vector<OnnxValue> values, call(*way.function, operands));
      return OnnxResults(std::move(values));
    }
    const std::shared_ptr<const std::string> unknown = find_unknown(operands);
    OnnxNodeContext context(import_, scope_, node_, index_, *version_, operands);
    if (way.custom != nullptr) return import_custom_op(context, *way.custom);
    if (*version_ < 6) context.ignore_attribute("consumed_inputs");  // a hint about memory
    const GraphBuilder::OpenFunction function(import_.graph, way.op->name);
    MILLRACE_TRY_ASSIGN(OnnxResults results, way.op->import(context));
    MILLRACE_TRY(context.check_all_read());
    for (OnnxValue& value : results.values()) {
      MILLRACE_TRY(fold(value));
      if (value.tensor() != nullptr && value.unknown() == nullptr) value = std::move(value).because(unknown);
    }
    return results;
  }

  /// Folds integers and bools that are computed from constants, as shapes, axes and indices often are.
  Status fold(OnnxValue& value) const {
    const Tensor* tensor = value.tensor();
    if (tensor == nullptr || !tensor->is_valid()) return {};
    const DType dtype = tensor->dtype();
    if (dtype != DType::kI64 && dtype != DType::kI32 && dtype != DType::kBool) return {};
    MILLRACE_TRY_ASSIGN(std::optional<OnnxConstant> constant, fold_tensor(*tensor, import_.folding));
    if (constant) value = OnnxValue(*std::move(constant));
    return {};
  }

  static std::shared_ptr<const std::string> find_unknown(const std::vector<const OnnxValue*>& operands) {
    for (const OnnxValue* operand : operands) {
      if (operand->unknown() != nullptr) return operand->unknown();
    }
    return nullptr;
  }

  Result<std::vector<OnnxValue>> call(const FunctionProto& function, const std::vector<const OnnxValue*>& operands) {
    std::vector<OnnxValue> values;
    for (const OnnxValue* operand : operands) values.push_back(*operand);
    OnnxCallAttributes attributes;
    for (const AttributeProto& attribute : node_.attribute) {
      OnnxCallAttribute resolved{&attribute, &scope_};
      if (!attribute.ref_attr_name.empty()) {
        if (scope_.call == nullptr) continue;
        const auto found = scope_.call->find(attribute.ref_attr_name);
        if (found == scope_.call->end()) continue;
        resolved = found->second;
      }
      attributes.emplace(attribute.name, resolved);
    }
    return import_call(import_, function, std::move(attributes), node_path(scope_, node_, index_), std::move(values));
  }

  Status define(std::vector<OnnxValue> values) {
    for (std::size_t i = 0; i < node_.output.size(); ++i) {
      const std::string_view name = node_.output[i];
      if (name.empty()) continue;
      if (i >= values.size() || values[i].is_omitted()) {
        if (!import_.read_names.contains(name)) continue;
        note_problem(fmt::format(".output[{}]: found '{}', but the op has no such result here", i, printable(name)));
        values.resize(std::max(values.size(), i + 1));
        values[i] = OnnxValue::failed();
      }
      if (const Tensor* tensor = values[i].tensor(); tensor != nullptr && !tensor->is_valid()) {
        note_problem(": an op has no result");
        values[i] = OnnxValue::failed();
      }
      name_result(node_, name, values[i]);
      if (!scope_.values.emplace(name, std::move(values[i])).second) {
        note_problem(fmt::format(".output[{}]: '{}' is the name of an earlier value", i, printable(name)));
      }
    }
    return {};
  }

  Status define_failed() {
    for (const std::string_view name : node_.output) {
      if (!name.empty()) scope_.values.emplace(name, OnnxValue::failed());
    }
    return {};
  }

  OnnxImport& import_;
  OnnxScope& scope_;
  const NodeProto& node_;
  std::size_t index_;
  std::string_view domain_;
  std::optional<std::int64_t> version_;
};

}  // namespace

Status import_nodes(OnnxImport& import, OnnxScope& scope, std::span<const NodeProto> nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (import.num_nodes == import.max_nodes) {
      import.problems.push_back({scope.path, fmt::format(": found more than {} nodes, counting those of functions and "
                                                         "bodies once per use; a file of this size may have no more",
                                                         import.max_nodes)});
    }
    if (import.num_nodes < import.max_nodes && import.graph.graph().nodes.size() > import.max_graph_nodes) {
      import.problems.push_back({scope.path, fmt::format(": builds more than {} nodes of the graph, counting those of "
                                                         "functions and bodies once per use; a file of this size may "
                                                         "have no more",
                                                         import.max_graph_nodes)});
      import.num_nodes = import.max_nodes;
    }
    if (++import.num_nodes > import.max_nodes) return invalid_argument("");
    MILLRACE_TRY(NodeImporter(import, scope, nodes[i], i).import());
  }
  return {};
}

}  // namespace millrace
