// SPDX-License-Identifier: Apache-2.0
// Imports Einsum, Det, SwiGLU and RotaryEmbedding.
#include <fmt/format.h>

#include "graph/composites/composite.h"
#include "graph/import/onnx/node_context.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/attention.inc"
#undef MILLRACE_ONNX_OP

Result<OnnxResults> import_einsum(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const std::string_view equation, node.text_attribute("equation"));
  MILLRACE_TRY_ASSIGN(const std::vector<Tensor> operands, node.tensors());
  if (operands.empty()) return invalid_argument(": has no operands");
  return einsum(equation, operands);
}

namespace {

/// The determinant of the rows from `row` on and these columns, by expansion along the first row.
Tensor expand_det(const std::vector<std::vector<Tensor>>& elements, std::size_t row,
                  const std::vector<std::size_t>& columns) {
  if (columns.size() == 1) return elements[row][columns[0]];
  Tensor sum;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::vector<std::size_t> rest = columns;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const Tensor product = elements[row][columns[i]] * expand_det(elements, row + 1, rest);
    sum = i == 0 ? product : i % 2 == 1 ? sum - product : sum + product;
  }
  return sum;
}

}  // namespace

/// Small matrices only: the number of products grows with the factorial of their rows.
Result<OnnxResults> import_det(OnnxNodeContext& node) {
  constexpr std::int64_t kMaxRows = 4;
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  const Shape shape = x.shape();
  const std::size_t rank = shape.rank();
  if (rank < 2 || !is_float(x.dtype()) || shape[rank - 1] != shape[rank - 2]) {
    return node.operand_error(0, fmt::format("is {}, expected square matrices of floats", x.type().to_text()));
  }
  const SizeExpr& rows = shape[rank - 1];
  if (!rows.is_constant() || rows.constant() < 1 || rows.constant() > kMaxRows) {
    return unimplemented(fmt::format(": found matrices of {} rows, expected 1 to {}", rows.to_text(), kMaxRows));
  }
  const auto count = static_cast<std::size_t>(rows.constant());
  std::vector<std::vector<Tensor>> elements(count);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < count; ++i) {
    columns.push_back(i);
    for (std::size_t j = 0; j < count; ++j) {
      std::vector<SizeExpr> start(rank, 0), stop = shape.dims();
      start[rank - 2] = static_cast<std::int64_t>(i);
      start[rank - 1] = static_cast<std::int64_t>(j);
      stop[rank - 2] = start[rank - 2] + 1;
      stop[rank - 1] = start[rank - 1] + 1;
      elements[i].push_back(squeeze(slice(widen(x, x.dtype()), std::move(start), std::move(stop)), {-2, -1}));
    }
  }
  return narrow(expand_det(elements, 0, columns), x.dtype());
}

Result<OnnxResults> import_swiglu(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const double alpha, node.number_attribute("alpha", 1));
  MILLRACE_TRY_ASSIGN(const Tensor gate, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor value, node.tensor(1));
  if (gate.type() != value.type()) {
    return node.operand_error(
        1, fmt::format("is {}, expected {} like operand 0", value.type().to_text(), gate.type().to_text()));
  }
  const DType dtype = gate.dtype();
  const Tensor wide = widen(gate, dtype);
  return narrow(wide * sigmoid(wide * alpha) * widen(value, dtype), dtype);
}

namespace {

/// x[batch, ..., hidden] with the last dim divided: [batch, sequence, heads, hidden / heads].
Result<Tensor> divide_heads(OnnxNodeContext& node, Tensor x, std::int64_t num_heads) {
  const Shape shape = x.shape();
  if (num_heads < 1 || shape[2].known_multiple() % num_heads != 0) {
    return node.attribute_error(
        "num_heads", fmt::format("found {}, expected a divisor of the last dim of {}", num_heads, x.type().to_text()));
  }
  return node.built(reshape(x, {shape[0], shape[1], num_heads, floor_div(shape[2], num_heads)}));
}

}  // namespace

/// x is [batch, heads, sequence, head size], or [batch, sequence, heads * head size].
Result<OnnxResults> import_rotary_embedding(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const bool is_interleaved, node.flag_attribute("interleaved", false));
  MILLRACE_TRY_ASSIGN(const std::int64_t partial, node.integer_attribute("rotary_embedding_dim", 0));
  MILLRACE_TRY_ASSIGN(const std::int64_t num_heads, node.integer_attribute("num_heads", 0));
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  const Shape shape = x.shape();
  if (shape.rank() != 3 && shape.rank() != 4) {
    return node.operand_error(0, fmt::format("is {}, expected rank 3 or 4", x.type().to_text()));
  }
  const bool has_heads = shape.rank() == 4;
  if (!has_heads) {
    MILLRACE_TRY_ASSIGN(x, divide_heads(node, x, num_heads));
  }
  MILLRACE_TRY_ASSIGN(Tensor cosine, node.tensor(1));
  MILLRACE_TRY_ASSIGN(Tensor sine, node.tensor(2));
  if (node.has(3)) {
    MILLRACE_TRY_ASSIGN(const Tensor places, node.tensor(3));
    MILLRACE_TRY_ASSIGN(cosine, node.built(gather(cosine, places, 0)));
    MILLRACE_TRY_ASSIGN(sine, node.built(gather(sine, places, 0)));
  }
  for (const Tensor& angle : {cosine, sine}) {
    if (angle.shape().rank() == 3) continue;
    return invalid_argument(fmt::format(": the cosines or sines are {}, expected one row per sequence and position",
                                        angle.type().to_text()));
  }
  const std::int64_t heads_axis = has_heads ? 1 : 2;
  cosine = unsqueeze(cosine, {heads_axis});
  sine = unsqueeze(sine, {heads_axis});
  const SizeExpr head_size = x.shape()[3];
  if (partial < 0 || (head_size - partial).upper_bound() < 0) {
    return node.attribute_error("rotary_embedding_dim",
                                fmt::format("found {}, expected 0 to {}", partial, head_size.to_text()));
  }
  if (partial == 0 || head_size.is(partial)) {
    return reshape(rotary_embedding(x, cosine, sine, is_interleaved), shape);
  }
  std::vector<SizeExpr> middle = x.shape().dims();
  middle[3] = partial;
  const Tensor rotated = slice(x, {0, 0, 0, 0}, std::move(middle));
  const Tensor rest = slice(x, {0, 0, 0, partial}, x.shape().dims());
  return reshape(concat({rotary_embedding(rotated, cosine, sine, is_interleaved), rest}, 3), shape);
}

}  // namespace millrace
