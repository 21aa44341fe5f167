// SPDX-License-Identifier: Apache-2.0
// Models that others trained, in the folder that MILLRACE_MODELS names, with inputs and outputs of ONNX Runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "millrace/graph/onnx.h"
#include "millrace/millrace.h"
#include "tests/reference/tensor.h"

namespace millrace::test {

/// "<folder>/<name>", or empty where MILLRACE_MODELS is not set or has no such file; then says so.
std::string model_path(const std::string& name);

/// An imported and compiled model.
struct RealModel {
  OnnxModel model;
  Program program;
  Session session;
};
RealModel load_model(const std::string& path, const OnnxOptions& options = {});

using NamedTensors = std::map<std::string, reference::Tensor>;

/// Runs once with inputs by name, and returns the outputs by name.
NamedTensors run_model(RealModel&, const NamedTensors& inputs);

/// The recorded inputs and outputs of ref/<reference>.json.
struct Recorded {
  NamedTensors inputs, outputs;
};
Recorded read_recorded(const std::string& reference);

/// The numbers of a file in which commas and spaces separate them.
std::vector<float> read_numbers(const std::string& path);
std::string read_text(const std::string& path);
template <class T>
std::vector<T> read_raw(const std::string& path) {
  const std::string bytes = read_text(path);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// A tensor of f32 with these elements.
reference::Tensor f32_tensor(const reference::Extents& extents, const std::vector<float>& values);

}  // namespace millrace::test
