// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "millrace/graph/functions.h"

namespace millrace {

/// The builder of the first tensor that has one. Tensors without a builder come from an earlier mistake, or from a
/// default-constructed Tensor, which the builder reports when any operand has one.
GraphBuilder* builder_of(std::span<const Tensor> tensors);
inline GraphBuilder* builder_of(std::initializer_list<Tensor> tensors) {
  return builder_of(std::span(tensors.begin(), tensors.size()));
}

/// The result of a function that found no memory for its own lists: "%7 = einsum: out of memory; ..." goes to the
/// builder, if there is one.
Tensor fail_without_memory(GraphBuilder* builder, std::string_view function);

/// Refuses what a composite was given: "%7 = einsum: found, expected; what to do".
Tensor refuse(GraphBuilder& graph, std::string_view composite, std::string_view what);

/// What a composite of several steps computes in: 16-bit floats overflow, and lose at each step, where f32 does not.
inline DType wide_dtype(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype; }

/// A tensor of `dtype` in the dtype to compute in. Others stay: what reads them judges them.
inline Tensor widen(Tensor x, DType dtype) {
  const bool is_narrow = x.is_valid() && x.dtype() == dtype && wide_dtype(dtype) != dtype;
  return is_narrow ? cast(x, wide_dtype(dtype)) : x;
}

/// The way back, once for the result.
inline Tensor narrow(Tensor x, DType dtype) { return x.is_valid() && wide_dtype(dtype) != dtype ? cast(x, dtype) : x; }

}  // namespace millrace
