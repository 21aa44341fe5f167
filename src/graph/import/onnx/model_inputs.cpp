// SPDX-License-Identifier: Apache-2.0
// Reads the inputs that a model declares, without importing its nodes.
#include <limits>
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/import/onnx/decode.h"
#include "graph/import/onnx/dims.h"
#include "graph/import/onnx/element_types.h"
#include "millrace/base/file.h"
#include "millrace/base/printable.h"
#include "millrace/graph/onnx.h"

namespace millrace {
namespace {

Result<Argument> argument_of(const std::string& where, const ValueInfoProto& input, OnnxDims& dims) {
  const TensorTypeProto* tensor = input.type && input.type->tensor_type ? &*input.type->tensor_type : nullptr;
  if (tensor == nullptr || !tensor->shape) {
    return unimplemented(fmt::format("{}: input '{}' is {}", where, printable(input.name),
                                     tensor == nullptr ? "not a tensor" : "a tensor without a shape"));
  }
  const std::optional<DType> dtype = dtype_of_onnx(tensor->elem_type);
  if (!dtype) {
    return unimplemented(fmt::format("{}: input '{}' has elements of {}, which no dtype holds", where,
                                     printable(input.name), onnx_type_name(tensor->elem_type)));
  }
  std::vector<SizeExpr> sizes;
  for (std::size_t axis = 0; axis < tensor->shape->dim.size(); ++axis) {
    const Result<SizeExpr> size = dims.size_of(tensor->shape->dim[axis], input.name, axis);
    if (!size.ok()) {
      return data_loss(
          fmt::format("{}: input '{}': dim {} {}", where, printable(input.name), axis, size.status().message()));
    }
    sizes.push_back(*size);
  }
  return Argument{std::string(input.name), {*dtype, Shape(std::move(sizes))}};
}

}  // namespace

Result<std::vector<Argument>> onnx_inputs(const std::string& path) {
  const auto where = [&] { return fmt::format("onnx '{}'", printable(path)); };
  return guard_allocations(where, [&]() -> Result<std::vector<Argument>> {
    MILLRACE_TRY_ASSIGN(FileReader file, FileReader::open(where(), path));
    MILLRACE_TRY_ASSIGN(SharedBytes bytes, file.map(std::numeric_limits<std::size_t>::max()));
    MILLRACE_TRY_ASSIGN(const std::shared_ptr<const ModelProto> model, decode_model(where(), std::move(bytes)));
    if (!model->graph) return data_loss(where() + ": has no graph; is it an ONNX model?");
    OnnxDims dims;
    std::set<std::string_view> initialized;
    for (const TensorProto& tensor : model->graph->initializer) initialized.insert(tensor.name);
    std::vector<Argument> inputs;
    for (const ValueInfoProto& input : model->graph->input) {
      if (initialized.contains(input.name)) continue;
      MILLRACE_TRY_ASSIGN(Argument argument, argument_of(where(), input, dims));
      inputs.push_back(std::move(argument));
    }
    return inputs;
  });
}

}  // namespace millrace
