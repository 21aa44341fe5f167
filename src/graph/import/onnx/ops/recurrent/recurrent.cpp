// SPDX-License-Identifier: Apache-2.0
// Imports recurrent layers: their operands, and the cells that compute a step.
#include <algorithm>

#include <fmt/format.h>

#include "graph/composites/composite.h"
#include "graph/import/onnx/ops/recurrent/recurrence.h"
#include "millrace/base/printable.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/recurrent.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// Reads the operands and attributes that GRU, LSTM and RNN have in common.
class LayerReader {
 public:
  LayerReader(OnnxNodeContext& node, std::int64_t num_gates, std::size_t num_states)
      : node_(node), num_gates_(num_gates), num_states_(num_states) {}

  Status read(const std::vector<std::string_view>& functions) {
    MILLRACE_TRY(read_direction());
    MILLRACE_TRY_ASSIGN(Tensor x, node_.tensor(0));
    if (x.shape().rank() != 3 || !is_float(x.dtype())) {
      return node_.operand_error(0, fmt::format("is {}, expected floats of rank 3", x.type().to_text()));
    }
    dtype_ = x.dtype();
    if (is_batch_first_) x = transpose(x, {1, 0, 2});
    MILLRACE_TRY_ASSIGN(layer.x, node_.built(widen(x, dtype_)));
    MILLRACE_TRY(read_weights());
    MILLRACE_TRY(read_lengths());
    for (std::size_t i = 0; i < num_states_; ++i) {
      MILLRACE_TRY_ASSIGN(layer.initial.emplace_back(), read_state(5 + i));
    }
    MILLRACE_TRY_ASSIGN(const auto by_direction, read_gate_functions(node_, directions(), functions));
    for (std::size_t k = 0; k < functions.size(); ++k) {
      auto& all = functions_.emplace_back();
      for (const auto& direction : by_direction) all.push_back(direction[k]);
    }
    if (node_.has_attribute("clip")) {
      MILLRACE_TRY_ASSIGN(clip_, node_.number_attribute("clip"));
    }
    return {};
  }

  /// Applies function `k` of each direction to the clipped sums of a gate. For the cell of an LSTM, apply() does not
  /// clip: only gates are clipped, as in ONNX Runtime.
  Tensor gate(std::size_t k, Tensor x) const {
    return apply_functions(clip_ ? clamp(x, -*clip_, *clip_) : x, functions_[k]);
  }
  Tensor apply(std::size_t k, Tensor x) const { return apply_functions(x, functions_[k]); }

  /// An operand of that shape, in the dtype in which the layer computes; an empty Tensor if it is missing.
  Result<Tensor> optional(std::size_t operand, const Shape& shape) {
    if (!node_.has(operand)) return Tensor();
    MILLRACE_TRY_ASSIGN(Tensor found, node_.tensor(operand));
    const TensorType expected{dtype_, shape};
    for (std::size_t d = 0; d < shape.rank() && found.shape().rank() == shape.rank(); ++d) {
      MILLRACE_TRY(node_.match_dim(found, d, shape[d]));
    }
    if (found.type() == expected) return node_.built(widen(found, dtype_));
    return node_.operand_error(operand, fmt::format("is {}, expected {}", found.type().to_text(), expected.to_text()));
  }

  OnnxResults finish() {
    RecurrenceResults results = run_recurrence(node_.graph(), layer);
    Tensor y = narrow(results.outputs, dtype_);
    std::vector<OnnxValue> all = {is_batch_first_ ? transpose(y, {2, 0, 1, 3}) : y};
    for (const Tensor& state : results.state) {
      const Tensor last = narrow(state, dtype_);
      all.emplace_back(is_batch_first_ ? transpose(last, {1, 0, 2}) : last);
    }
    return all;
  }

  std::int64_t num_directions() const { return std::ssize(layer.are_reversed); }
  std::size_t directions() const { return layer.are_reversed.size(); }

  Recurrence layer;
  SizeExpr hidden;
  Tensor recurrent_weights;           // [directions, gates * hidden, hidden]
  Tensor input_bias, recurrent_bias;  // [directions, gates * hidden]; both or none

