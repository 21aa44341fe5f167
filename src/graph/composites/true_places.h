// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/composites/composite.h"

namespace millrace {

/// Where a vector of bools is true. All tensors except `count` and `is_place` have `dtype`, which is i32 if i32 holds
/// every index.
struct TruePlaces {
  DType dtype = DType::kI64;
  Tensor count;     // i64 scalar: the number of true elements
  Tensor places;    // [bound]: the indices of the first `bound` true elements, then any valid indices (0 if n is 0)
  Tensor is_place;  // bool [bound]: which elements of `places` are indices of true elements
  Tensor ones;      // [n]: 1 for each true element, otherwise 0
  Tensor before;    // [n]: the number of true elements before each element
};

/// is_true: bool [n]. O(n + bound).
TruePlaces find_true(Tensor is_true, const SizeExpr& bound);

/// Checks the bound of a composite's results. If it is below 0, reports that to the builder and returns false.
bool check_bound(const Composite&, const SizeExpr& bound);

}  // namespace millrace
