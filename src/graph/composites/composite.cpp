// SPDX-License-Identifier: Apache-2.0
// What all composites share: checks of arguments, and messages that name the composite.
#include "graph/composites/composite.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/infer.h"

namespace millrace {

GraphBuilder* builder_of(std::span<const Tensor> tensors) {
  const auto it = std::ranges::find_if(tensors, &Tensor::is_valid);
  return it == tensors.end() ? nullptr : it->builder();
}

Tensor refuse(GraphBuilder& graph, std::string_view function, std::string_view what) {
  return graph.fail(invalid_argument(fmt::format("{}: {}", graph.next_text(function), what)));
}

Composite::Composite(GraphBuilder& graph, std::string_view name, std::span<const Tensor> operands)
    : graph_(graph), name_(name), function_(graph, name) {
  if (!graph.status().ok() || !graph.accept(operands, graph.next_text(name))) return;
  for (const Tensor& operand : operands) types_.push_back(operand.type());
  is_open_ = true;
}

bool Composite::passes(const Status& check) const {
  if (!check.ok()) refuse(check.message());
  return check.ok();
}

namespace {

bool has_parameter_dtype(DType parameter, DType x) { return parameter == x || parameter == wide_dtype(x); }

/// "f16 or f32".
std::string parameter_dtypes(DType x) {
  const DType wide = wide_dtype(x);
  return wide == x ? std::string(to_text(x)) : fmt::format("{} or {}", to_text(x), to_text(wide));
}

}  // namespace

Status expect_broadcast(std::string_view what, const TensorType& parameter, const TensorType& x) {
  const Shape shapes[] = {x.shape, parameter.shape};
  if (has_parameter_dtype(parameter.dtype, x.dtype) && joint_shape(shapes) == x.shape) return {};
  return invalid_argument(fmt::format("{} is {}, expected {} that broadcasts to operand 0, {}; reshape or cast it",
                                      what, parameter.to_text(), parameter_dtypes(x.dtype), x.to_text()));
}

Status expect_per_channel(std::string_view what, const TensorType& parameter, const TensorType& x) {
  const bool fits = parameter.shape.rank() == 1 && (parameter.shape[0] == x.shape[1] || parameter.shape[0].is(1));
  if (has_parameter_dtype(parameter.dtype, x.dtype) && fits) return {};
  return invalid_argument(fmt::format("{} is {}, expected {}, one per channel of operand 0, {}; reshape or cast it",
                                      what, parameter.to_text(), TensorType{x.dtype, {x.shape[1]}}.to_text(),
                                      x.to_text()));
}

Status expect_within_limits(const TensorType& result) {
  const std::string problem = broken_limit(result);
  return problem.empty() ? Status() : invalid_argument("the result " + problem);
}

}  // namespace millrace
