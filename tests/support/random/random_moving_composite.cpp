// SPDX-License-Identifier: Apache-2.0
#include "millrace/graph/composites.h"
#include "tests/support/random/random_operand.h"

namespace millrace::test {
namespace {

RandomComposite choose_where(RandomChoice& random, const TensorType& x) {
  TensorType condition{DType::kBool, x.shape}, other = x;
  for (std::size_t d = 0; d < x.shape.rank(); ++d) {
    if (random.chance(30)) condition.shape[d] = 1;
    if (random.chance(30)) other.shape[d] = 1;
  }
  return {{x, condition, other}, [](Tensors t) { return where(t[1], t[0], t[2]); }};
}

/// Two operands of a function; the second lacks dims, or has extent 1 for some.
RandomComposite choose_broadcast(RandomChoice& random, const TensorType& like) {
  const TensorType x{like.dtype == DType::kBool ? DType::kF32 : like.dtype, like.shape};
  TensorType y = x;
  const auto first = static_cast<std::ptrdiff_t>(random.below(x.shape.rank() + 1));
  y.shape = Shape(std::vector<SizeExpr>(x.shape.dims().begin() + first, x.shape.dims().end()));
  for (std::size_t d = 0; d < y.shape.rank(); ++d) {
    if (random.chance(30)) y.shape[d] = 1;
  }
  const bool is_swapped = random.chance(50);
  return {{x, y}, [=](Tensors t) { return is_swapped ? max(t[1], t[0]) : t[0] - t[1]; }};
}

RandomComposite choose_pieces(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, like, 1);
  const std::int64_t axis = random.any_axis(x.shape.rank());
  const auto rank = static_cast<std::int64_t>(x.shape.rank());
  const SizeExpr extent = x.shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
  const SizeExpr cut = min(extent, random.any_extent());
  return {{x}, [=](Tensors t) {
            const std::vector<Tensor> parts = split(t[0], std::vector<SizeExpr>{cut, extent - cut}, axis);
            return concat({parts[1], parts[0]}, axis);
          }};
}

RandomComposite choose_stack(RandomChoice& random, const TensorType& like) {
  const std::int64_t axis = random.any_axis(like.shape.rank() + 1);
  return {{like, like}, [axis](Tensors t) { return stack({t[0], t[1]}, axis); }};
}

RandomComposite choose_squeeze(RandomChoice& random, const TensorType& like) {
  const std::int64_t axis = random.any_axis(like.shape.rank() + 1);
  return {{like}, [axis](Tensors t) { return squeeze(unsqueeze(t[0], {axis}), {axis}); }};
}

RandomComposite choose_tile(RandomChoice& random, const TensorType& like) {
  std::vector<SizeExpr> repeats;
  for (std::size_t d = 0; d < like.shape.rank(); ++d) repeats.push_back(random.from_1_to(2));
  return {{like}, [repeats](Tensors t) { return tile(t[0], repeats); }};
}

RandomComposite choose_flip_or_roll(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, like, 1);
  const std::int64_t axis = random.any_axis(x.shape.rank()), shift = random.from_1_to(9) - 5;
  const bool is_flip = random.chance(50);
  return {{x}, [=](Tensors t) { return is_flip ? flip(t[0], {axis}) : roll(t[0], shift, axis); }};
}

RandomComposite choose_border(RandomChoice& random, const TensorType& like) {
  TensorType x = with_rank(random, like, 1);
  const std::size_t dim = random_dim(random, x);
  x.shape[dim] = max(x.shape[dim], 3);
  std::vector<SizeExpr> low(x.shape.rank(), 0), high = low;
  low[dim] = random.from_1_to(3) - 1;
  high[dim] = random.from_1_to(3) - 1;
  const bool is_mirrored = random.chance(50);
  return {{x}, [=](Tensors t) { return is_mirrored ? pad_reflect(t[0], low, high) : pad_edge(t[0], low, high); }};
}

RandomComposite choose_depth(RandomChoice& random, const TensorType& like) {
  TensorType x = of_rank(random, like, 4);
  const std::int64_t block = random.from_1_to(3);
  const bool is_deep = random.chance(50);
  const DepthOrder order = random.chance(50) ? DepthOrder::kBlockFirst : DepthOrder::kChannelFirst;
  for (std::size_t d = 2; d < 4 && is_deep; ++d) x.shape[d] = x.shape[d] * block;
  if (!is_deep) x.shape[1] = random.from_1_to(2) * block * block;
  return {{x}, [=](Tensors t) { return is_deep ? space_to_depth(t[0], block) : depth_to_space(t[0], block, order); }};
}

