// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_composite.h"

#include <map>
#include <utility>

#include "millrace/graph/composites.h"

namespace millrace::test {
namespace {

using Tensors = std::span<const Tensor>;

TensorType as_float(const TensorType& x) { return {is_float(x.dtype) ? x.dtype : DType::kF32, x.shape}; }
TensorType as_integer(const TensorType& x) { return {is_integer(x.dtype) ? x.dtype : DType::kI32, x.shape}; }

/// With more dims in front until there are `rank`.
TensorType with_rank(RandomChoice& random, TensorType x, std::size_t rank) {
  std::vector<SizeExpr> dims = x.shape.dims();
  while (dims.size() < rank) dims.insert(dims.begin(), random.any_extent());
  x.shape = Shape(std::move(dims));
  return x;
}
TensorType of_rank(RandomChoice& random, const TensorType& x, std::size_t rank) {
  return x.shape.rank() > rank ? with_rank(random, {x.dtype, {}}, rank) : with_rank(random, x, rank);
}

std::size_t random_dim(RandomChoice& random, const TensorType& x) { return random.below(x.shape.rank()); }

RandomComposite choose_softmax(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, as_float(like), 1);
  return {{x}, [axis = random.any_axis(x.shape.rank())](Tensors t) { return softmax(t[0], axis); }};
}

RandomComposite choose_log_softmax(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, as_float(like), 1);
  return {{x}, [axis = random.any_axis(x.shape.rank())](Tensors t) { return log_softmax(t[0], axis); }};
}

RandomComposite choose_activation(RandomChoice& random, const TensorType& like) {
  constexpr Tensor (*kActivations[])(Tensor) = {gelu, relu,      silu,
                                                mish, gelu_tanh, [](Tensor x) { return elu(x, 0.5); }};
  return {{as_float(like)}, [activation = random.one_of(kActivations)](Tensors t) { return activation(t[0]); }};
}

RandomComposite choose_clamp(RandomChoice& random, const TensorType& like) {
  const auto low = static_cast<double>(random.below(4)) - 2;
  return {{like}, [low](Tensors t) { return clamp(t[0], low, low + 2); }};
}

RandomComposite choose_where(RandomChoice& random, const TensorType& x) {
  TensorType condition{DType::kBool, x.shape}, other = x;
  for (std::size_t d = 0; d < x.shape.rank(); ++d) {
    if (random.chance(30)) condition.shape[d] = 1;
    if (random.chance(30)) other.shape[d] = 1;
  }
  return {{x, condition, other}, [](Tensors t) { return where(t[1], t[0], t[2]); }};
}

/// Two operands of a function, of which the second lacks dims, or has 1 for some.
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

RandomComposite choose_turn(RandomChoice& random, const TensorType& like) {
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

RandomComposite choose_pool1d(RandomChoice& random, const TensorType& like) {
  const Pool1dAttributes attributes{
      .window = 1 + random.from_1_to(2), .stride = random.from_1_to(3), .padding_low = 1, .padding_high = 1};
  TensorType x = of_rank(random, as_float(like), 3);
  x.shape[2] = max(x.shape[2], 3);
  const bool is_max = random.chance(50);
  return {
      {x}, [=](Tensors t) { return is_max ? max_pool1d(t[0], attributes) : avg_pool1d(t[0], attributes); }, !is_max};
}

RandomComposite choose_global_pool(RandomChoice& random, const TensorType& like) {
  const bool is_max = random.chance(50);
  return {{with_rank(random, as_float(like), 3)},
          [=](Tensors t) { return is_max ? global_max_pool(t[0]) : global_avg_pool(t[0]); },
          !is_max};
}

RandomComposite choose_length(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, as_float(like), 1);
  const std::int64_t axis = random.any_axis(x.shape.rank());
  const bool is_log = random.chance(50);
  return {{x}, [=](Tensors t) { return is_log ? logsumexp(t[0], {axis}) : l2_normalize(t[0], axis); }, true};
}

RandomComposite choose_batch_norm(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, as_float(like), 2), channels{x.dtype, {x.shape[1]}};
  return {{x, channels, channels, channels, channels},
          [](Tensors t) { return batch_norm(t[0], t[1], abs(t[2]), t[3], t[4], 0.5); }};
}

RandomComposite choose_rotary(RandomChoice& random, const TensorType& like) {
  TensorType x = with_rank(random, as_float(like), 2);
  const SizeExpr half = random.from_1_to(3);
  x.shape[x.shape.rank() - 1] = half * 2;
  const TensorType angles{x.dtype, {x.shape[x.shape.rank() - 2], half}};
  const bool interleaved = random.chance(50);
  return {{x, angles, angles}, [=](Tensors t) { return rotary_embedding(t[0], t[1], t[2], interleaved); }};
}

