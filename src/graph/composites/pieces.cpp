// SPDX-License-Identifier: Apache-2.0
// Composites that cut tensors into pieces, join and repeat them, and add or drop axes of extent 1.
#include <algorithm>

#include "graph/composites/axes.h"
#include "graph/composites/composite.h"
#include "graph/composites/repeat.h"
#include "ops/infer.h"

namespace millrace {
namespace {

/// Elements [start, stop) along `axis`, and everything along the other dims.
Tensor slice_axis(Tensor x, std::size_t axis, const SizeExpr& start, const SizeExpr& stop) {
  std::vector<SizeExpr> starts(x.shape().rank(), 0), stops = x.shape().dims();
  starts[axis] = start;
  stops[axis] = stop;
  return slice(x, std::move(starts), std::move(stops));
}

}  // namespace

std::vector<Tensor> split(Tensor x, std::vector<SizeExpr> sizes, std::int64_t axis) {
  std::vector<Tensor> built = build_composite({x}, [&](Composite& composite) -> std::vector<Tensor> {
    const std::optional<std::size_t> dim = find_axis(composite, x, axis);
    if (!dim) return {};
    SizeExpr sum = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i].upper_bound() < 0) {
        composite.refuse(fmt::format("sizes[{}] is {}, expected 0 or more; correct it", i, sizes[i].to_text()));
        return {};
      }
      sum = sum + sizes[i];
    }
    if (sum != x.shape()[*dim]) {
      composite.refuse(fmt::format("sizes add up to {}, expected {}, the extent of axis {} of {}; correct them",
                                   sum.to_text(), x.shape()[*dim].to_text(), *dim, x.type().to_text()));
      return {};
    }
    SizeExpr start = 0;
    std::vector<Tensor> parts;
    for (const SizeExpr& size : sizes) {
      parts.push_back(slice_axis(x, *dim, start, start + size));
      start = start + size;
    }
    return parts;
  });
  return or_invalid(std::move(built), sizes.size());
}

std::vector<Tensor> split_evenly(Tensor x, std::int64_t num_parts, std::int64_t axis) {
  constexpr std::int64_t kMaxParts = 4096;
  const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(num_parts, 0, kMaxParts));
  std::vector<Tensor> built = build_composite({x}, [&](Composite& composite) -> std::vector<Tensor> {
    const std::optional<std::size_t> dim = find_axis(composite, x, axis);
    if (!dim) return {};
    const SizeExpr extent = x.shape()[*dim];
    if (num_parts < 1 || num_parts > kMaxParts || extent.known_multiple() % num_parts != 0) {
      composite.refuse(
          fmt::format("{} parts of axis {} of {}, expected a number up to {} that divides its extent; split by sizes",
                      num_parts, *dim, x.type().to_text(), kMaxParts));
      return {};
    }
    return split(x, std::vector<SizeExpr>(count, floor_div(extent, num_parts)), axis);
  });
  return or_invalid(std::move(built), count);
}

Tensor unsqueeze(Tensor x, std::vector<std::int64_t> axes) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    const std::size_t rank = x.shape().rank() + axes.size();
    const std::optional<std::vector<bool>> is_new = find_axes(composite, x, axes, rank);
    if (!is_new) return {};
    std::vector<SizeExpr> dims;
    std::size_t from = 0;
    for (std::size_t d = 0; d < rank; ++d) dims.push_back((*is_new)[d] ? SizeExpr(1) : x.shape()[from++]);
    return reshape(x, Shape(std::move(dims)));
  });
}

Tensor squeeze(Tensor x, std::vector<std::int64_t> axes) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    const std::optional<std::vector<bool>> is_gone = find_axes(composite, x, axes, x.shape().rank());
    if (!is_gone) return {};
    std::vector<SizeExpr> dims;
    for (std::size_t d = 0; d < x.shape().rank(); ++d) {
      const SizeExpr& extent = x.shape()[d];
      if (!(*is_gone)[d]) {
        dims.push_back(extent);
      } else if (!extent.is(1)) {
        return composite.refuse(fmt::format("axis {} of {} has extent {}, expected 1; choose another axis", d,
                                            x.type().to_text(), extent.to_text()));
      }
    }
    return reshape(x, Shape(std::move(dims)));
  });
}

Tensor stack(std::span<const Tensor> tensors, std::int64_t axis) {
  return build_composite(tensors, [&](Composite& composite) -> Tensor {
    for (std::size_t i = 1; i < tensors.size(); ++i) {
      if (!composite.passes(ops::expect_like(composite.types(), i, 0))) return {};
    }
    std::vector<Tensor> pieces;
    for (const Tensor& tensor : tensors) pieces.push_back(unsqueeze(tensor, {axis}));
    return concat(pieces, axis);
  });
}

