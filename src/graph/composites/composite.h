// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "graph/build_or_fail.h"
#include "millrace/graph/composites.h"

namespace millrace {

/// The builder of the first tensor that has one; null if none does. A tensor has no builder if it comes from an earlier
/// mistake, or if it was default-constructed. The builder of another operand reports the latter.
GraphBuilder* builder_of(std::span<const Tensor> tensors);
inline GraphBuilder* builder_of(std::initializer_list<Tensor> tensors) {
  return builder_of(std::span(tensors.begin(), tensors.size()));
}

/// Rejects the arguments of an op or of the open composite: "einsum: found, expected; what to do".
Tensor refuse(GraphBuilder& graph, std::string_view function, std::string_view what);

/// A composite that is being built. While it lives, mistakes are reported under its name, or under the name of the
/// composite around it. A message then never names an op that the caller did not write. A composite checks its
/// arguments first, so that no inner op complains about tensors that the caller does not know.
class Composite {
 public:
  Composite(GraphBuilder& graph, std::string_view name, std::span<const Tensor> operands);

  /// Whether to build: no mistake so far, and all operands are tensors of this graph.
  bool is_open() const { return is_open_; }
  std::string_view name() const { return name_; }
  GraphBuilder& graph() const { return graph_; }
  /// The types of the operands.
  std::span<const TensorType> types() const { return types_; }
  /// Whether a check of the arguments passed. If not, reports the check's message as the composite's mistake.
  bool passes(const Status& check) const;
  /// Rejects the arguments.
  Tensor refuse(std::string_view what) const { return millrace::refuse(graph_, name_, what); }
  /// Sets the message for an index that the composite computes and that is out of range at run time.
  void explain_wrong_index(std::string_view what) { function_.explain_wrong_index(what); }

 private:
  GraphBuilder& graph_;
  std::string_view name_;
  GraphBuilder::OpenFunction function_;
  std::vector<TensorType> types_;
  bool is_open_ = false;
};

/// Every composite calls this function and returns its result, which is that of `body`. `body` receives a Composite
/// with the name of the calling function. The result is empty after an earlier mistake, if an operand is not a tensor
/// of the graph, or if memory runs out.
template <class Body>
std::invoke_result_t<Body, Composite&> build_composite(
    std::span<const Tensor> operands, Body&& body,
    std::string_view name = plain_name(std::source_location::current())) {
  using Built = std::invoke_result_t<Body, Composite&>;
  GraphBuilder* graph = builder_of(operands);
  const auto build = [&] {
    Composite composite(*graph, name, operands);
    return composite.is_open() ? body(composite) : Built();
  };
  return build_or_fail(graph, build, 0, name);
}
template <class Body>
std::invoke_result_t<Body, Composite&> build_composite(
    std::initializer_list<Tensor> operands, Body&& body,
    std::string_view name = plain_name(std::source_location::current())) {
  return build_composite(std::span(operands.begin(), operands.size()), body, name);
}

/// A tensor of the type of `x` with every element equal to the number. `function` is the function that the caller
/// called with `x` and the number; messages name it.
Tensor full_like(std::string_view function, Tensor x, const Literal&);

/// The shape to which NumPy would broadcast these shapes: they are aligned at their last dims, and the extents of a dim
/// must be equal, 1 or missing. Empty if the shapes do not fit.
std::optional<Shape> joint_shape(std::span<const Shape> shapes);

/// The dtype in which a composite of several steps computes. f16 can overflow, and 16-bit floats would lose precision
/// at each step.
inline DType wide_dtype(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype; }

/// Casts a 16-bit float tensor of `dtype` to f32. Leaves other dtypes alone; the op that reads the tensor checks its
/// dtype.
inline Tensor widen(Tensor x, DType dtype) {
  const bool is_narrow = x.is_valid() && x.dtype() == dtype && wide_dtype(dtype) != dtype;
  return is_narrow ? cast(x, wide_dtype(dtype)) : x;
}

/// Casts the result back to `dtype`, rounding once.
inline Tensor narrow(Tensor x, DType dtype) { return x.is_valid() && wide_dtype(dtype) != dtype ? cast(x, dtype) : x; }

// Checks of arguments. A parameter must have the dtype of operand 0 or the dtype in which the composite computes.

/// "scale is f32[7], expected f32 that broadcasts to operand 0, f32[4x8]; reshape or cast it"
Status expect_broadcast(std::string_view what, const TensorType& parameter, const TensorType& x);
/// "scale is f32[7], expected f32[8], one per channel of operand 0, f32[2x8x4]; reshape or cast it"
Status expect_per_channel(std::string_view what, const TensorType& parameter, const TensorType& x);
/// "the result would be f32[...], which ..."; for result shapes that the arguments determine.
Status expect_within_limits(const TensorType& result);

}  // namespace millrace
