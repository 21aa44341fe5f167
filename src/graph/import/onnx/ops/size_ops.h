// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "graph/import/onnx/sizes.h"

namespace millrace {

// Elementwise ops on sizes, by the op's name. Floats are fractions and are not rounded; an f32 would round only
// sizes of 2^24 and more. Each function returns nothing if the result is not known as sizes.

/// Whether combine_by() knows the op.
bool has_size_op(std::string_view op);
/// An op of two operands, with broadcasting.
std::optional<OnnxSizes> combine_by(std::string_view op, const OnnxSizes& a, const OnnxSizes& b);
/// An op of one operand.
std::optional<OnnxSizes> apply_by(std::string_view op, OnnxSizes sizes);
/// A cast of floats to integers rounds towards zero.
std::optional<OnnxSizes> cast_sizes(OnnxSizes sizes, DType to);

}  // namespace millrace
