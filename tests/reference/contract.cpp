// SPDX-License-Identifier: Apache-2.0
// Evaluates dot, convolution and pools of the oracle.
#include <algorithm>

#include "tests/reference/families.h"

namespace millrace::reference {
namespace {

/// Which operand dims a dot's result and sum walk.
struct DotSide {
  std::vector<std::size_t> batch, contract, free;
};

DotSide dot_side(std::size_t rank, const std::vector<std::int64_t>& batch, const std::vector<std::int64_t>& contract) {
  DotSide side;
  std::vector<bool> is_free(rank, true);
  for (const std::int64_t d : batch) side.batch.push_back(from_front(d, rank));
  for (const std::int64_t d : contract) side.contract.push_back(from_front(d, rank));
  for (const std::size_t d : side.batch) is_free[d] = false;
  for (const std::size_t d : side.contract) is_free[d] = false;
  for (std::size_t d = 0; d < rank; ++d) {
    if (is_free[d]) side.free.push_back(d);
  }
  return side;
}

/// Offsets of every index over the chosen dims, in row-major order of the choice.
std::vector<std::size_t> offsets_over(const Extents& extents, const std::vector<std::size_t>& dims) {
  const Extents strides = row_major_strides(extents);
  Extents chosen, chosen_strides;
  for (const std::size_t d : dims) {
    chosen.push_back(extents[d]);
    chosen_strides.push_back(strides[d]);
  }
  std::vector<std::size_t> offsets;
  for_each_index(chosen, [&](const Extents& index) {
    offsets.push_back(static_cast<std::size_t>(offset_of(index, chosen_strides)));
  });
  return offsets;
}

struct Window {
  std::int64_t output, input, stride, low, dilation = 1;
  std::int64_t position(std::int64_t out, std::int64_t k) const { return out * stride + k * dilation - low; }
  bool contains(std::int64_t position) const { return position >= 0 && position < input; }
};

Window window_of(const Extents& x, std::size_t d, std::int64_t size, const std::vector<std::int64_t>& strides,
                 const std::vector<std::int64_t>& padding) {
  const std::int64_t padded = x[2 + d] + padding[d] + padding[2 + d];
  return {(padded - size) / strides[d] + 1, x[2 + d], strides[d], padding[d]};
}

/// PyTorch's rule of ceil_mode: a further window for each beginning that lies before the end of the operand, as long as
/// something of the padded operand is left over.
std::int64_t windows_rounded_up(const Window& window, std::int64_t size, std::int64_t high) {
  std::int64_t windows = 1;
  for (std::int64_t begin = -window.low; begin + size < window.input + high; begin += window.stride) {
    if (begin + window.stride < window.input) ++windows;
  }
  return windows;
}

}  // namespace

Tensor dot(const DotAttrs& attrs, Operands operands, DType dtype) {
  const Extents x_extents = operands[0].extents(), y_extents = operands[1].extents();
  const DotSide x_side = dot_side(x_extents.size(), attrs.x_batch, attrs.x_contract);
  const DotSide y_side = dot_side(y_extents.size(), attrs.y_batch, attrs.y_contract);
  Extents result;
  for (const std::size_t d : x_side.batch) result.push_back(x_extents[d]);
  for (const std::size_t d : x_side.free) result.push_back(x_extents[d]);
  for (const std::size_t d : y_side.free) result.push_back(y_extents[d]);
  const auto x_batch = offsets_over(x_extents, x_side.batch), y_batch = offsets_over(y_extents, y_side.batch);
  const auto x_free = offsets_over(x_extents, x_side.free), y_free = offsets_over(y_extents, y_side.free);
  const auto x_sum = offsets_over(x_extents, x_side.contract), y_sum = offsets_over(y_extents, y_side.contract);
  return visit_wide(dtype, [&]<class W>() {
    const std::vector<W> x = read_all<W>(operands[0]), y = read_all<W>(operands[1]);
    std::vector<W> results;
    results.reserve(static_cast<std::size_t>(count(result)));
    for (std::size_t b = 0; b < x_batch.size(); ++b) {
      for (const std::size_t m : x_free) {
        for (const std::size_t n : y_free) {
          W sum = 0;
          for (std::size_t k = 0; k < x_sum.size(); ++k) {
            const W term = product(x[x_batch[b] + m + x_sum[k]], y[y_batch[b] + n + y_sum[k]]);
            sum = wrap(dtype, static_cast<W>(sum + wrap(dtype, term)));
          }
          results.push_back(sum);
        }
      }
    }
    return make_tensor(dtype, result, results);
  });
}

Tensor conv2d(const Conv2dAttrs& attrs, Operands operands, DType dtype) {
  const Extents x_extents = operands[0].extents(), w_extents = operands[1].extents();
  const auto span = [&](std::size_t d) { return (w_extents[2 + d] - 1) * attrs.dilations[d] + 1; };
  Window h = window_of(x_extents, 0, span(0), attrs.strides, attrs.padding);
  Window w = window_of(x_extents, 1, span(1), attrs.strides, attrs.padding);
  h.dilation = attrs.dilations[0];
  w.dilation = attrs.dilations[1];
  const std::int64_t all_channels = x_extents[1], channels = w_extents[1], filters = w_extents[0] / attrs.groups;
  const std::int64_t kh = w_extents[2], kw = w_extents[3];
  const Extents result = {x_extents[0], w_extents[0], h.output, w.output};
  return visit_wide(dtype, [&]<class W>() {
    const std::vector<W> x = read_all<W>(operands[0]), weights = read_all<W>(operands[1]);
    std::vector<W> results;
    results.reserve(static_cast<std::size_t>(count(result)));
    for_each_index(result, [&](const Extents& at) {
      W sum = 0;
      const std::int64_t first = filters == 0 ? 0 : at[1] / filters * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t a = 0; a < kh; ++a) {
          const std::int64_t row = h.position(at[2], a);
          if (!h.contains(row)) continue;
          for (std::int64_t b = 0; b < kw; ++b) {
            const std::int64_t column = w.position(at[3], b);
            if (!w.contains(column)) continue;
            const auto from =
                static_cast<std::size_t>(((at[0] * all_channels + first + c) * h.input + row) * w.input + column);
            const auto weight = static_cast<std::size_t>(((at[1] * channels + c) * kh + a) * kw + b);
            const W term = product(x[from], weights[weight]);
            sum = wrap(dtype, static_cast<W>(sum + wrap(dtype, term)));
          }
        }
      }
      results.push_back(sum);
    });
    return make_tensor(dtype, result, results);
  });
}

