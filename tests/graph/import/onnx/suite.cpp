// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/import/onnx/suite.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "graph/import/onnx/decode.h"
#include "graph/import/onnx/read_tensor.h"
#include "millrace/base/file.h"
#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/agreement.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

namespace fs = std::filesystem;

struct NamedTensor {
  std::string name;
  reference::Tensor tensor;
};

/// One set of inputs and the outputs that belong to them, in the model's order.
struct DataSet {
  std::vector<NamedTensor> inputs;
  std::vector<reference::Tensor> outputs;
};

Result<SharedBytes> read_bytes(const std::string& path) {
  MILLRACE_TRY_ASSIGN(std::vector<std::byte> bytes, read_file(path, path));
  return SharedBytes(std::move(bytes));
}

Result<reference::Tensor> read_test_tensor(const std::string& path) {
  MILLRACE_TRY_ASSIGN(const SharedBytes bytes, read_bytes(path));
  MILLRACE_TRY_ASSIGN(const TensorProto message, decode_tensor(path, bytes));
  ExternalData external("", {});
  MILLRACE_TRY_ASSIGN(const OnnxValue value, read_tensor(message, path, bytes, external));
  if (value.constant() == nullptr) return unimplemented(path + ": its elements are of a type that tensors lack");
  reference::Tensor tensor(value.constant()->type);
  std::ranges::copy(value.constant()->bytes, tensor.bytes.begin());
  return tensor;
}

/// The files "input_0.pb", "input_1.pb", ... of a data set.
Result<std::vector<reference::Tensor>> read_test_tensors(const fs::path& folder, std::string_view kind) {
  std::vector<reference::Tensor> tensors;
  for (std::size_t i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}_{}.pb", kind, i);
    if (!fs::exists(path)) return tensors;
    MILLRACE_TRY_ASSIGN(reference::Tensor tensor, read_test_tensor(path.native()));
    tensors.push_back(std::move(tensor));
  }
}

Result<DataSet> read_data_set(const fs::path& folder, const std::vector<std::string>& input_names) {
  DataSet data;
  MILLRACE_TRY_ASSIGN(std::vector<reference::Tensor> inputs, read_test_tensors(folder, "input"));
  MILLRACE_TRY_ASSIGN(data.outputs, read_test_tensors(folder, "output"));
  if (inputs.size() > input_names.size()) {
    return internal_error(fmt::format("{} inputs for a model with {}", inputs.size(), input_names.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) data.inputs.push_back({input_names[i], std::move(inputs[i])});
  return data;
}

std::vector<fs::path> data_set_folders(const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

/// The model's inputs without those that are initializers.
std::vector<std::string> input_names(const GraphProto& graph) {
  std::vector<std::string> names;
  for (const ValueInfoProto& input : graph.input) {
    const auto has_name = [&](const TensorProto& tensor) { return tensor.name == input.name; };
    if (std::ranges::none_of(graph.initializer, has_name)) names.emplace_back(input.name);
  }
  return names;
}

const NamedTensor* find_input(const DataSet& data, std::string_view name) {
  const auto found = std::ranges::find(data.inputs, name, &NamedTensor::name);
  return found == data.inputs.end() ? nullptr : &*found;
}

OnnxOptions options_with(const DataSet& data, const std::vector<std::string>& given) {
  OnnxOptions options;
  for (const std::string& name : given) {
    const reference::Tensor& tensor = find_input(data, name)->tensor;
    options.values[name] = {tensor.type, SharedBytes(std::span<const std::byte>(tensor.bytes))};
  }
  return options;
}

/// Whether the graph has all inputs but those whose values are given: none became a dim.
bool has_inputs(const OnnxModel& model, const DataSet& data, const std::vector<std::string>& given) {
  return std::ranges::all_of(data.inputs, [&](const NamedTensor& input) {
    return std::ranges::find(given, input.name) != given.end() ||
           std::ranges::find(model.inputs, input.name) != model.inputs.end();
  });
}

struct Imported {
  Result<OnnxModel> model;
  std::vector<std::string> given;
};

/// Sets of inputs whose values shapes may need, the smaller ones first: short lists of integers and bools after the
/// first input, short lists of any dtype after it, all short lists.
std::vector<std::vector<std::string>> given_sets(const DataSet& data) {
  std::vector<std::vector<std::string>> sets(3);
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    const auto& [name, tensor] = data.inputs[i];
    if (tensor.type.shape.rank() > 1) continue;
    if (i > 0 && !is_float(tensor.type.dtype)) sets[0].push_back(name);
    if (i > 0) sets[1].push_back(name);
    sets[2].push_back(name);
  }
  return sets;
}

Imported import_test(const std::string& path, const DataSet& data) {
  const auto import = [&](const std::vector<std::string>& given) {
    Imported imported{import_onnx(path, options_with(data, given)), given};
    if (imported.model.ok() && !has_inputs(*imported.model, data, given)) {
      imported.model = unimplemented("an input decides shapes");
    }
    return imported;
  };
  Imported first = import({});
  if (first.model.ok()) return first;
  for (const std::vector<std::string>& set : given_sets(data)) {
    if (set.empty()) continue;
    Imported imported = import(set);
    if (!imported.model.ok()) continue;
    for (const std::string& name : set) {  // leaves out those that are not needed
      std::vector<std::string> fewer = imported.given;
      std::erase(fewer, name);
      Imported again = import(fewer);
      if (again.model.ok()) imported = std::move(again);
    }
    return imported;
  }
  return first;
}

/// How the data of a test differ from what its model declares; empty if they fit. Some of onnx 1.12 do not.
std::string data_problem(const OnnxModel& model, const DataSet& data) {
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const TensorType& declared = model.graph.nodes[model.graph.inputs[i]].results[0];
    const std::string& name = model.inputs[i];
    const NamedTensor* input = find_input(data, name);
    if (input == nullptr || input->tensor.type.shape.rank() == declared.shape.rank()) continue;
    return fmt::format("the test's data for the input '{}' are {}, and its model declares {}", name,
                       input->tensor.type.to_text(), declared.to_text());
  }
  return "";
}

/// onnx 1.12 writes bf16 as u16 with the same bits.
void restore_bf16(reference::Tensor& tensor, DType dtype) {
  if (tensor.type.dtype == DType::kU16 && dtype == DType::kBF16) tensor.type.dtype = dtype;
}

/// Compiles and runs the model; empty if the outputs agree.
std::string run_problem(const OnnxModel& model, const DataSet& data, const CompileOptions& options) {
  const Result<Program> program = compile(model.graph, options);
  if (!program.ok()) return "compile: " + program.status().message();
  std::vector<reference::Tensor> inputs;
  for (const std::string& name : model.inputs) {
    const NamedTensor* input = find_input(data, name);
    if (input == nullptr) return fmt::format("the test has no data for the input '{}'", name);
    inputs.push_back(input->tensor);
    restore_bf16(inputs.back(), program->inputs()[inputs.size() - 1].type.dtype);
  }
  const Result<std::vector<reference::Tensor>> outputs = run_guarded(*program, inputs, {}, 1);
  if (!outputs.ok()) return "run: " + outputs.status().message();
  if (outputs->size() < data.outputs.size()) return fmt::format("{} outputs are missing", data.outputs.size());
  for (std::size_t i = 0; i < data.outputs.size(); ++i) {
    reference::Tensor expected = data.outputs[i];
    restore_bf16(expected, (*outputs)[i].type.dtype);
    const std::string difference = difference_of((*outputs)[i], expected);
    if (!difference.empty()) return fmt::format("output {} {}", i, difference);
  }
  return "";
}

/// The importer's message without the file's name and the first line, which counts the parts.
std::string short_reason(const std::string& message) {
  const std::size_t line = message.find("\n  ");
  const std::size_t name = message.find("': ");
  if (line != message.npos) return message.substr(line + 3, message.find('\n', line + 1) - line - 3);
  return name == message.npos ? message : message.substr(name + 3);
}

}  // namespace

