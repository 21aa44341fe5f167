// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/import/onnx/real_models.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/onnx.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

std::string models_folder() {
  const char* folder = std::getenv("MILLRACE_MODELS");
  return folder != nullptr ? folder : "";
}

/// The integers in the next brackets of the text.
reference::Extents next_list(std::string_view text) {
  const std::size_t begin = text.find('['), end = text.find(']');
  std::string list(text.substr(begin + 1, end - begin - 1));
  std::ranges::replace(list, ',', ' ');
  std::istringstream words(list);
  return {std::istream_iterator<std::int64_t>(words), {}};
}

DType dtype_named(std::string_view name) {
  if (name == "float16") return DType::kF16;
  if (name == "int64") return DType::kI64;
  if (name == "int32") return DType::kI32;
  REQUIRE_MESSAGE(name == "float32", std::string(name));
  return DType::kF32;
}

std::string quoted_after(std::string_view text, std::size_t at) {
  const std::size_t begin = text.find('"', at) + 1;
  return std::string(text.substr(begin, text.find('"', begin) - begin));
}

/// The tensors of one section of a reference's JSON: "name": {"dtype" or "type": "float32", "shape" or "dims": [...]}.
/// Older files have more numbers after the dims. `prefix` begins the names of the files with the elements.
NamedTensors read_section(std::string_view section, const std::string& prefix) {
  NamedTensors tensors;
  for (std::size_t at = section.find('{') + 1;;) {
    const std::size_t open = section.find('{', at);
    if (open == section.npos) return tensors;
    const std::string name = quoted_after(section, at);
    const std::size_t close = section.find('}', open);
    const std::string_view entry = section.substr(open, close - open);
    const DType dtype = dtype_named(quoted_after(entry, entry.find("type\":") + 6));
    reference::Tensor tensor(dtype, next_list(entry));
    std::string file = name;
    std::ranges::replace(file, ':', '_');
    const std::string bytes = read_text(prefix + file + ".bin");
    REQUIRE_MESSAGE(bytes.size() == tensor.bytes.size(), name);
    std::memcpy(tensor.bytes.data(), bytes.data(), bytes.size());
    tensors.emplace(name, std::move(tensor));
    at = close + 1;
  }
}

Extents extents_of(const TensorType& type) {
  std::vector<std::int64_t> extents;
  for (const SizeExpr& dim : type.shape.dims()) extents.push_back(dim.constant());
  return Extents(extents);
}

}  // namespace

std::string model_path(const std::string& name) {
  const std::string path = models_folder() + "/" + name;
  if (!models_folder().empty() && std::filesystem::exists(path)) return path;
  MESSAGE(name << " is not tested: MILLRACE_MODELS names no folder that has it");
  return "";
}

RealModel load_model(const std::string& path, const OnnxOptions& options) {
  Result<OnnxModel> model = import_onnx(path, options);
  REQUIRE_MESSAGE(model.ok(), model.status().message());
  CompileOptions compile_options;
  compile_options.context = test_context();
  Result<Program> program = compile(model->graph, compile_options);
  REQUIRE_MESSAGE(program.ok(), program.status().message());
  Session session = Session::create(*program).value();
  return {*std::move(model), *std::move(program), std::move(session)};
}

NamedTensors run_model(RealModel& model, const NamedTensors& inputs) {
  std::vector<Extents> extents;
  std::vector<TensorBinding> in, out;
  for (const Argument& input : model.program.inputs()) {
    REQUIRE_MESSAGE(inputs.contains(input.name), input.name);
    const reference::Tensor& tensor = inputs.at(input.name);
    CHECK(tensor.type.dtype == input.type.dtype);
    extents.push_back(extents_of(tensor.type));
    in.push_back(bind(tensor.bytes, extents.back()));
  }
  const Result<std::vector<TensorType>> types = model.program.output_types(extents);
  REQUIRE_MESSAGE(types.ok(), types.status().message());
  NamedTensors outputs;
  for (std::size_t i = 0; i < types->size(); ++i) {
    reference::Tensor& output = outputs[model.program.outputs()[i].name];
    output = reference::Tensor((*types)[i]);
    out.push_back(bind(output.bytes));
  }
  const Status status = model.session.run(in, out);
  REQUIRE_MESSAGE(status.ok(), status.message());
  return outputs;
}

Recorded read_recorded(const std::string& reference) {
  const std::string prefix = models_folder() + "/ref/" + reference;
  const std::string text = read_text(prefix + ".json");
  const std::size_t outputs = text.find("\"outputs\": ");
  REQUIRE(outputs != text.npos);
  const std::size_t inputs = text.find("\"inputs\": ");
  REQUIRE(inputs < outputs);
  const std::string_view view = text;
  return {read_section(view.substr(inputs + 10, outputs - inputs - 10), prefix + ".in."),
          read_section(view.substr(outputs + 10), prefix + ".")};
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.is_open(), path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<float> read_numbers(const std::string& path) {
  std::string text = read_text(path);
  std::ranges::replace(text, ',', ' ');
  std::istringstream words(text);
  return {std::istream_iterator<float>(words), {}};
}

reference::Tensor f32_tensor(const reference::Extents& extents, const std::vector<float>& values) {
  reference::Tensor tensor(DType::kF32, extents);
  REQUIRE(tensor.bytes.size() == values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

}  // namespace millrace::test