 private:
  Status read_direction() {
    MILLRACE_TRY_ASSIGN(const std::string_view direction, node_.text_attribute("direction", "forward"));
    if (direction == "forward") layer.are_reversed = {false};
    if (direction == "reverse") layer.are_reversed = {true};
    if (direction == "bidirectional") layer.are_reversed = {false, true};
    if (layer.are_reversed.empty()) {
      return node_.attribute_error(
          "direction", fmt::format("found '{}', expected forward, reverse or bidirectional", printable(direction)));
    }
    if (node_.version() < 7) node_.ignore_attribute("output_sequence");  // only named results are computed
    if (node_.version() >= 14) {
      MILLRACE_TRY_ASSIGN(is_batch_first_, node_.flag_attribute("layout", false));
    }
    return {};
  }

  Status read_weights() {
    const SizeExpr count(num_directions());
    MILLRACE_TRY_ASSIGN(const TensorType recurrent, node_.type(2));
    if (recurrent.shape.rank() != 3) {
      return node_.operand_error(2, fmt::format("is {}, expected rank 3", recurrent.to_text()));
    }
    hidden = recurrent.shape[2];
    if (node_.has_attribute("hidden_size")) {
      MILLRACE_TRY_ASSIGN(const std::int64_t stated, node_.integer_attribute("hidden_size"));
      if (decide_equal(hidden, stated) == false) {
        return node_.attribute_error("hidden_size",
                                     fmt::format("found {}, expected {}, the last dim of R", stated, hidden.to_text()));
      }
      hidden = stated;
    }
    const SizeExpr rows = hidden * num_gates_;
    if (!node_.has(1)) return node_.operand_error(1, "is missing");
    MILLRACE_TRY_ASSIGN(layer.weights, optional(1, {count, rows, layer.x.shape()[2]}));
    MILLRACE_TRY_ASSIGN(recurrent_weights, optional(2, {count, rows, hidden}));
    MILLRACE_TRY_ASSIGN(const Tensor bias, optional(3, {count, rows * 2}));
    if (bias.builder() == nullptr) return {};
    MILLRACE_TRY_ASSIGN(input_bias, node_.built(gate_columns(bias, hidden, 0, num_gates_)));
    MILLRACE_TRY_ASSIGN(recurrent_bias, node_.built(gate_columns(bias, hidden, num_gates_, num_gates_)));
    return {};
  }

  /// Leaves the lengths absent if they are all known to equal the number of steps.
  Status read_lengths() {
    if (!node_.has(4)) return {};
    MILLRACE_TRY_ASSIGN(const TensorType type, node_.type(4));
    const SizeExpr& batch = layer.x.shape()[1];
    if (type != TensorType{DType::kI32, {batch}}) {
      return node_.operand_error(
          4, fmt::format("is {}, expected {}", type.to_text(), TensorType{DType::kI32, {batch}}.to_text()));
    }
    MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node_.known(4));
    const SizeExpr& steps = layer.x.shape()[0];
    if (known && steps.is_constant()) {
      const std::optional<std::vector<std::int64_t>> lengths = integers_of(*known);
      if (std::ranges::count(*lengths, steps.constant()) == std::ssize(*lengths)) return {};
    }
    MILLRACE_TRY_ASSIGN(const Tensor lengths, node_.tensor(4));
    MILLRACE_TRY_ASSIGN(layer.lengths, node_.built(cast(lengths, DType::kI64)));
    return {};
  }

  Result<Tensor> read_state(std::size_t operand) {
    const SizeExpr count(num_directions());
    const SizeExpr& batch = layer.x.shape()[1];
    const Shape shape = is_batch_first_ ? Shape{batch, count, hidden} : Shape{count, batch, hidden};
    MILLRACE_TRY_ASSIGN(const Tensor given, optional(operand, shape));
    if (given.builder() == nullptr) return node_.built(node_.graph().fill(layer.x.dtype(), {count, batch, hidden}, 0));
    return node_.built(is_batch_first_ ? transpose(given, {1, 0, 2}) : given);
  }

  OnnxNodeContext& node_;
  std::int64_t num_gates_;
  std::size_t num_states_;
  DType dtype_ = DType::kF32;
  bool is_batch_first_ = false;
  std::optional<double> clip_;
  std::vector<std::vector<GateFunction>> functions_;  // [k][direction]
};

}  // namespace

