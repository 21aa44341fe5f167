// SPDX-License-Identifier: Apache-2.0
// Imports the graph of a model: its inputs, its nodes and its outputs.
#include "graph/import/onnx/import_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/import/onnx/element_types.h"
#include "graph/import/onnx/import_state.h"
#include "graph/import/onnx/names.h"
#include "millrace/base/printable.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/passes.h"

namespace millrace {
namespace {

class ModelImporter {
 public:
  ModelImporter(const std::string& where, const std::string& path, const ModelProto& model, const OnnxOptions& options,
                std::set<std::string, std::less<>> sized_inputs)
      : where_(where), model_(model), graph_(*model.graph), import_(model, options, path) {
    import_.sized_inputs = std::move(sized_inputs);
    scope_.path = "graph";
    scope_.opsets = &opsets_;
  }

  Result<OnnxModel> import() {
    MILLRACE_TRY(read_sets());
    MILLRACE_TRY(add_initializers(import_, scope_, graph_));
    note_plain_dims();
    for (std::size_t i = 0; i < graph_.input.size(); ++i) MILLRACE_TRY(add_input(graph_.input[i], i));
    check_given_values();
    MILLRACE_TRY(import_all_nodes());
    OnnxModel result;
    for (std::size_t i = 0; i < graph_.output.size(); ++i) MILLRACE_TRY(add_output(graph_.output[i], i));
    MILLRACE_TRY(report_problems());
    Result<Graph> finished = import_.graph.finish();
    if (!finished.ok()) return Status(finished.status().code(), where_ + ": " + finished.status().message());
    result.graph = *std::move(finished);
    MILLRACE_TRY(drop_unused(result.graph));
    for (const NodeId input : result.graph.inputs) result.inputs.push_back(*source_name(result.graph.nodes[input]));
    for (const GraphOutput& output : result.graph.outputs) result.outputs.push_back(output.name);
    result.notes = import_.notes;
    result.files = import_.external.files();
    for (std::string& note : import_.dims.notes()) result.notes.push_back(std::move(note));
    return result;
  }

  /// The inputs whose elements decide shapes, including those given to the constructor.
  const std::set<std::string, std::less<>>& sized_inputs() const { return import_.sized_inputs; }

 private:
  Status read_sets() {
    for (const OperatorSetIdProto& set : model_.opset_import) {
      if (!opsets_.emplace(plain_domain(set.domain), set.version).second) {
        return data_loss(fmt::format("{}: the domain '{}' is imported twice", where_, printable(set.domain)));
      }
    }
    // Before IR version 3, models did not import operator sets: version 1 was the only one.
    if (model_.opset_import.empty()) opsets_.emplace("", 1);
    for (const FunctionProto& function : model_.functions) {
      if (!import_.functions
               .emplace(std::array{plain_domain(function.domain), function.name, function.overload}, &function)
               .second) {
        return data_loss(fmt::format("{}: the function '{}' is defined twice", where_, printable(function.name)));
      }
    }
    if (!model_.training_info.empty()) import_.notes.push_back("the model's training graphs are not imported");
    return {};
  }

  Status import_all_nodes() {
    Status imported = import_nodes(import_, scope_, graph_.node);
    if (imported.ok() || is_plain_out_of_memory(imported)) return imported;
    return report_problems();  // the model has too many nodes
  }

  /// Drops the operands of nodes that were folded into constants.
  Status drop_unused(Graph& graph) const {
    constexpr GraphPass kPass[] = {{"eliminate_dead_nodes", eliminate_dead_nodes}};
    const Result<std::vector<PassReport>> dropped = run_passes(graph, kPass, {.verify_each = false});
    if (dropped.ok()) return {};
    return Status(dropped.status().code(), where_ + ": " + dropped.status().message());
  }

