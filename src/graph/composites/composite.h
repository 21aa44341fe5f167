// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "millrace/graph/composites.h"

namespace millrace {

/// The builder of the first tensor that has one. A tensor without a builder comes from an earlier mistake or is
/// default-constructed; the builder reports the latter if any operand has a builder.
GraphBuilder* builder_of(std::span<const Tensor> tensors);
inline GraphBuilder* builder_of(std::initializer_list<Tensor> tensors) {
  return builder_of(std::span(tensors.begin(), tensors.size()));
}

/// Reports to the builder, if there is one, that a function ran out of memory: "%7 = einsum: out of memory; ...".
Tensor fail_without_memory(GraphBuilder* builder, std::string_view function);

/// Rejects a composite's arguments: "%7 = einsum: found, expected; what to do".
Tensor refuse(GraphBuilder& graph, std::string_view composite, std::string_view what);

/// The shape to which NumPy would broadcast them: dims are aligned at the last one, and each is equal in all, or 1 or
/// missing. Empty if they do not fit.
std::optional<Shape> joint_shape(std::span<const Shape> shapes);

/// The dtype in which a composite of several steps computes. f16 can overflow, and 16-bit floats lose precision at each
/// step.
inline DType wide_dtype(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype; }

/// Casts a 16-bit float tensor of `dtype` to f32. Leaves other dtypes for the reading op to check.
inline Tensor widen(Tensor x, DType dtype) {
  const bool is_narrow = x.is_valid() && x.dtype() == dtype && wide_dtype(dtype) != dtype;
  return is_narrow ? cast(x, wide_dtype(dtype)) : x;
}

/// Casts the result back to `dtype`, rounding once.
inline Tensor narrow(Tensor x, DType dtype) { return x.is_valid() && wide_dtype(dtype) != dtype ? cast(x, dtype) : x; }

}  // namespace millrace
