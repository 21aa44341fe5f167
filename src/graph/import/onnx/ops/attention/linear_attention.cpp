// SPDX-License-Identifier: Apache-2.0
// Imports the ops of models with a recurrent state in place of keys: LinearAttention and CausalConvWithState.
#include <cmath>

#include <fmt/format.h>

#include "graph/composites/composite.h"
#include "graph/import/onnx/node_context.h"
#include "graph/import/onnx/ops/control/iterate.h"
#include "millrace/base/printable.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/attention.inc"
#undef MILLRACE_ONNX_OP

namespace {

class LinearAttentionImporter {
 public:
  explicit LinearAttentionImporter(OnnxNodeContext& node) : node_(node) {}

  Result<OnnxResults> import() {
    MILLRACE_TRY(read_attributes());
    MILLRACE_TRY(read_operands());
    const auto step = [&](const StepIndex& index, std::span<const Tensor> state) { return next(index, state[0]); };
    const Shape &q = query_.shape(), &v = value_.shape();
    const TensorType types[] = {{query_.dtype(), {q[1], q[2], q[3], v[3]}}};
    const StepValues all = iterate(node_.graph(), q[0], {state_}, types, step);
    const Tensor by_batch = transpose(all.outputs[0], {1, 0, 2, 3, 4});
    const Tensor y = reshape(by_batch, {q[1], q[0], v[3] * num_heads_});
    return OnnxResults{narrow(y, dtype_), cast(all.state[0], state_dtype_)};
  }

 private:
  Status read_attributes() {
    node_.ignore_attribute("chunk_size");
    MILLRACE_TRY_ASSIGN(num_heads_, node_.integer_attribute("q_num_heads"));
    MILLRACE_TRY_ASSIGN(num_key_heads_, node_.integer_attribute("kv_num_heads"));
    if (num_key_heads_ < 1 || num_heads_ < 1 || num_heads_ % num_key_heads_ != 0) {
      return node_.attribute_error(
          "q_num_heads", fmt::format("found {}, expected a multiple of kv_num_heads, {}", num_heads_, num_key_heads_));
    }
    MILLRACE_TRY_ASSIGN(const std::string_view rule, node_.text_attribute("update_rule", "gated_delta"));
    is_gated_ = rule == "gated" || rule == "gated_delta";
    is_delta_ = rule == "delta" || rule == "gated_delta";
    if (!is_gated_ && !is_delta_ && rule != "linear") {
      return node_.attribute_error(
          "update_rule", fmt::format("found '{}', expected linear, gated, delta or gated_delta", printable(rule)));
    }
    return {};
  }

  /// An operand [batch, steps, heads * size] as [steps, batch, heads, size].
  Result<Tensor> read_heads(std::size_t operand, std::int64_t heads) {
    MILLRACE_TRY_ASSIGN(const Tensor x, node_.tensor(operand));
    const Shape shape = x.shape();
    if (shape.rank() != 3 || shape[2].known_multiple() % heads != 0 || !is_float(x.dtype())) {
      return node_.operand_error(
          operand,
          fmt::format("is {}, expected floats of rank 3 with a last dim of {} equal heads", x.type().to_text(), heads));
    }
    const Tensor divided = reshape(widen(x, x.dtype()), {shape[0], shape[1], heads, floor_div(shape[2], heads)});
    return node_.built(transpose(divided, {1, 0, 2, 3}));
  }

  Status read_operands() {
    MILLRACE_TRY_ASSIGN(const TensorType type, node_.type(0));
    dtype_ = state_dtype_ = type.dtype;
    MILLRACE_TRY_ASSIGN(const Tensor query, read_heads(0, num_heads_));
    MILLRACE_TRY_ASSIGN(key_, read_heads(1, num_key_heads_));
    MILLRACE_TRY_ASSIGN(value_, read_heads(2, num_key_heads_));
    const Shape &q = query.shape(), &k = key_.shape(), &v = value_.shape();
    if (k[0] != q[0] || v[0] != q[0] || k[1] != q[1] || v[1] != q[1] || k[3] != q[3]) {
      return invalid_argument(": query, key and value differ in the batch, the steps or the size of a head");
    }
    MILLRACE_TRY_ASSIGN(query_,
                        node_.built(reshape(query, {q[0], q[1], num_key_heads_, num_heads_ / num_key_heads_, q[3]})));
    MILLRACE_TRY(read_state({q[1], num_key_heads_, q[3], v[3]}));
    MILLRACE_TRY(check_given(4, "decay", is_gated_));
    MILLRACE_TRY(check_given(5, "beta", is_delta_));
    if (is_gated_) {
      MILLRACE_TRY_ASSIGN(decay_, read_heads(4, num_key_heads_));
      decay_ = exp(decay_);
    }
    if (is_delta_) {
      MILLRACE_TRY_ASSIGN(const TensorType beta, node_.type(5));
      const bool is_shared = beta.shape.rank() == 3 && beta.shape[2].is(1);
      MILLRACE_TRY_ASSIGN(beta_, read_heads(5, is_shared ? 1 : num_key_heads_));
    }
    MILLRACE_TRY_ASSIGN(scale_, node_.number_attribute("scale", 0));
    if (scale_ != 0) return {};
    if (!q[3].is_constant()) {
      return unimplemented(fmt::format(": the head size {} is not known; give the attribute scale", q[3].to_text()));
    }
    scale_ = 1 / std::sqrt(static_cast<double>(q[3].constant()));
    return {};
  }