Tensor pool2d(Op op, const Pool2dAttrs& attrs, const Tensor& input) {
  const Extents extents = input.extents();
  Window h = window_of(extents, 0, attrs.window[0], attrs.strides, attrs.padding);
  Window w = window_of(extents, 1, attrs.window[1], attrs.strides, attrs.padding);
  if (attrs.ceil_mode) {
    h.output = windows_rounded_up(h, attrs.window[0], attrs.padding[2]);
    w.output = windows_rounded_up(w, attrs.window[1], attrs.padding[3]);
  }
  const auto counts = [&](std::int64_t row, std::int64_t column) {  // as a point of the padded operand
    return row < h.input + attrs.padding[2] && column < w.input + attrs.padding[3];
  };
  const Extents result = {extents[0], extents[1], h.output, w.output};
  const DType dtype = input.type.dtype;
  return visit_wide(dtype, [&]<class W>() {
    const std::vector<W> x = read_all<W>(input);
    std::vector<W> results;
    for_each_index(result, [&](const Extents& at) {
      W maximum = lowest_value<W>(dtype), sum = 0, inside = 0;
      for (std::int64_t a = 0; a < attrs.window[0]; ++a) {
        for (std::int64_t b = 0; b < attrs.window[1]; ++b) {
          const std::int64_t row = h.position(at[2], a), column = w.position(at[3], b);
          if (attrs.count_include_pad && counts(row, column)) inside += 1;
          if (!h.contains(row) || !w.contains(column)) continue;
          const auto from = ((at[0] * extents[1] + at[1]) * h.input + row) * w.input + column;
          maximum = greater(maximum, x[static_cast<std::size_t>(from)]);
          sum += x[static_cast<std::size_t>(from)];
          if (!attrs.count_include_pad) inside += 1;
        }
      }
      results.push_back(op == Op::max_pool2d ? maximum : sum / inside);
    });
    return make_tensor(dtype, result, results);
  });
}

}  // namespace millrace::reference
