// SPDX-License-Identifier: Apache-2.0
// The checks of windows that convolutions and pools share.
#include "ops/window.h"

#include <fmt/format.h>

namespace millrace::ops {

Status check_window_attributes(const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& padding) {
  MILLRACE_TRY(expect_entries("strides", strides.size(), 2, "h, w"));
  MILLRACE_TRY(expect_at_least("strides", strides, 1));
  MILLRACE_TRY(expect_entries("padding", padding.size(), 4, "h low, w low, h high, w high"));
  return expect_at_least("padding", padding, 0);
}

WindowDims make_window_dims(const Shape& input, const std::array<SizeExpr, 2>& window,
                            const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& padding) {
  return {WindowDim{input[2], window[0], strides[0], padding[0], padding[2]},
          WindowDim{input[3], window[1], strides[1], padding[1], padding[3]}};
}

Status expect_window_fits(Types operands, const WindowDims& dims, std::vector<SizeRequirement>& requirements) {
  constexpr std::string_view kWhat[] = {"rows", "columns"};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (require_at_most(dims[i].span(), dims[i].input + dims[i].low + dims[i].high, requirements)) continue;
    return invalid_argument(fmt::format(
        "operand 0 is {}, with {} + {} {} of padding, expected at least {} for the window; pad it or shrink the window",
        operands[0].to_text(), dims[i].low, dims[i].high, kWhat[i], dims[i].span().to_text()));
  }
  return {};
}

}  // namespace millrace::ops