Tensor roll(Tensor x, std::int64_t shift, std::int64_t axis) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    const std::optional<std::size_t> dim = find_axis(composite, x, axis);
    if (!dim) return {};
    const SizeExpr extent = x.shape()[*dim];
    if (extent.is(0)) return x;
    if (extent.is_constant()) {
      const std::int64_t first = (extent.constant() - shift % extent.constant()) % extent.constant();
      if (first == 0) return x;
      Tensor head = slice_axis(x, *dim, first, extent);
      return concat({head, slice_axis(x, *dim, 0, first)}, axis);
    }
    // Where to cut the row is known only at run time.
    GraphBuilder& graph = *x.builder();
    Tensor size = size_of(graph, extent);
    Tensor places = rem(size_of(graph, shift), size);
    Tensor moved = iota(graph, DType::kI64, {extent}, 0) - places;
    return gather(x, rem(rem(moved, size) + size, size), axis);
  });
}

Tensor flip(Tensor x, std::vector<std::int64_t> axes) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    const std::optional<std::vector<bool>> is_flipped = find_axes(composite, x, axes, x.shape().rank());
    if (!is_flipped) return {};
    GraphBuilder& graph = *x.builder();
    for (std::size_t d = 0; d < is_flipped->size() && x.is_valid(); ++d) {
      if (!(*is_flipped)[d]) continue;
      const SizeExpr extent = x.shape()[d];
      Tensor last = size_of(graph, extent) - 1;
      x = gather(x, last - iota(graph, DType::kI64, {extent}, 0), static_cast<std::int64_t>(d));
    }
    return x;
  });
}

std::int64_t whole_factor(const SizeExpr& from, const SizeExpr& to) {
  constexpr std::int64_t kMaxFactor = 16;
  for (std::int64_t factor = 2; factor <= kMaxFactor && from != to; ++factor) {
    if (to == from * factor) return factor;
  }
  return 0;
}

/// Two dims at a time, because each gets a neighbour and ranks are limited. The dims between them are joined.
Tensor repeat_points(Tensor x, std::span<const RepeatedDim> dims) {
  constexpr std::size_t kAtOnce = 2;
  for (std::size_t first = 0; first < dims.size() && x.is_valid(); first += kAtOnce) {
    const std::vector<SizeExpr> old = x.shape().dims();
    std::vector<SizeExpr> joined = {1}, repeated = {1}, result = old;
    std::vector<std::int64_t> kept = {0};
    std::size_t next = first;
    for (std::size_t d = 0; d < old.size(); ++d) {
      if (next == std::min(first + kAtOnce, dims.size()) || dims[next].dim != d) {
        joined.back() = repeated.back() = joined.back() * old[d];
        continue;
      }
      const std::int64_t times = dims[next++].times;
      result[d] = old[d] * times;
      joined.insert(joined.end(), {old[d], SizeExpr(1)});
      repeated.insert(repeated.end(), {old[d], SizeExpr(times), SizeExpr(1)});
      kept.push_back(std::ssize(repeated) - 3);
      kept.push_back(std::ssize(repeated) - 1);
    }
    Tensor parts = reshape(x, Shape(std::move(joined)));
    x = reshape(broadcast(parts, Shape(std::move(repeated)), kept), Shape(std::move(result)));
  }
  return x;
}

/// Repeats one axis at a time. Joins the dims before the axis, and the axis with the dims after it, so that the rank
/// stays below the limit.
Tensor tile(Tensor x, std::vector<SizeExpr> repeats) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (repeats.size() != x.shape().rank()) {
      return composite.refuse(
          fmt::format("{} repeats for {}, expected one per dim; correct them", repeats.size(), x.type().to_text()));
    }
    TensorType result = x.type();
    for (std::size_t d = 0; d < repeats.size(); ++d) {
      if (repeats[d].upper_bound() < 0) {
        return composite.refuse(fmt::format("dim {} of {} is repeated {} times, expected 0 or more; correct it", d,
                                            x.type().to_text(), repeats[d].to_text()));
      }
      result.shape[d] = result.shape[d] * repeats[d];
    }
    if (!composite.passes(expect_within_limits(result))) return {};
    for (std::size_t d = 0; d < repeats.size() && x.is_valid(); ++d) {
      if (repeats[d].is(1)) continue;
      std::vector<SizeExpr> dims = x.shape().dims();
      SizeExpr before = 1, rest = 1;
      for (std::size_t i = 0; i < dims.size(); ++i) (i < d ? before : rest) = (i < d ? before : rest) * dims[i];
      dims[d] = dims[d] * repeats[d];
      Tensor repeated = broadcast(reshape(x, {before, rest}), {before, repeats[d], rest}, {0, 2});
      x = reshape(repeated, Shape(std::move(dims)));
    }
    return x;
  });
}

}  // namespace millrace
