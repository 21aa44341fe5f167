// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/composites/composite.h"

namespace millrace {

/// Where a vector of bools is true. All but the count are of `dtype`, which is i32 where that holds every number.
struct TruePlaces {
  DType dtype = DType::kI64;
  Tensor count;     // i64 scalar: how many there are
  Tensor places;    // [bound]: the first `bound` of them in order, then any place, or 0 where there are none
  Tensor is_place;  // bool [bound]: which of these are such
  Tensor ones;      // [n]: 1 where it is true, otherwise 0
  Tensor before;    // [n]: the sum of those before each
};

/// is_true: bool [n]. O(n + bound).
TruePlaces find_true(Tensor is_true, const SizeExpr& bound);

/// The bound of a composite's results, or false after telling the builder that it is below 0.
bool check_bound(GraphBuilder& graph, std::string_view composite, const SizeExpr& bound);

}  // namespace millrace