std::string suite_folder() {
  const char* folder = std::getenv("MILLRACE_ONNX_TESTS");
  return folder != nullptr ? folder : "/usr/share/libonnx-testdata/data";
}

std::vector<SuiteTest> suite_tests(const std::vector<std::string>& folders) {
  std::vector<SuiteTest> tests;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(suite_folder()) / folder, error)) {
      if (!fs::exists(entry.path() / "model.onnx")) continue;
      tests.push_back({folder + "/" + entry.path().filename().native(), entry.path().native()});
    }
  }
  std::ranges::sort(tests, {}, &SuiteTest::name);
  return tests;
}

SuiteOutcome run_suite_test(const SuiteTest& test, const CompileOptions& options) {
  SuiteOutcome outcome;
  const std::string path = test.folder + "/model.onnx";
  const auto ends_with = [&](SuiteResult result, const std::string& message) {
    outcome.result = result;
    outcome.reason = result == SuiteResult::kRefused ? short_reason(message) : message;
    return outcome;
  };
  const Result<SharedBytes> bytes = read_bytes(path);
  if (!bytes.ok()) return ends_with(SuiteResult::kFailed, bytes.status().message());
  const auto model = decode_model(fmt::format("onnx '{}'", path), *bytes);
  if (!model.ok()) return ends_with(SuiteResult::kRefused, model.status().message());
  if (!(*model)->graph) return ends_with(SuiteResult::kFailed, "the model has no graph");
  const GraphProto& graph = *(*model)->graph;
  outcome.op = graph.node.size() == 1 ? std::string(graph.node[0].op_type) : "several";
  for (const fs::path& folder : data_set_folders(test.folder)) {
    const Result<DataSet> data = read_data_set(folder, input_names(graph));
    if (!data.ok()) {  // such as sequences and texts: the importer should refuse them too
      const Status status = import_onnx(path).status();
      return status.ok() ? ends_with(SuiteResult::kFailed, data.status().message())
                         : ends_with(SuiteResult::kRefused, status.message());
    }
    const Imported imported = import_test(path, *data);
    outcome.given = imported.given;
    if (!imported.model.ok()) return ends_with(SuiteResult::kRefused, imported.model.status().message());
    const std::string misfit = data_problem(*imported.model, *data);
    if (!misfit.empty()) return ends_with(SuiteResult::kRefused, misfit);
    const std::string problem = run_problem(*imported.model, *data, options);
    if (!problem.empty()) return ends_with(SuiteResult::kFailed, problem);
  }
  return outcome;
}

CompileOptions suite_options() {
  CompileOptions options;
  options.context = test_context();
  options.device = "cpu:threads=1";
  return options;
}

}  // namespace millrace::test
