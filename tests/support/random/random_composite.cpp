// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "millrace/graph/composites.h"
#include "tests/support/random/random_operand.h"

namespace millrace::test {
namespace {

RandomComposite choose_softmax(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, as_float(like), 1);
  return {{x}, [axis = random.any_axis(x.shape.rank())](Tensors t) { return softmax(t[0], axis); }};
}

RandomComposite choose_log_softmax(RandomChoice& random, const TensorType& like) {
  const TensorType x = with_rank(random, as_float(like), 1);
  return {{x}, [axis = random.any_axis(x.shape.rank())](Tensors t) { return log_softmax(t[0], axis); }};
}

RandomComposite choose_activation(RandomChoice& random, const TensorType& like) {
  constexpr Tensor (*kActivations[])(Tensor) = {gelu,
                                                relu,
                                                silu,
                                                mish,
                                                gelu_tanh,
                                                softsign,
                                                [](Tensor x) { return elu(x, 0.5); },
                                                [](Tensor x) { return celu(x, 0.5); },
                                                [](Tensor x) { return selu(x); },
                                                [](Tensor x) { return hard_sigmoid(x); }};
  return {{as_float(like)}, [activation = random.one_of(kActivations)](Tensors t) { return activation(t[0]); }};
}

RandomComposite choose_clamp(RandomChoice& random, const TensorType& like) {
  const auto low = static_cast<double>(random.below(4)) - 2;
  return {{like}, [low](Tensors t) { return clamp(t[0], low, low + 2); }};
}

RandomComposite choose_pool1d(RandomChoice& random, const TensorType& like) {
  Pool1dAttributes attributes{
      .window = 1 + random.from_1_to(2), .stride = random.from_1_to(3), .padding_low = 1, .padding_high = 1};
  TensorType x = of_rank(random, as_float(like), 3);
  x.shape[2] = max(x.shape[2], 3);
  attributes.count_include_pad = random.chance(50);
  attributes.ceil_mode = random.chance(40);
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

RandomComposite choose_random_numbers(RandomChoice& random, const TensorType& like) {
  const bool is_uniform = random.chance(50);
  return {{{DType::kU64, {}}}, [is_uniform, shape = like.shape](Tensors t) {
            return is_uniform ? random_uniform(t[0], shape) : random_bits(t[0], shape);
          }};
}

RandomComposite choose_is_inf(RandomChoice&, const TensorType& like) {
  return {{as_float(like)}, [](Tensors t) { return is_inf(t[0]); }};
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

RandomComposite choose_instance_norm(RandomChoice& random, const TensorType& like) {
  TensorType x = with_rank(random, as_float(like), 3);
  x.shape[1] = random.from_1_to(3);
  const TensorType channels{x.dtype, {x.shape[1]}};
  return {{x, channels, channels}, [](Tensors t) { return instance_norm(t[0], t[1], t[2]); }, true};
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
  if (random.chance(50)) {
    return {{grouped, weights, {x.dtype, {filters}}},
            [attributes](Tensors t) { return conv1d(t[0], t[1], t[2], attributes); },
            true};
  }
  return {{grouped, weights}, [attributes](Tensors t) { return conv1d(t[0], t[1], attributes); }, true};
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

constexpr CompositeRow kComposites[] = {
    {"softmax", choose_softmax},
    {"log_softmax", choose_log_softmax},
    {"activation", choose_activation},
    {"clamp", choose_clamp},
    {"pool1d", choose_pool1d},
    {"global_pool", choose_global_pool},
    {"length", choose_length},
    {"batch_norm", choose_batch_norm},
    {"rotary", choose_rotary},
    {"random_numbers", choose_random_numbers},
    {"is_inf", choose_is_inf},
    {"layer_norm", choose_layer_norm},
    {"rms_norm", choose_rms_norm},
    {"group_norm", choose_group_norm},
    {"instance_norm", choose_instance_norm},
    {"multinomial", choose_multinomial},
    {"conv1d", choose_conv1d},
    {"einsum", choose_einsum},
    {"quantize_linear", choose_quantize},
    {"dequantize_linear", choose_dequantize},
    {"attention", choose_attention},
};

}  // namespace

std::span<const CompositeRow> computing_composites() { return kComposites; }

std::span<const CompositeRow> all_composites() {
  static const std::vector<CompositeRow> kAll = [] {
    std::vector<CompositeRow> all;
    for (const std::span<const CompositeRow> part : {moving_composites(), computing_composites()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kAll;
}

}  // namespace millrace::test