/// Indices are 0 and -1.
RandomComposite choose_scatter_elements(RandomChoice& random, const TensorType& like) {
  TensorType x = with_rank(random, like, 1);
  const std::size_t dim = random_dim(random, x);
  x.shape[dim] = max(x.shape[dim], 1);
  TensorType updates = x;
  updates.shape[dim] = random.any_extent();
  return {{x, updates}, [=](Tensors t) {
            const Tensor count = iota(*t[0].builder(), DType::kI32, updates.shape, static_cast<std::int64_t>(dim));
            return scatter_elements(t[0], rem(count, 2) * -1, t[1], static_cast<std::int64_t>(dim));
          }};
}

/// All of x, or every other element, backwards along one dim.
RandomComposite choose_slice_backwards(RandomChoice& random, const TensorType& like) {
  TensorType x = with_rank(random, like, 1);
  const std::size_t dim = random_dim(random, x);
  x.shape[dim] = max(x.shape[dim], 1);
  std::vector<SizeExpr> start(x.shape.rank(), 0), stop = x.shape.dims();
  std::vector<std::int64_t> step(x.shape.rank(), 1);
  start[dim] = -1;
  stop[dim] = -1 - x.shape[dim];
  step[dim] = -random.from_1_to(2);
  return {{x}, [=](Tensors t) { return slice(t[0], start, stop, step); }};
}

RandomComposite choose_one_hot(RandomChoice& random, const TensorType& like) {
  const SizeExpr depth = random.any_extent();
  const DType dtype = random.any_dtype();
  return {{as_integer(like)}, [=](Tensors t) { return one_hot(t[0], depth, dtype); }};
}

RandomComposite choose_trilu(RandomChoice& random, const TensorType& like) {
  const bool upper = random.chance(50);
  const std::int64_t diagonal = random.from_1_to(5) - 3;
  return {{with_rank(random, like, 2)}, [=](Tensors t) { return trilu(t[0], upper, diagonal); }};
}

/// Indices are 0 and -1, which all have that have any.
RandomComposite choose_gather_nd(RandomChoice& random, const TensorType& like) {
  TensorType x = with_rank(random, like, 1);
  const auto parts = static_cast<std::int64_t>(1 + random_dim(random, x));
  for (std::size_t d = 0; d < static_cast<std::size_t>(parts); ++d) x.shape[d] = max(x.shape[d], 1);
  const SizeExpr count = random.any_extent();
  return {{x}, [=](Tensors t) {
            const Tensor part = iota(*t[0].builder(), DType::kI64, {count, parts}, 0);
            return gather_nd(t[0], cast(cast(part, DType::kBool), DType::kI64) * -1);
          }};
}

/// Indices are 0 and -1, as above. Updates are of x's dtype.
RandomComposite choose_scatter_nd(RandomChoice& random, const TensorType& like) {
  TensorType x = with_rank(random, like, 1);
  const auto parts = static_cast<std::int64_t>(1 + random_dim(random, x));
  for (std::size_t d = 0; d < static_cast<std::size_t>(parts); ++d) x.shape[d] = max(x.shape[d], 1);
  const SizeExpr count = random.any_extent();
  std::vector<SizeExpr> rest(x.shape.dims().begin() + parts, x.shape.dims().end());
  rest.insert(rest.begin(), count);
  return {{x, {x.dtype, Shape(rest)}}, [=](Tensors t) {
            const Tensor part = iota(*t[0].builder(), DType::kI64, {count, parts}, 0);
            return scatter_nd(t[0], rem(part, 2) * -1, t[1]);
          }};
}

/// From a number, or from the same as a tensor.
RandomComposite choose_update_slice(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, like, 1);
  const std::size_t dim = random_dim(random, x);
  const std::int64_t axis = static_cast<std::int64_t>(dim);
  TensorType update = x;
  update.shape[dim] = min(random.any_extent(), x.shape[dim]);
  const SizeExpr last = x.shape[dim] - update.shape[dim];
  const SizeExpr start = min(random.from_1_to(9) - 1, last);
  const bool is_tensor = random.chance(50);
  return {{x, update}, [=](Tensors t) {
            if (!is_tensor) return update_slice(t[0], t[1], axis, start);
            return update_slice(t[0], t[1], axis, size_of(*t[0].builder(), start));
          }};
}

