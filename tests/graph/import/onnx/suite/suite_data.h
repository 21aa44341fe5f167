// SPDX-License-Identifier: Apache-2.0
// The inputs and outputs of the tests of ONNX's backends.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "graph/import/onnx/messages.h"
#include "millrace/graph/compile.h"
#include "millrace/graph/onnx.h"
#include "tests/reference/tensor.h"

namespace millrace::test {

struct NamedTensor {
  std::string name;
  reference::Tensor tensor;
};

/// One set of inputs and the outputs that belong to them, in the model's order.
struct DataSet {
  std::vector<NamedTensor> inputs;
  std::vector<reference::Tensor> outputs;
};

Result<SharedBytes> read_bytes(const std::string& path);
/// The folders of a test's data sets, in alphabetical order.
std::vector<std::filesystem::path> data_set_folders(const std::filesystem::path& test_folder);
/// Reads input_0.pb, input_1.pb, ..., output_0.pb, ... `input_names` are those of the inputs, in order.
Result<DataSet> read_data_set(const std::filesystem::path& folder, const std::vector<std::string>& input_names);
/// The model's inputs without those that are initializers.
std::vector<std::string> input_names(const GraphProto& graph);
/// Null if the data set has no such input.
const NamedTensor* find_input(const DataSet& data, std::string_view name);

/// Options that give the importer the values of these inputs.
OnnxOptions options_with(const DataSet& data, const std::vector<std::string>& given);
/// Sets of inputs whose values shapes may need, the smaller ones first: short lists of integers and bools after the
/// first input, short lists of any dtype after it, all short lists.
std::vector<std::vector<std::string>> given_sets(const DataSet& data);
/// How the data of a test differ from what its model declares; empty if they fit. Some of onnx 1.12 do not.
std::string data_problem(const OnnxModel& model, const DataSet& data);

/// Runs the program with the inputs that `names` lists, and compares the outputs with the data set's. Empty if they
/// agree: see difference_of, or if `allows_ulp`, each element within an ulp of the largest expected magnitude.
struct DataSetRun {
  const DataSet& data;
  const std::vector<std::string>& names;
  std::vector<DimBinding> dims = {};
  bool allows_ulp = false;
};
std::string run_problem(const Program& program, const DataSetRun& run);

/// The importer's message without the file's name and the first line, which counts the parts.
std::string short_reason(const std::string& message);

}  // namespace millrace::test
