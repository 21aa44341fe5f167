// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/import/onnx/suite/symbolic.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "graph/import/onnx/decode.h"
#include "graph/import/onnx/import_model.h"
#include "tests/graph/import/onnx/suite/suite_data.h"

namespace millrace::test {
namespace {

namespace fs = std::filesystem;

/// A decoded model with symbols in place of extents.
struct SymbolicModel {
  std::shared_ptr<ModelProto> model;
  std::deque<std::string> names;  // the model's texts are views of these
};

/// The model with a symbol d5 for each extent 5 of its inputs, except those in `kept`.
Result<SymbolicModel> read_symbolic(const std::string& path, const std::set<std::string>& kept) {
  MILLRACE_TRY_ASSIGN(SharedBytes bytes, read_bytes(path));
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<const ModelProto> decoded,
                      decode_model(fmt::format("onnx '{}'", path), std::move(bytes)));
  SymbolicModel symbolic{std::const_pointer_cast<ModelProto>(decoded), {}};  // nobody else has it
  if (!decoded->graph) return data_loss("the model has no graph");
  const std::vector<std::string> inputs = input_names(*decoded->graph);
  for (ValueInfoProto& input : symbolic.model->graph->input) {
    const std::string name(input.name);
    if (std::ranges::find(inputs, name) == inputs.end() || kept.contains(name)) continue;
    if (!input.type || !input.type->tensor_type || !input.type->tensor_type->shape) continue;
    for (DimensionProto& dim : input.type->tensor_type->shape->dim) {
      if (!dim.dim_value || *dim.dim_value <= 1) continue;
      dim.dim_param = symbolic.names.emplace_back(fmt::format("d{}", *dim.dim_value));
      dim.dim_value.reset();
    }
  }
  return symbolic;
}

/// The names of the dims that replace an input, which the importer notes; empty if it is still an input.
std::vector<std::string> dims_of(const OnnxModel& model, const std::string& input) {
  const std::string begin = fmt::format("input '{}' decides shapes: replaced by the dims ", input);
  std::vector<std::string> names;
  for (const std::string& note : model.notes) {
    if (!note.starts_with(begin)) continue;
    for (std::size_t at = begin.size(); at < note.size();) {
      const std::size_t end = std::min(note.find(", ", at), note.size());
      names.push_back(note.substr(at, end - at));
      at = end + 2;
    }
  }
  return names;
}

/// Dims by name, with the values that a data set has for the inputs that became dims.
Result<std::map<std::string, std::int64_t>> dim_values(const OnnxModel& model, const DataSet& data) {
  std::map<std::string, std::int64_t> values;
  for (const auto& [name, tensor] : data.inputs) {
    const std::vector<std::string> dims = dims_of(model, name);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const auto value = static_cast<std::int64_t>(
          reference::read_element<long double>(tensor.type.dtype, tensor.element(static_cast<std::int64_t>(i))));
      if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) {
        return unimplemented(
            fmt::format("'{}' decides shapes, but its element {} is {}, which cannot be a size", name, i, value));
      }
      values[dims[i]] = value;
    }
  }
  return values;
}

/// Inputs whose values are given, and those whose extents stay numbers, which include the former.
struct Choice {
  std::vector<std::string> given;
  std::set<std::string> kept;
};

struct Attempt {
  Choice choice;
  Result<OnnxModel> model = unimplemented("not imported");
  std::vector<std::string> dims = {};  // inputs that became dims
};

class SymbolicTest {
 public:
  SymbolicTest(std::string path, const DataSet& data, bool has_extents)
      : path_(std::move(path)), data_(data), has_extents_(has_extents) {}

  /// The import with the fewest values given.
  Attempt import() const {
    Attempt first = attempt({});
    if (first.model.ok()) return first;
    for (const std::vector<std::string>& set : given_sets(data_)) {
      if (set.empty()) continue;
      const std::set<std::string> names(set.begin(), set.end());
      Attempt found = attempt({{}, names});
      if (!found.model.ok()) found = attempt({set, names});
      if (found.model.ok()) return without_needless(std::move(found), set);
    }
    return first;
  }

  Attempt attempt(Choice choice) const {
    Attempt made{std::move(choice)};
    made.model = import_with(made);
    return made;
  }

