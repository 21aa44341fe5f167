// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tests/reference/ranges.h"

namespace millrace::test {

struct Tolerance {
  double max_ulp = 0;                        // 0: bit for bit, but for the payload of NaN
  std::span<const long double> bounds = {};  // one per element; instead of max_ulp
  bool same_nan_bits = false;                // values that are only moved keep NaN payloads
};

/// The first element that differs too much, "element 7: found 1.5, expected 1.25 (2 ulp, at most 1)"; "" if none does.
/// Precondition: equal dtypes.
std::string find_difference(const reference::Tensor& found, const reference::Tensor& expected, const Tolerance&);

/// The first element that is not in its range, "element 3: found 1.5, expected 1 to 1.25"; "" for none. Elements that
/// are known are compared bit for bit, except for the payload of NaN. Precondition: equal types.
std::string find_outside(const reference::Tensor& found, const reference::Range& expected);

}  // namespace millrace::test
