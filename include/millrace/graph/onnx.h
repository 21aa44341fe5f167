// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/base/mapped_file.h"
#include "millrace/base/shape.h"
#include "millrace/base/shared_bytes.h"
#include "millrace/base/status.h"
#include "millrace/graph/builder.h"
#include "millrace/graph/graph.h"
#include "millrace/graph/signature.h"

namespace millrace {

/// Row-major elements that are known when a model is imported.
struct OnnxConstant {
  TensorType type;  // its dims are numbers
  SharedBytes bytes;
};

/// An attribute of a custom op. A tensor is given as a constant.
using OnnxAttribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                   std::vector<std::string>, OnnxConstant>;

/// A node of a custom op, for the function that builds it.
struct OnnxCustomNode {
  std::string name;
  std::vector<Tensor> operands;  // an operand that the model omits is an empty Tensor
  std::map<std::string, OnnxAttribute> attributes;
  std::size_t num_results = 0;
};

/// An op of a domain that the importer does not know.
struct OnnxCustomOp {
  std::string domain, name;
  /// The first version of the domain to which the function applies.
  std::int64_t since_version = 1;
  /// Builds the node's results, at most num_results. A mistake of the builder is reported under the node's name. It
  /// must use every attribute that changes the result: the importer does not know which there are.
  std::function<Result<std::vector<Tensor>>(GraphBuilder&, const OnnxCustomNode&)> build;
};

struct OnnxOptions {
  /// The size that each dim_param of the model stands for: a number, or a symbol with facts, such as
  /// {"batch", Dim("batch").at_least(1).at_most(64)}. By default, each dim_param is a symbol without facts.
  std::map<std::string, SizeExpr> dims = {};
  /// The values of inputs, by name. The graph then lacks these inputs. Conditions, axes and other operands that must be
  /// known while a model is imported can be given here.
  std::map<std::string, OnnxConstant> values = {};
  /// Folders, apart from the model's own, that may hold external data.
  std::vector<std::string> data_folders = {};
  std::vector<OnnxCustomOp> custom_ops = {};
};

struct OnnxModel {
  Graph graph;
  /// Names of the graph's inputs and outputs, in the graph's order, as the model spells them.
  std::vector<std::string> inputs, outputs;
  /// Decisions of the importer that a user should know, one line each, such as an input that became a dim.
  std::vector<std::string> notes;
  /// The model's file and those of its external data, which constants of the graph may refer to (see write_graph).
  std::vector<MappedFile> files;
};

/// Reads an ONNX model. Default domain, opsets 1 to 28. The file and its external data are mapped: weights are paged in
/// when they are read, and the files may be replaced or removed, but not truncated or changed, while the graph lives.
/// If nodes cannot be imported, the error lists all of them. Without protozero (see docs/), fails with kUnimplemented.
/// Source: onnx.proto and the operator documents of onnx 1.23.
Result<OnnxModel> import_onnx(const std::string& path, const OnnxOptions& options = {});
/// Reads a model in memory. `name` stands for the file in messages. External data are found only in
/// OnnxOptions::data_folders.
Result<OnnxModel> import_onnx(const std::string& name, const SharedBytes& bytes, const OnnxOptions& options = {});

/// The inputs that a model declares and does not initialise, for callers that set OnnxOptions::values. Dims without a
/// number are symbols. Fails if an input is not a tensor.
Result<std::vector<Argument>> onnx_inputs(const std::string& path);

}  // namespace millrace
