// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "millrace/graph/composites.h"

namespace millrace {

/// The builder of the first tensor that has one. A tensor without a builder comes from an earlier mistake or is
/// default-constructed; the builder reports the latter if any operand has a builder.
GraphBuilder* builder_of(std::span<const Tensor> tensors);
inline GraphBuilder* builder_of(std::initializer_list<Tensor> tensors) {
  return builder_of(std::span(tensors.begin(), tensors.size()));
}

/// Reports to the builder, if there is one, that a function ran out of memory: "einsum: out of memory; ...".
Tensor fail_without_memory(GraphBuilder* builder, std::string_view function);

/// Rejects the arguments of an op or of the open composite: "einsum: found, expected; what to do".
Tensor refuse(GraphBuilder& graph, std::string_view function, std::string_view what);

/// The first line of a composite. While it lives, mistakes are reported under this composite's name, or under that of
/// the composite around it. A message then never names an op that the caller did not write. A composite checks its
/// arguments first, so that no inner op complains about tensors that the caller does not know.
class CompositeGuard {
 public:
  CompositeGuard(std::string_view name, std::span<const Tensor> operands);
  CompositeGuard(std::string_view name, std::initializer_list<Tensor> operands)
      : CompositeGuard(name, std::span(operands.begin(), operands.size())) {}

  /// Whether to build: no mistake so far, and all operands are tensors of one graph.
  bool is_open() const { return is_open_; }
  /// The types of the operands.
  std::span<const TensorType> types() const { return types_; }
  /// Whether a check of the arguments passed. If not, its message is the composite's mistake.
  bool passes(const Status& check) const;
  /// What a run reports when an index that the composite computes is out of range.
  void explain_wrong_index(std::string_view what);

 private:
  std::string_view name_;
  std::optional<GraphBuilder::OpenFunction> function_;
  GraphBuilder* graph_ = nullptr;
  std::vector<TensorType> types_;
  bool is_open_ = false;
};

/// A tensor of the type of `x` with every element equal to the number: the other operand of the function.
Tensor like(std::string_view function, Tensor x, const Literal&);

/// The shape to which NumPy would broadcast them: dims are aligned at the last one, and each is equal in all, or 1 or
/// missing. Empty if they do not fit.
std::optional<Shape> joint_shape(std::span<const Shape> shapes);

/// The dtype in which a composite of several steps computes. f16 can overflow, and 16-bit floats would lose precision
/// at each step.
inline DType wide_dtype(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype; }

/// Casts a 16-bit float tensor of `dtype` to f32. Leaves other dtypes alone; the op that reads them checks them.
inline Tensor widen(Tensor x, DType dtype) {
  const bool is_narrow = x.is_valid() && x.dtype() == dtype && wide_dtype(dtype) != dtype;
  return is_narrow ? cast(x, wide_dtype(dtype)) : x;
}

/// Casts the result back to `dtype`, rounding once.
inline Tensor narrow(Tensor x, DType dtype) { return x.is_valid() && wide_dtype(dtype) != dtype ? cast(x, dtype) : x; }

// Checks of arguments. A parameter must have the dtype of operand 0, or the one in which the composite computes.

/// "scale is f32[7], expected f32 that broadcasts to operand 0, f32[4x8]; reshape or cast it"
Status expect_broadcast(std::string_view what, const TensorType& parameter, const TensorType& x);
/// "scale is f32[7], expected f32[8], one per channel of operand 0, f32[2x8x4]; reshape or cast it"
Status expect_per_channel(std::string_view what, const TensorType& parameter, const TensorType& x);
/// "the result would be f32[...], which ..."; for shapes that the arguments determine.
Status expect_within_limits(const TensorType& result);

}  // namespace millrace
