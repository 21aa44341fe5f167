// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_composite.h"

#include <map>
#include <utility>

#include "millrace/graph/functions.h"

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
  constexpr Tensor (*kActivations[])(Tensor) = {gelu, relu, silu};
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
            return gather_nd(t[0], cast(cast(part, DType::kBool), DType::kI64) * -1.0);
          }};
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
  const TensorType query = with_rank(random, as_float(like), 2);
  TensorType key = query, value = query;
  const std::size_t rows = query.shape.rank() - 2, columns = rows + 1;
  key.shape[rows] = value.shape[rows] = random.any_extent();
  value.shape[columns] = random.any_extent();
  RandomComposite chosen{{query, key, value}, {}, true};
  const bool is_masked = random.chance(60);
  const DType mask = random.chance(50) ? DType::kBool : query.dtype;
  if (is_masked) chosen.operands.push_back({mask, {query.shape[rows], key.shape[rows]}});
  chosen.build = [](Tensors t) { return attention(t[0], t[1], t[2], t.size() > 3 ? t[3] : Tensor(), 0.5); };
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
    {"layer_norm", choose_layer_norm},
    {"rms_norm", choose_rms_norm},
    {"group_norm", choose_group_norm},
    {"one_hot", choose_one_hot},
    {"trilu", choose_trilu},
    {"gather_nd", choose_gather_nd},
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