RandomComposite choose_random_bits(RandomChoice&, const TensorType& like) {
  return {{{DType::kU64, {}}}, [shape = like.shape](Tensors t) { return random_bits(t[0], shape); }};
}

RandomComposite choose_layer_norm(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, as_float(like), 1);
  const TensorType last{x.dtype, {x.shape.dims().back()}};
  return {{x, last, last}, [](Tensors t) { return layer_norm(t[0], t[1], t[2]); }, true};
}

RandomComposite choose_rms_norm(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, as_float(like), 1);
  return {{x, {x.dtype, {x.shape.dims().back()}}}, [](Tensors t) { return rms_norm(t[0], t[1]); }, true};
}

RandomComposite choose_group_norm(RandomChoice& random, const TensorType& like) {
  TensorType x = with_rank(random, as_float(like), 2);
  const std::int64_t groups = random.from_1_to(3);
  if (!x.shape[1].is_constant() || x.shape[1].constant() % groups != 0) x.shape[1] = groups * random.from_1_to(3);
  const TensorType channels{x.dtype, {x.shape[1]}};
  return {{x, channels, channels}, [groups](Tensors t) { return group_norm(t[0], groups, t[1], t[2]); }, true};
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

RandomComposite choose_multinomial(RandomChoice& random, const TensorType& like) {
  TensorType logits = with_rank(random, as_float(like), 1);
  SizeExpr& choices = logits.shape[logits.shape.rank() - 1];
  choices = max(choices, 1);
  const std::int64_t num_samples = random.from_1_to(4) - 1;
  return {{logits, {DType::kU64, {}}}, [=](Tensors t) { return multinomial(t[0], t[1], num_samples); }};
}

RandomComposite choose_conv1d(RandomChoice& random, const TensorType& like) {
  Conv1dAttributes attributes;
  attributes.stride = random.from_1_to(3);
  attributes.padding_low = random.from_1_to(3) - 1;
  attributes.padding_high = random.from_1_to(3) - 1;
  attributes.dilation = random.from_1_to(3);
  attributes.groups = random.from_1_to(3);
  const TensorType x = of_rank(random, as_float(like), 3);
  const SizeExpr channels = random.from_1_to(3), filters = random.from_1_to(3) * attributes.groups;
  const TensorType grouped{x.dtype, {x.shape[0], channels * attributes.groups, x.shape[2]}};
  const TensorType weights{x.dtype, {filters, channels, random.from_1_to(3)}};
  return {{grouped, weights}, [attributes](Tensors t) { return conv1d(t[0], t[1], attributes); }, true};
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

RandomComposite choose_einsum(RandomChoice& random, const TensorType& like) {
  constexpr std::string_view kEquations[] = {"ij,jk->ik",    "bij,bkj->bik", "i,j->ij",         "ij->ji", "ij,j->i",
                                             "ij,jk,kl->li", "ijk->",        "bhid,bhjd->bhij", "i,i->",  "bij,bij->b"};
  const std::string_view equation = random.one_of(kEquations);
  RandomComposite chosen;
  std::map<char, SizeExpr> extents;
  TensorType operand{is_float(like.dtype) || is_integer(like.dtype) ? like.dtype : DType::kF32, {}};
  std::vector<SizeExpr> dims;
  for (const char letter : equation.substr(0, equation.find('>'))) {
    if (letter == ',' || letter == '-') {
      operand.shape = Shape(std::exchange(dims, {}));
      chosen.operands.push_back(operand);
      continue;
    }
    if (!extents.contains(letter)) {
      const bool is_first = chosen.operands.empty() && dims.size() < like.shape.rank();
      extents.emplace(letter, is_first ? like.shape[dims.size()] : random.any_extent());
    }
    dims.push_back(extents.at(letter));
  }
  chosen.build = [equation](Tensors t) { return einsum(equation, t); };
  chosen.has_sum = true;
  return chosen;
}

/// Scale and zero point: of all, or one for each index of an axis.
Shape parameter_shape(RandomChoice& random, const TensorType& x, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(x.shape.rank());
  if (rank == 0 || random.chance(50)) return {};
  return {x.shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]};
}

RandomComposite choose_quantize(RandomChoice& random, const TensorType& like) {
  constexpr DType kNarrow[] = {DType::kI8, DType::kU8, DType::kI16};
  const TensorType x = as_float(like);
  const std::int64_t axis = random.any_axis(x.shape.rank());
  const Shape shape = parameter_shape(random, x, axis);
  const DType narrow = random.one_of(kNarrow);
  return {{x, {x.dtype, shape}, {narrow, shape}},
          [axis](Tensors t) { return quantize_linear(t[0], t[1], t[2], axis); }};
}

RandomComposite choose_dequantize(RandomChoice& random, const TensorType& like) {
  const TensorType x = as_integer(like);
  const std::int64_t axis = random.any_axis(x.shape.rank());
  const Shape shape = parameter_shape(random, x, axis);
  const DType wide = random.chance(50) ? DType::kF32 : DType::kF16;
  return {{x, {wide, shape}, {x.dtype, shape}},
          [axis](Tensors t) { return dequantize_linear(t[0], t[1], t[2], axis); }};
}

/// Masks of bools, of numbers, and none.
RandomComposite choose_attention(RandomChoice& random, const TensorType& like) {
  TensorType query = with_rank(random, as_float(like), 2);
  const bool is_grouped = query.shape.rank() > 2 && random.chance(40);
  const std::size_t head = query.shape.rank() - 3;
  if (is_grouped) query.shape[head] = 4;
  TensorType key = query, value = query;
  if (is_grouped) key.shape[head] = value.shape[head] = random.from_1_to(2);
  const std::size_t rows = query.shape.rank() - 2, columns = rows + 1;
  key.shape[rows] = value.shape[rows] = random.any_extent();
  value.shape[columns] = random.any_extent();
  RandomComposite chosen{{query, key, value}, {}, true};
  const bool is_masked = random.chance(60);
  const DType mask = random.chance(50) ? DType::kBool : query.dtype;
  if (is_masked) chosen.operands.push_back({mask, {query.shape[rows], key.shape[rows]}});
  const bool is_causal = random.chance(30);
  chosen.build = [is_causal](Tensors t) {
    return attention(t[0], t[1], t[2], {.mask = t.size() > 3 ? t[3] : Tensor(), .scale = 0.5, .is_causal = is_causal});
  };
  return chosen;
}

RandomComposite choose_topk(RandomChoice& random, const TensorType& like) {
  constexpr DType kIntegers[] = {DType::kI8, DType::kU32, DType::kI64};
  const TensorType x = with_rank(random, like, 1);
  const std::size_t dim = random_dim(random, x);
  const SizeExpr k = min(random.any_extent(), x.shape[dim]);
  const TopKAttrs attributes{.axis = static_cast<std::int64_t>(dim), .largest = random.chance(50)};
  const TensorType indices{random.one_of(kIntegers), x.shape};
  return {{x, indices}, [=](Tensors t) { return topk(t[0], t[1], k, attributes).indices; }};
}

constexpr CompositeRow kComposites[] = {
    {"softmax", choose_softmax},
    {"log_softmax", choose_log_softmax},
    {"activation", choose_activation},
    {"clamp", choose_clamp},
    {"where", choose_where},
    {"broadcast", choose_broadcast},
    {"pieces", choose_pieces},
    {"stack", choose_stack},
    {"squeeze", choose_squeeze},
    {"tile", choose_tile},
    {"turn", choose_turn},
    {"border", choose_border},
    {"depth", choose_depth},
    {"scatter_elements", choose_scatter_elements},
    {"pool1d", choose_pool1d},
    {"global_pool", choose_global_pool},
    {"length", choose_length},
    {"batch_norm", choose_batch_norm},
    {"rotary", choose_rotary},
    {"random_bits", choose_random_bits},
    {"layer_norm", choose_layer_norm},
    {"rms_norm", choose_rms_norm},
    {"group_norm", choose_group_norm},
    {"one_hot", choose_one_hot},
    {"trilu", choose_trilu},
    {"gather_nd", choose_gather_nd},
    {"scatter_nd", choose_scatter_nd},
    {"searchsorted", choose_searchsorted},
    {"cumulative_argmax", choose_cumulative_argmax},
    {"multinomial", choose_multinomial},
    {"topk", choose_topk},
    {"conv1d", choose_conv1d},
    {"resize", choose_resize},
    {"einsum", choose_einsum},
    {"quantize_linear", choose_quantize},
    {"dequantize_linear", choose_dequantize},
    {"attention", choose_attention},
};

}  // namespace

std::span<const CompositeRow> all_composites() { return kComposites; }

}  // namespace millrace::test