 private:
  Result<OnnxModel> import_with(Attempt& attempt) const {
    MILLRACE_TRY_ASSIGN(const SymbolicModel symbolic, read_symbolic(path_, attempt.choice.kept));
    MILLRACE_TRY_ASSIGN(OnnxModel model,
                        import_model("onnx ''", path_, *symbolic.model, options_with(data_, attempt.choice.given)));
    MILLRACE_TRY(dim_values(model, data_).status());
    for (const NamedTensor& input : data_.inputs) {
      if (!dims_of(model, input.name).empty()) attempt.dims.push_back(input.name);
    }
    const bool has_symbols = !symbolic.names.empty() || !attempt.dims.empty();
    if (has_extents_ && !has_symbols) return unimplemented("no size is a symbol");
    return model;
  }

  /// Leaves out what is not needed: the number in place of a symbol and the value, or the value alone.
  Attempt without_needless(Attempt found, const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      Choice fewer = found.choice, dims = found.choice;
      std::erase(fewer.given, name);
      fewer.kept.erase(name);
      std::erase(dims.given, name);
      for (const Choice& choice : {fewer, dims}) {
        Attempt again = attempt(choice);
        if (!again.model.ok()) continue;
        found = std::move(again);
        break;
      }
    }
    return found;
  }

  std::string path_;
  const DataSet& data_;
  bool has_extents_;
};

/// Runs the model with every data set; empty if the outputs agree.
std::string problem_at_sizes(const OnnxModel& model, const std::vector<DataSet>& sets, const CompileOptions& options) {
  const Result<Program> program = compile(model.graph, options);
  if (!program.ok()) return "compile: " + program.status().message();
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto values = dim_values(model, sets[i]);
    if (!values.ok()) return fmt::format("set {}: {}", i, values.status().message());
    DataSetRun run{sets[i], model.inputs};
    for (const auto& [name, value] : *values) run.dims.push_back({name, value});
    const std::string problem = run_problem(*program, run);
    if (!problem.empty()) return fmt::format("set {}: {}", i, problem);
  }
  return "";
}

Result<std::vector<DataSet>> read_data_sets(const std::string& folder, const GraphProto& graph) {
  std::vector<DataSet> sets;
  for (const fs::path& data : data_set_folders(folder)) {
    MILLRACE_TRY_ASSIGN(sets.emplace_back(), read_data_set(data, input_names(graph)));
  }
  if (sets.empty()) return not_found("the test has no data");
  return sets;
}

}  // namespace

SymbolicOutcome run_symbolic_test(const SuiteTest& test, const CompileOptions& options) {
  SymbolicOutcome outcome;
  const auto ends_with = [&](SymbolicResult result, const std::string& message) {
    outcome.result = result;
    outcome.reason = result == SymbolicResult::kRefused ? short_reason(message) : message;
    return outcome;
  };
  const std::string path = test.folder + "/model.onnx";
  const Result<SymbolicModel> plain = read_symbolic(path, {});
  if (!plain.ok()) return ends_with(SymbolicResult::kRefused, plain.status().message());
  const GraphProto& graph = *plain->model->graph;
  outcome.op = graph.node.size() == 1 ? std::string(graph.node[0].op_type) : "several";
  const Result<std::vector<DataSet>> sets = read_data_sets(test.folder, graph);
  if (!sets.ok()) return ends_with(SymbolicResult::kDiffers, sets.status().message());
  const SymbolicTest importer(path, sets->front(), !plain->names.empty());
  Attempt imported = importer.import();
  if (!imported.model.ok()) return ends_with(SymbolicResult::kRefused, imported.model.status().message());
  const std::string misfit = data_problem(*imported.model, sets->front());
  if (!misfit.empty()) return ends_with(SymbolicResult::kRefused, misfit);
  std::string problem = problem_at_sizes(*imported.model, *sets, options);
  if (problem.starts_with("set 0: run: ") && !imported.dims.empty()) {
    // The run checks what the importer assumes of the dims, and it is not so: the values are needed.
    Choice choice = std::move(imported.choice);
    choice.given.insert(choice.given.end(), imported.dims.begin(), imported.dims.end());
    imported = importer.attempt(std::move(choice));
    if (!imported.model.ok()) return ends_with(SymbolicResult::kRefused, problem);
    problem = problem_at_sizes(*imported.model, *sets, options);
  }
  outcome.given = imported.choice.given;
  outcome.dims = imported.dims;
  return problem.empty() ? outcome : ends_with(SymbolicResult::kDiffers, problem);
}

}  // namespace millrace::test