  Status check_given(std::size_t operand, std::string_view name, bool is_needed) {
    if (node_.has(operand) == is_needed) return {};
    return invalid_argument(fmt::format(": has {}{}, which the update rule {}", is_needed ? "no " : "", name,
                                        is_needed ? "needs" : "does not use"));
  }

  Status read_state(const Shape& shape) {
    if (!node_.has(3)) {
      MILLRACE_TRY_ASSIGN(state_, node_.built(node_.graph().fill(query_.dtype(), shape, 0)));
      return {};
    }
    MILLRACE_TRY_ASSIGN(const Tensor given, node_.tensor(3));
    if (given.shape() != shape || !is_float(given.dtype())) {
      return node_.operand_error(
          3, fmt::format("is {}, expected floats of shape {}", given.type().to_text(), shape.to_text()));
    }
    state_dtype_ = given.dtype();
    MILLRACE_TRY_ASSIGN(state_, node_.built(cast(given, query_.dtype())));
    return {};
  }

  /// The outputs of a step, [batch, key heads, group, value size], and the next state.
  StepValues next(const StepIndex& index, Tensor state) const {
    const Tensor key = element_at(key_, 0, index);
    Tensor value = element_at(value_, 0, index);
    if (is_gated_) state = state * unsqueeze(element_at(decay_, 0, index), {3});
    if (is_delta_) {
      const Tensor known =
          dot(key, state, {.x_batch = {0, 1}, .y_batch = {0, 1}, .x_contract = {2}, .y_contract = {2}});
      value = element_at(beta_, 0, index) * (value - known);
    }
    state = state + unsqueeze(key, {3}) * unsqueeze(value, {2});
    const Tensor query = element_at(query_, 0, index);
    const Tensor output =
        dot(query, state, {.x_batch = {0, 1}, .y_batch = {0, 1}, .x_contract = {3}, .y_contract = {2}});
    return {{state}, {output * scale_}};
  }

  OnnxNodeContext& node_;
  std::int64_t num_heads_ = 1, num_key_heads_ = 1;
  bool is_gated_ = false, is_delta_ = false;
  double scale_ = 0;
  DType dtype_ = DType::kF32, state_dtype_ = DType::kF32;
  Tensor query_;         // [steps, batch, key heads, group, key size]
  Tensor key_, value_;   // [steps, batch, key heads, size]
  Tensor decay_, beta_;  // [steps, batch, key heads, key size or 1]; beta may also have 1 for the heads
  Tensor state_;         // [batch, key heads, key size, value size]
};

}  // namespace

Result<OnnxResults> import_linear_attention(OnnxNodeContext& node) { return LinearAttentionImporter(node).import(); }

/// Convolves each channel with its own row of weights[channels, 1, k]. The k - 1 elements before the first one are the
/// past state, or zeros. The last k - 1 elements are the next state.
Result<OnnxResults> import_causal_conv(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const std::string_view activation, node.text_attribute("activation", "none"));
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return node.attribute_error("activation",
                                fmt::format("found '{}', expected none, silu or swish", printable(activation)));
  }
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor weights, node.tensor(1));
  const Shape shape = x.shape();
  const Shape& w = weights.shape();
  if (shape.rank() != 3 || !shape[1].is_constant()) {
    return node.operand_error(
        0, fmt::format("is {}, expected rank 3 with a known number of channels", x.type().to_text()));
  }
  if (w.rank() != 3 || w[0] != shape[1] || !w[1].is(1) || w[2].lower_bound() < 1) {
    return node.operand_error(1, fmt::format("is {}, expected one row for each of {} channels",
                                             weights.type().to_text(), shape[1].to_text()));
  }
  const SizeExpr num_past = w[2] - 1;
  MILLRACE_TRY_ASSIGN(const Tensor bias, node.optional_tensor(2));
  MILLRACE_TRY_ASSIGN(const Tensor past, node.optional_tensor(3));
  Tensor all = pad(x, {0, 0, num_past}, {0, 0, 0});
  if (past.builder() != nullptr) {
    const TensorType expected{x.dtype(), {shape[0], shape[1], num_past}};
    if (past.type() != expected) {
      return node.operand_error(3, fmt::format("is {}, expected {}", past.type().to_text(), expected.to_text()));
    }
    all = concat({past, x}, 2);
  }
  MILLRACE_TRY_ASSIGN(all, node.built(all));
  const DType dtype = x.dtype();
  const Conv1dAttributes attributes{.groups = shape[1].constant()};
  Tensor y = conv1d(widen(all, dtype), widen(weights, dtype), attributes);
  if (bias.builder() != nullptr) y = y + unsqueeze(widen(bias, dtype), {1});
  if (activation != "none") y = silu(y);
  return OnnxResults{narrow(y, dtype), slice(all, {0, 0, shape[2]}, all.shape().dims())};
}

}  // namespace millrace
