// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "millrace/graph/builder.h"

namespace millrace {

/// A dim, and how often each of its points is repeated in place: a, a, b, b, c, c.
struct RepeatedDim {
  std::size_t dim = 0;
  std::int64_t times = 1;
};

/// Repeats the points of some dims, which are in ascending order: one kernel for up to two dims.
Tensor repeat_points(Tensor x, std::span<const RepeatedDim> dims);

/// Returns n if `to` is `from` * n for an n from 2 to 16; otherwise 0.
std::int64_t whole_factor(const SizeExpr& from, const SizeExpr& to);

}  // namespace millrace
