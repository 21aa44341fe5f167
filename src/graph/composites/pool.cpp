// SPDX-License-Identifier: Apache-2.0
// One-dimensional and global pools, built on the two-dimensional pools and reductions.
#include <numeric>

#include "graph/composites/composite.h"
#include "graph/composites/window1d.h"
#include "ops/infer.h"

namespace millrace {
namespace {

using Pool2d = Tensor (*)(Tensor, Pool2dAttrs);

Status check_pool1d(std::span<const TensorType> types, const Pool1dAttributes& attributes) {
  const std::int64_t window = attributes.window, low = attributes.padding_low, high = attributes.padding_high;
  MILLRACE_TRY(ops::expect_rank(types, 0, 3, "n, c, w"));
  if (window < 1) return invalid_argument(fmt::format("window is {}, expected 1 or more; correct it", window));
  MILLRACE_TRY(expect_window1d(types[0], {window, attributes.stride, low, high}));
  for (const auto& [side, padding] : {std::pair("padding_low", low), std::pair("padding_high", high)}) {
    if (padding < window) continue;
    return invalid_argument(fmt::format("{} is {}, expected less than window, {}; shrink it", side, padding, window));
  }
  return {};
}

Tensor pool1d(const Composite& composite, Pool2d pool2d, const ops::DTypeSet& dtypes, Tensor x,
              const Pool1dAttributes& attributes) {
  if (!composite.passes(ops::expect_dtype(composite.types(), 0, dtypes))) return {};
  if (!composite.passes(check_pool1d(composite.types(), attributes))) return {};
  const Shape from = x.shape();
  Tensor y = pool2d(reshape(x, {from[0], from[1], 1, from[2]}),
                    {.window = {1, attributes.window},
                     .strides = {1, attributes.stride},
                     .padding = {0, attributes.padding_low, 0, attributes.padding_high},
                     .count_include_pad = attributes.count_include_pad,
                     .ceil_mode = attributes.ceil_mode});
  return y.is_valid() ? reshape(y, {y.shape()[0], y.shape()[1], y.shape()[3]}) : Tensor();
}

Tensor global_pool(const Composite& composite, Tensor (*reduce)(Tensor, std::vector<std::int64_t>, bool), Tensor x) {
  if (x.shape().rank() < 3) {
    return composite.refuse(fmt::format("operand is {}, expected dims after n and c; reshape it", x.type().to_text()));
  }
  std::vector<std::int64_t> axes(x.shape().rank() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return reduce(x, std::move(axes), true);
}

}  // namespace

Tensor max_pool1d(Tensor x, Pool1dAttributes attributes) {
  return build_composite({x}, [&](Composite& c) { return pool1d(c, max_pool2d, ops::kArithmetic, x, attributes); });
}
Tensor avg_pool1d(Tensor x, Pool1dAttributes attributes) {
  return build_composite({x}, [&](Composite& c) { return pool1d(c, avg_pool2d, ops::kFloats, x, attributes); });
}
Tensor global_avg_pool(Tensor x) {
  return build_composite({x}, [&](Composite& c) { return global_pool(c, reduce_mean, x); });
}
Tensor global_max_pool(Tensor x) {
  return build_composite({x}, [&](Composite& c) { return global_pool(c, reduce_max, x); });
}

}  // namespace millrace
