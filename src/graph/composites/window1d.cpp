// SPDX-License-Identifier: Apache-2.0
// Checks the windows of 1-d pools and convolutions before they become 2-d.
#include "graph/composites/window1d.h"

#include <fmt/format.h>

#include "ops/infer.h"

namespace millrace {

Status expect_window1d(const TensorType& x, const Window1d& window) {
  struct Bounded {
    const char* name;
    std::int64_t value, minimum;
  };
  for (const auto& [name, value, minimum] :
       {Bounded{"stride", window.stride, 1}, Bounded{"dilation", window.dilation, 1},
        Bounded{"padding_low", window.padding_low, 0}, Bounded{"padding_high", window.padding_high, 0}}) {
    if (value >= minimum) continue;
    return invalid_argument(fmt::format("{} is {}, expected {} or more; correct it", name, value, minimum));
  }
  const SizeExpr span = (window.extent - 1) * window.dilation + 1;
  std::vector<SizeRequirement> left_to_runs;  // ignored: the 2-d op adds the same ones
  if (ops::require_at_most(span, x.shape[2] + window.padding_low + window.padding_high, left_to_runs)) return {};
  return invalid_argument(fmt::format(
      "operand 0 is {}, with {} + {} columns of padding, expected at least {} for the window; pad it or shrink the "
      "window",
      x.to_text(), window.padding_low, window.padding_high, span.to_text()));
}

}  // namespace millrace