/// choose_nonzero with room for all or for a few of the nonzero elements.
RandomComposite choose_nonzero(RandomChoice& random, const TensorType& x) {
  const SizeExpr bound = random.chance(50) ? x.shape.num_elements() : random.any_extent();
  return {{x}, [=](Tensors t) {
            const IndicesAndCount found = nonzero(t[0], bound);
            return found.indices * 3 + found.count;
          }};
}

RandomComposite choose_unique(RandomChoice& random, const TensorType& like) {
  const TensorType x = of_rank(random, like, 1);
  const SizeExpr bound = random.chance(50) ? x.shape[0] : random.any_extent();
  const std::uint64_t wanted = random.below(3);
  return {{x}, [=](Tensors t) {
            const UniqueResults found = unique(t[0], bound);
            if (wanted == 0) return found.values;
            return wanted == 1 ? found.inverse + found.count : found.counts * 1000 + found.first_indices;
          }};
}

/// Few values, so that pairs are few too.
RandomComposite choose_searchsorted(RandomChoice& random, const TensorType& like) {
  TensorType x = with_rank(random, like, 1);
  if (x.dtype == DType::kBool) x.dtype = DType::kI8;
  TensorType values = x;
  values.shape[x.shape.rank() - 1] = random.from_1_to(4) - 1;
  const bool is_right = random.chance(50);
  return {{x, values}, [=](Tensors t) { return searchsorted(sort(t[0]).values, t[1], is_right); }};
}

RandomComposite choose_cumulative_argmax(RandomChoice& random, const TensorType& like) {
  TensorType x = with_rank(random, like, 1);
  if (x.dtype == DType::kBool) x.dtype = DType::kI8;
  return {{x}, [axis = random.any_axis(x.shape.rank())](Tensors t) { return cumulative_argmax(t[0], axis); }};
}

RandomComposite choose_resize(RandomChoice& random, const TensorType& like) {
  constexpr ResizeCoordinates kCoordinates[] = {ResizeCoordinates::kHalfPixel, ResizeCoordinates::kAlignCorners,
                                                ResizeCoordinates::kAsymmetric};
  const ResizeMode mode = random.chance(50) ? ResizeMode::kNearest : ResizeMode::kLinear;
  const ResizeCoordinates coordinates = random.one_of(kCoordinates);
  TensorType x = with_rank(random, mode == ResizeMode::kLinear ? as_float(like) : like, 1);
  const std::size_t dim = random_dim(random, x);
  x.shape[dim] = max(x.shape[dim], 1);  // nothing has no nearest
  const std::int64_t axis = static_cast<std::int64_t>(dim);
  const SizeExpr to = random.any_extent();
  return {{x}, [=](Tensors t) { return resize(t[0], {axis}, {to}, mode, coordinates); }};
}

RandomComposite choose_topk(RandomChoice& random, const TensorType& like) {
  constexpr DType kIntegers[] = {DType::kI8, DType::kU32, DType::kI64};
  const TensorType x = with_rank(random, like, 1);
  const std::size_t dim = random_dim(random, x);
  const SizeExpr k = min(random.any_extent(), x.shape[dim]);
  const TopKAttrs attributes{.axis = static_cast<std::int64_t>(dim), .largest = random.chance(50)};
  const TensorType indices{random.one_of(kIntegers), x.shape};
  return {{x, indices}, [=](Tensors t) {
            const ValuesAndIndices top = topk(t[0], t[1], k, attributes);
            if (attributes.largest) return top.indices;
            return select(equal(top.values, top.values), top.indices, top.indices * 0);  // both, 0 for NaN
          }};
}

constexpr CompositeRow kComposites[] = {
    {"where", choose_where},
    {"broadcast", choose_broadcast},
    {"pieces", choose_pieces},
    {"stack", choose_stack},
    {"squeeze", choose_squeeze},
    {"tile", choose_tile},
    {"flip_or_roll", choose_flip_or_roll},
    {"border", choose_border},
    {"depth", choose_depth},
    {"scatter_elements", choose_scatter_elements},
    {"slice_backwards", choose_slice_backwards},
    {"one_hot", choose_one_hot},
    {"trilu", choose_trilu},
    {"gather_nd", choose_gather_nd},
    {"scatter_nd", choose_scatter_nd},
    {"update_slice", choose_update_slice},
    {"nonzero", choose_nonzero},
    {"unique", choose_unique},
    {"searchsorted", choose_searchsorted},
    {"cumulative_argmax", choose_cumulative_argmax},
    {"topk", choose_topk},
    {"resize", choose_resize},
};

}  // namespace

std::span<const CompositeRow> moving_composites() { return kComposites; }

}  // namespace millrace::test