/// Gates of the weights: update, reset, hidden.
Result<OnnxResults> import_gru(OnnxNodeContext& node) {
  LayerReader reader(node, 3, 1);
  MILLRACE_TRY(reader.read({"Sigmoid", "Tanh"}));
  MILLRACE_TRY_ASSIGN(const std::int64_t linear, node.integer_attribute("linear_before_reset", 0));
  const bool is_linear_first = linear != 0;
  const SizeExpr& hidden = reader.hidden;
  const Tensor weights = reader.recurrent_weights;
  // If the product comes before the reset, the reset also applies to the hidden gate's recurrent bias. All other biases
  // are added to the products of x.
  Tensor hidden_bias;
  if (reader.input_bias.builder() != nullptr) {
    Tensor early = reader.recurrent_bias;
    if (is_linear_first) {
      hidden_bias = unsqueeze(gate_columns(early, hidden, 2), {1});
      early = pad(gate_columns(early, hidden, 0, 2), {0, 0}, {0, hidden});
    }
    reader.layer.bias = reader.input_bias + early;
  }
  const auto rows = [&](std::int64_t first, std::int64_t count) {
    return slice(weights, {0, hidden * first, 0}, {reader.num_directions(), hidden * (first + count), hidden});
  };
  const Tensor gate_weights = is_linear_first ? weights : rows(0, 2);
  const Tensor hidden_weights = is_linear_first ? Tensor() : rows(2, 1);
  reader.layer.cell = [&](Tensor products, std::span<const Tensor> state) {
    const Tensor h = state[0];
    const Tensor recurrent = times_transposed(h, gate_weights);
    const auto gate = [&](std::int64_t k) {
      return reader.gate(0, gate_columns(products, hidden, k) + gate_columns(recurrent, hidden, k));
    };
    const Tensor update = gate(0), reset = gate(1);
    Tensor inner;
    if (is_linear_first) {
      const Tensor linear_part = gate_columns(recurrent, hidden, 2);
      inner = reset * (hidden_bias.builder() != nullptr ? linear_part + hidden_bias : linear_part);
    } else {
      inner = times_transposed(reset * h, hidden_weights);
    }
    const Tensor candidate = reader.gate(1, gate_columns(products, hidden, 2) + inner);
    return std::vector<Tensor>{(1.0 - update) * candidate + update * h};
  };
  return reader.finish();
}

/// Gates of the weights: input, output, forget, cell. Those of the peepholes: input, output, forget.
Result<OnnxResults> import_lstm(OnnxNodeContext& node) {
  LayerReader reader(node, 4, 2);
  MILLRACE_TRY(reader.read({"Sigmoid", "Tanh", "Tanh"}));
  MILLRACE_TRY_ASSIGN(const std::int64_t input_forget, node.integer_attribute("input_forget", 0));
  const SizeExpr& hidden = reader.hidden;
  MILLRACE_TRY_ASSIGN(Tensor peepholes, reader.optional(7, {reader.num_directions(), hidden * 3}));
  const bool has_peepholes = peepholes.builder() != nullptr;
  if (has_peepholes) peepholes = unsqueeze(peepholes, {1});
  if (reader.input_bias.builder() != nullptr) reader.layer.bias = reader.input_bias + reader.recurrent_bias;
  reader.layer.cell = [&](Tensor products, std::span<const Tensor> state) {
    const Tensor sums = products + times_transposed(state[0], reader.recurrent_weights);
    const auto gate = [&](std::int64_t k, Tensor cell) {
      const Tensor sum = gate_columns(sums, hidden, k);
      return reader.gate(0, has_peepholes ? sum + gate_columns(peepholes, hidden, k) * cell : sum);
    };
    const Tensor input = gate(0, state[1]);
    const Tensor forget = input_forget != 0 ? 1.0 - input : gate(2, state[1]);
    const Tensor cell = forget * state[1] + input * reader.gate(1, gate_columns(sums, hidden, 3));
    const Tensor output = gate(1, cell);
    return std::vector<Tensor>{output * reader.apply(2, cell), cell};
  };
  return reader.finish();
}

Result<OnnxResults> import_rnn(OnnxNodeContext& node) {
  LayerReader reader(node, 1, 1);
  MILLRACE_TRY(reader.read({"Tanh"}));
  if (reader.input_bias.builder() != nullptr) reader.layer.bias = reader.input_bias + reader.recurrent_bias;
  reader.layer.cell = [&](Tensor products, std::span<const Tensor> state) {
    return std::vector<Tensor>{reader.gate(0, products + times_transposed(state[0], reader.recurrent_weights))};
  };
  return reader.finish();
}

}  // namespace millrace
