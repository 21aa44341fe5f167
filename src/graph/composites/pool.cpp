// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "graph/composites/composite.h"

namespace millrace {
namespace {

using Pool2d = Tensor (*)(Tensor, Pool2dAttrs);

/// Pads so much more that the last window that begins inside ends there. A window is longer than such a padding.
Tensor pool_rounded(const char* name, Pool2d pool, Tensor x, Pool2dAttrs attributes, PoolRounding rounding) try {
  if (!x.is_valid()) return {};
  const Shape shape = x.shape();
  const bool is_whole = shape.rank() == 4 && attributes.window.size() == 2 && attributes.strides.size() == 2 &&
                        attributes.padding.size() == 4;
  if (rounding == PoolRounding::kDown || !is_whole) return pool(x, std::move(attributes));  // or the op refuses
  for (std::size_t d = 0; d < 2; ++d) {
    const SizeExpr& extent = shape[2 + d];
    const std::int64_t window = attributes.window[d], stride = attributes.strides[d], low = attributes.padding[d];
    std::int64_t& high = attributes.padding[2 + d];
    if (!extent.is_constant() || attributes.count_include_pad) {
      return refuse(
          *x.builder(), name,
          fmt::format("operand is {}, expected dims h and w that are numbers{} to round their result up; give "
                      "the padding",
                      x.type().to_text(), attributes.count_include_pad ? ", and no count_include_pad," : ""));
    }
    if (stride < 1 || window < 1 || extent.constant() < 1) continue;  // the op's to refuse
    const std::int64_t inside = extent.constant() + low, room = inside + high - window;
    if (room < 0) continue;
    const std::int64_t last = std::min((room + stride - 1) / stride, (inside - 1) / stride) * stride;
    high = std::max(high, last + window - inside);
  }
  return pool(x, std::move(attributes));
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), name);
}

Tensor pool1d(const char* name, Pool2d pool2d, Tensor x, const Pool1dAttributes& attributes) try {
  if (!x.is_valid()) return {};
  const Shape from = x.shape();
  if (from.rank() != 3) {
    return refuse(*x.builder(), name,
                  fmt::format("operand is {}, expected rank 3 (n, c, w); reshape it", x.type().to_text()));
  }
  Tensor y = pool_rounded(name, pool2d, reshape(x, {from[0], from[1], 1, from[2]}),
                          {.window = {1, attributes.window},
                           .strides = {1, attributes.stride},
                           .padding = {0, attributes.padding_low, 0, attributes.padding_high},
                           .count_include_pad = attributes.count_include_pad},
                          attributes.ceil_mode ? PoolRounding::kUp : PoolRounding::kDown);
  return y.is_valid() ? reshape(y, {y.shape()[0], y.shape()[1], y.shape()[3]}) : Tensor();
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), name);
}

Tensor global_pool(const char* name, Tensor (*reduce)(Tensor, std::vector<std::int64_t>, bool), Tensor x) try {
  if (!x.is_valid()) return {};
  if (x.shape().rank() < 3) {
    return refuse(*x.builder(), name,
                  fmt::format("operand is {}, expected dims behind n and c; reshape it", x.type().to_text()));
  }
  std::vector<std::int64_t> axes(x.shape().rank() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return reduce(x, std::move(axes), true);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), name);
}

}  // namespace

Tensor max_pool2d(Tensor x, Pool2dAttrs attributes, PoolRounding rounding) {
  return pool_rounded("max_pool2d", max_pool2d, x, std::move(attributes), rounding);
}
Tensor avg_pool2d(Tensor x, Pool2dAttrs attributes, PoolRounding rounding) {
  return pool_rounded("avg_pool2d", avg_pool2d, x, std::move(attributes), rounding);
}
Tensor max_pool1d(Tensor x, Pool1dAttributes attributes) { return pool1d("max_pool1d", max_pool2d, x, attributes); }
Tensor avg_pool1d(Tensor x, Pool1dAttributes attributes) { return pool1d("avg_pool1d", avg_pool2d, x, attributes); }
Tensor global_avg_pool(Tensor x) { return global_pool("global_avg_pool", reduce_mean, x); }
Tensor global_max_pool(Tensor x) { return global_pool("global_max_pool", reduce_max, x); }

}  // namespace millrace