  /// Whether the input stays an input of the graph, so that its shape binds symbols. Inputs that are initialized, given
  /// by the caller or replaced by dims do not.
  bool is_kept(const ValueInfoProto& input) const {
    return !scope_.values.contains(input.name) && !import_.options.values.contains(std::string(input.name)) &&
           !import_.sized_inputs.contains(input.name);
  }

  void note_plain_dims() {
    import_.dims.give(import_.options.dims);
    for (const ValueInfoProto& input : graph_.input) {
      if (!is_kept(input) || !input.type || !input.type->tensor_type || !input.type->tensor_type->shape) continue;
      for (const DimensionProto& dim : input.type->tensor_type->shape->dim) {
        if (dim.dim_param && !import_.options.dims.contains(std::string(*dim.dim_param))) {
          import_.dims.add_plain(*dim.dim_param);
        }
      }
    }
  }

  void note_problem(std::string path, std::string reason) {
    import_.problems.push_back({std::move(path), std::move(reason)});
  }

  Result<TensorType> type_of(const ValueInfoProto& info) {
    if (!info.type || !info.type->tensor_type) {
      return unimplemented(": is not a tensor; sequences, maps, optionals and sparse tensors are not supported here");
    }
    const TensorTypeProto& tensor = *info.type->tensor_type;
    const std::optional<DType> dtype = dtype_of_onnx(tensor.elem_type);
    if (!dtype) {
      return unimplemented(fmt::format(": elements of {} are not supported here", onnx_type_name(tensor.elem_type)));
    }
    if (!tensor.shape) return unimplemented(": has no shape, not even a rank; give its value, or save it with a shape");
    if (tensor.shape->dim.size() > kMaxRank) {
      return unimplemented(fmt::format(": has rank {}, expected at most {}", tensor.shape->dim.size(), kMaxRank));
    }
    std::vector<SizeExpr> dims;
    for (std::size_t axis = 0; axis < tensor.shape->dim.size(); ++axis) {
      Result<SizeExpr> dim = import_.dims.size_of(tensor.shape->dim[axis], info.name, axis);
      if (!dim.ok()) return data_loss(fmt::format(": dim {} {}", axis, dim.status().message()));
      dims.push_back(*std::move(dim));
    }
    return TensorType{*dtype, Shape(std::move(dims))};
  }

  Status add_input(const ValueInfoProto& input, std::size_t index) {
    const auto known = scope_.values.find(input.name);
    const auto given = import_.options.values.find(std::string(input.name));
    const std::string path = fmt::format("graph.input[{}] '{}'", index, printable(input.name));
    if (given != import_.options.values.end()) {
      check_given_type(input, given->second.type, path);
      scope_.values.insert_or_assign(input.name, OnnxValue(given->second));
      return {};
    }
    if (known != scope_.values.end() && known->second.tensor() == nullptr) return {};  // an initializer
    Result<TensorType> type = type_of(input);
    if (!type.ok()) {
      note_problem(path, type.status().message());
      scope_.values.insert_or_assign(input.name, OnnxValue::failed());
      return {};
    }
    if (import_.sized_inputs.contains(input.name)) {
      scope_.values.insert_or_assign(input.name, OnnxValue(sizes_of_input(input.name, *type)));
      return {};
    }
    const Tensor tensor = import_.graph.input(std::string(input.name), type->dtype, type->shape);
    if (Status mistake = import_.graph.take_mistake(); !mistake.ok()) {
      if (is_plain_out_of_memory(mistake)) return mistake;
      note_problem(path, ": " + mistake.message());
    }
    scope_.values.insert_or_assign(input.name, tensor.is_valid() ? OnnxValue(tensor) : OnnxValue::failed());
    return {};
  }

