// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "graph/composites/composite.h"

namespace millrace {
namespace {

using Pool2d = Tensor (*)(Tensor, Pool2dAttrs);

Tensor pool1d(const char* name, Pool2d pool2d, Tensor x, const Pool1dAttributes& attributes) try {
  if (!x.is_valid()) return {};
  const Shape from = x.shape();
  if (from.rank() != 3) {
    return refuse(*x.builder(), name,
                  fmt::format("operand is {}, expected rank 3 (n, c, w); reshape it", x.type().to_text()));
  }
  Tensor y = pool2d(reshape(x, {from[0], from[1], 1, from[2]}),
                    {.window = {1, attributes.window},
                     .strides = {1, attributes.stride},
                     .padding = {0, attributes.padding_low, 0, attributes.padding_high},
                     .count_include_pad = attributes.count_include_pad,
                     .ceil_mode = attributes.ceil_mode});
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

Tensor max_pool1d(Tensor x, Pool1dAttributes attributes) { return pool1d("max_pool1d", max_pool2d, x, attributes); }
Tensor avg_pool1d(Tensor x, Pool1dAttributes attributes) { return pool1d("avg_pool1d", avg_pool2d, x, attributes); }
Tensor global_avg_pool(Tensor x) { return global_pool("global_avg_pool", reduce_mean, x); }
Tensor global_max_pool(Tensor x) { return global_pool("global_max_pool", reduce_max, x); }

}  // namespace millrace
