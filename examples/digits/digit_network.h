// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/millrace.h"

namespace digits {

inline constexpr std::int64_t kGuesses = 3;

/// The network of train_digits.py with its trained weights.
/// images f32 [batch,1,8,8] -> probabilities f32 [batch,3] and classes i64 [batch,3], most probable first. `batch` may
/// be a symbol.
millrace::Result<millrace::Graph> build_digit_network(const millrace::Safetensors& weights, millrace::SizeExpr batch);

}  // namespace digits
