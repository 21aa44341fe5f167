// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/import/onnx/suite/suite_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/import/onnx/decode.h"
#include "graph/import/onnx/read_tensor.h"
#include "millrace/base/file.h"
#include "tests/graph/import/onnx/suite/agreement.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

namespace fs = std::filesystem;

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

/// onnx 1.12 writes bf16 as u16 with the same bits.
void restore_bf16(reference::Tensor& tensor, DType dtype) {
  if (tensor.type.dtype == DType::kU16 && dtype == DType::kBF16) tensor.type.dtype = dtype;
}

}  // namespace

Result<SharedBytes> read_bytes(const std::string& path) {
  MILLRACE_TRY_ASSIGN(std::vector<std::byte> bytes, read_file(path, path));
  return SharedBytes(std::move(bytes));
}

std::vector<fs::path> data_set_folders(const fs::path& test_folder) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(test_folder)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
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

std::string run_problem(const Program& program, const DataSetRun& run) {
  std::vector<reference::Tensor> inputs;
  for (const std::string& name : run.names) {
    const NamedTensor* input = find_input(run.data, name);
    if (input == nullptr) return fmt::format("the test has no data for the input '{}'", name);
    inputs.push_back(input->tensor);
    restore_bf16(inputs.back(), program.inputs()[inputs.size() - 1].type.dtype);
  }
  const Result<std::vector<reference::Tensor>> outputs = run_guarded(program, inputs, run.dims, 1);
  if (!outputs.ok()) return "run: " + outputs.status().message();
  if (outputs->size() < run.data.outputs.size()) return fmt::format("{} outputs are missing", run.data.outputs.size());
  for (std::size_t i = 0; i < run.data.outputs.size(); ++i) {
    reference::Tensor expected = run.data.outputs[i];
    restore_bf16(expected, (*outputs)[i].type.dtype);
    const std::string difference = difference_of((*outputs)[i], expected);
    const bool agrees = difference.empty() || (run.allows_ulp && is_within_ulp((*outputs)[i], expected));
    if (!agrees) return fmt::format("output {} {}", i, difference);
  }
  return "";
}

std::string short_reason(const std::string& message) {
  const std::size_t line = message.find("\n  ");
  const std::size_t name = message.find("': ");
  if (line != message.npos) return message.substr(line + 3, message.find('\n', line + 1) - line - 3);
  return name == message.npos ? message : message.substr(name + 3);
}

}  // namespace millrace::test