  /// Dims that replace an input whose elements decide shapes.
  OnnxSizes sizes_of_input(std::string_view name, const TensorType& type) {
    constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
    OnnxSizes sizes{type.dtype, {}, {}};
    for (const SizeExpr& dim : type.shape.dims()) sizes.shape.push_back(dim.constant());
    std::string names;
    for (std::int64_t i = 0; i < type.shape.num_elements().constant(); ++i) {
      const bool is_scalar = type.shape.num_elements().is(1);
      const Dim dim = import_.dims.fresh(is_scalar ? std::string(name) : fmt::format("{}_{}", name, i));
      sizes.values.emplace_back(dim.at_most(kMaxSize));
      names += (names.empty() ? "" : ", ") + dim.name();
    }
    import_.notes.push_back(fmt::format("input '{}' decides shapes: replaced by the dims {}", printable(name), names));
    return sizes;
  }

  /// Refuses a value whose dtype or rank is not the declared one: it would give wrong results, or none.
  void check_given_type(const ValueInfoProto& input, const TensorType& given, const std::string& path) {
    const Result<TensorType> declared = type_of(input);
    if (!declared.ok()) return;  // the model declares no type to compare with
    if (given.dtype == declared->dtype && given.shape.rank() == declared->shape.rank()) return;
    note_problem(path, fmt::format(": its value is {}, expected {} as the model declares", given.to_text(),
                                   declared->to_text()));
  }

  void check_given_values() {
    for (const auto& [name, value] : import_.options.values) {
      const auto has_name = [&](const ValueInfoProto& input) { return input.name == name; };
      if (std::ranges::none_of(graph_.input, has_name)) {
        note_problem("graph", fmt::format(": a value is given for '{}', which is not an input", printable(name)));
      }
    }
  }

  Status add_output(const ValueInfoProto& output, std::size_t index) {
    const std::string path = fmt::format("graph.output[{}] '{}'", index, printable(output.name));
    const OnnxValue* value = scope_.find(output.name);
    if (value == nullptr) {
      note_problem(path, ": is not the result of any node");
      return {};
    }
    if (value->is_failed()) return {};
    if (!value->type()) {
      note_problem(path, ": is not a tensor; sequences and elements without a dtype are not supported here");
      return {};
    }
    const DType dtype = value->type()->dtype;
    if (output.type && output.type->tensor_type && output.type->tensor_type->elem_type != 0 &&
        dtype_of_onnx(output.type->tensor_type->elem_type) != dtype) {
      note_problem(path, fmt::format(": is {}, expected {} as the model declares", to_text(dtype),
                                     onnx_type_name(output.type->tensor_type->elem_type)));
      return {};
    }
    import_.graph.output(std::string(output.name), value->materialize(import_.graph));
    if (Status mistake = import_.graph.take_mistake(); !mistake.ok()) {
      if (is_plain_out_of_memory(mistake)) return mistake;
      note_problem(path, ": " + mistake.message());
    }
    return {};
  }

  Status report_problems() const {
    if (import_.problems.empty()) return {};
    return unimplemented(list_problems(where_, import_.problems));
  }

  const std::string& where_;
  const ModelProto& model_;
  const GraphProto& graph_;
  OnnxImport import_;
  OnnxOpsets opsets_;
  OnnxScope scope_;
};

}  // namespace

Result<OnnxModel> import_model(const std::string& where, const std::string& path, const ModelProto& model,
                               const OnnxOptions& options) {
  if (!model.graph) return data_loss(where + ": has no graph; is it an ONNX model?");
  // If an attempt finds integer inputs whose elements decide shapes, the next attempt puts dims in their place.
  constexpr int kMaxAttempts = 8;  // an attempt finds all such inputs, except those that matter only after others
  std::set<std::string, std::less<>> sized_inputs;
  for (int attempt = 1;; ++attempt) {
    ModelImporter importer(where, path, model, options, sized_inputs);
    Result<OnnxModel> result = importer.import();
    if (result.ok() || importer.sized_inputs() == sized_inputs || attempt == kMaxAttempts) return result;
    sized_inputs = importer.sized_inputs();
  }
}

}  // namespace millrace
