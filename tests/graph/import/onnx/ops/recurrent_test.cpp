// SPDX-License-Identifier: Apache-2.0
// Recurrent layers against plain loops, with few steps and with many.
#include <algorithm>
#include <cmath>
#include <tuple>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/compile.h"
#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/model_writer.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

using Numbers = std::vector<double>;

constexpr std::size_t kInput = 2, kHidden = 3, kBatch = 2;

/// Numbers in [-1, 1] that repeat late. Multiples of 1/64, so that f32 holds them.
std::vector<float> numbers(std::size_t count, std::size_t seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>((i * 37 + seed * 101 + i * i) % 129) / 64.0F - 1.0F);
  }
  return values;
}

struct Layer {
  std::string op;
  std::size_t gates = 1, states = 1;
  std::string direction = "forward";
  std::vector<std::int64_t> lengths = {};
  bool is_linear_first = false, couples_forget = false, has_peepholes = false, is_batch_first = false;
  double clip = 0;  // 0: none

  std::vector<bool> reversed() const {
    if (direction == "bidirectional") return {false, true};
    return {direction == "reverse"};
  }
  std::size_t directions() const { return reversed().size(); }
};

struct Weights {
  explicit Weights(const Layer& layer)
      : w(numbers(layer.directions() * layer.gates * kHidden * kInput, 1)),
        r(numbers(layer.directions() * layer.gates * kHidden * kHidden, 2)),
        b(numbers(layer.directions() * 2 * layer.gates * kHidden, 3)),
        h(numbers(layer.directions() * kBatch * kHidden, 4)),
        c(numbers(layer.directions() * kBatch * kHidden, 5)),
        p(numbers(layer.directions() * 3 * kHidden, 6)) {}
  std::vector<float> w, r, b, h, c, p;
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// One direction of one sequence, by the equations of the operators' documents.
class SequenceReference {
 public:
  SequenceReference(const Layer& layer, const Weights& weights, std::size_t d, std::size_t b)
      : layer_(layer), weights_(weights), d_(d) {
    for (std::size_t i = 0; i < kHidden; ++i) {
      h.push_back(weights.h[(d * kBatch + b) * kHidden + i]);
      c.push_back(weights.c[(d * kBatch + b) * kHidden + i]);
    }
  }

  void step(const Numbers& x) {
    Numbers next_h(kHidden), next_c(kHidden), reset(kHidden, 1.0);
    if (layer_.op == "GRU") {
      for (std::size_t i = 0; i < kHidden; ++i) reset[i] = logistic(clipped(sum(1, i, x, h)));
    }
    for (std::size_t i = 0; i < kHidden; ++i) {
      if (layer_.op == "RNN") next_h[i] = std::tanh(clipped(sum(0, i, x, h)));
      if (layer_.op == "GRU") next_h[i] = next_of_gru(i, x, reset);
      if (layer_.op == "LSTM") std::tie(next_h[i], next_c[i]) = next_of_lstm(i, x);
    }
    h = next_h;
    c = next_c;
  }

  Numbers h, c;

 private:
  double clipped(double x) const { return layer_.clip > 0 ? std::clamp(x, -layer_.clip, layer_.clip) : x; }
  std::size_t row(std::size_t gate, std::size_t i) const { return (d_ * layer_.gates + gate) * kHidden + i; }
  double input_part(std::size_t gate, std::size_t i, const Numbers& x) const {
    double sum = weights_.b[(d_ * 2 * layer_.gates + gate) * kHidden + i];
    for (std::size_t k = 0; k < kInput; ++k) sum += x[k] * weights_.w[row(gate, i) * kInput + k];
    return sum;
  }
  double state_part(std::size_t gate, std::size_t i, const Numbers& state) const {
    double sum = weights_.b[(d_ * 2 * layer_.gates + layer_.gates + gate) * kHidden + i];
    for (std::size_t k = 0; k < kHidden; ++k) sum += state[k] * weights_.r[row(gate, i) * kHidden + k];
    return sum;
  }
  double sum(std::size_t gate, std::size_t i, const Numbers& x, const Numbers& state) const {
    return input_part(gate, i, x) + state_part(gate, i, state);
  }
  double peephole(std::size_t gate, std::size_t i) const {
    return layer_.has_peepholes ? weights_.p[(d_ * 3 + gate) * kHidden + i] : 0;
  }

  double next_of_gru(std::size_t i, const Numbers& x, const Numbers& reset) const {
    const double update = logistic(clipped(sum(0, i, x, h)));
    Numbers kept(kHidden);
    for (std::size_t k = 0; k < kHidden; ++k) kept[k] = reset[k] * h[k];
    const double inner = layer_.is_linear_first ? reset[i] * state_part(2, i, h) : state_part(2, i, kept);
    return (1 - update) * std::tanh(clipped(input_part(2, i, x) + inner)) + update * h[i];
  }

  std::pair<double, double> next_of_lstm(std::size_t i, const Numbers& x) const {
    const double in = logistic(clipped(sum(0, i, x, h) + peephole(0, i) * c[i]));
    const double forget = layer_.couples_forget ? 1 - in : logistic(clipped(sum(2, i, x, h) + peephole(2, i) * c[i]));
    const double cell = forget * c[i] + in * std::tanh(clipped(sum(3, i, x, h)));
    const double out = logistic(clipped(sum(1, i, x, h) + peephole(1, i) * cell));
    return {out * std::tanh(cell), cell};
  }

  const Layer& layer_;
  const Weights& weights_;
  std::size_t d_;
};

struct Expected {
  Numbers y, h, c;  // [steps, directions, batch, hidden] and [directions, batch, hidden]
};

Expected reference_of(const Layer& layer, const std::vector<float>& x, std::size_t steps) {
  const Weights weights(layer);
  const std::size_t directions = layer.directions(), size = directions * kBatch * kHidden;
  Expected expected{Numbers(steps * size), Numbers(size), Numbers(size)};
  for (std::size_t d = 0; d < directions; ++d) {
    for (std::size_t b = 0; b < kBatch; ++b) {
      SequenceReference sequence(layer, weights, d, b);
      const std::size_t length = layer.lengths.empty() ? steps : static_cast<std::size_t>(layer.lengths[b]);
      for (std::size_t n = 0; n < length; ++n) {
        const std::size_t t = layer.reversed()[d] ? length - 1 - n : n;
        Numbers input;
        for (std::size_t k = 0; k < kInput; ++k) input.push_back(x[(t * kBatch + b) * kInput + k]);
        sequence.step(input);
        for (std::size_t i = 0; i < kHidden; ++i) {
          expected.y[((t * directions + d) * kBatch + b) * kHidden + i] = sequence.h[i];
        }
      }
      for (std::size_t i = 0; i < kHidden && (length > 0 || layer.lengths.empty()); ++i) {
        expected.h[(d * kBatch + b) * kHidden + i] = sequence.h[i];
        expected.c[(d * kBatch + b) * kHidden + i] = sequence.c[i];
      }
    }
  }
  return expected;
}

MessageWriter texts_attribute(std::string_view name, const std::vector<std::string>& values) {
  MessageWriter attribute = MessageWriter().text(1, name).integer(20, 8);
  for (const std::string& value : values) attribute.text(9, value);
  return attribute;
}

MessageWriter numbers_attribute(std::string_view name, const std::vector<float>& values) {
  MessageWriter attribute = MessageWriter().text(1, name).integer(20, 6);
  for (const float value : values) attribute.real(7, value);
  return attribute;
}

/// A model of one layer. `steps` is the dim of x that counts them.
MessageWriter model_of(const Layer& layer, const TestDim& steps, std::vector<MessageWriter> attributes = {}) {
  const Weights weights(layer);
  const auto extent = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  const std::int64_t directions = extent(layer.directions()), rows = extent(layer.gates * kHidden);
  std::vector<std::string> inputs = {"x", "w", "r", "b", layer.lengths.empty() ? "" : "lengths", "h"};
  std::vector<std::string> outputs = {"y", "y_h"};
  attributes.push_back(onnx_text("direction", layer.direction));
  if (layer.op == "LSTM") {
    inputs.push_back("c");
    inputs.push_back(layer.has_peepholes ? "p" : "");
    outputs.push_back("y_c");
    if (layer.couples_forget) attributes.push_back(onnx_int("input_forget", 1));
  }
  if (layer.is_linear_first) attributes.push_back(onnx_int("linear_before_reset", 1));
  if (layer.is_batch_first) attributes.push_back(onnx_int("layout", 1));
  if (layer.clip > 0) attributes.push_back(onnx_float("clip", static_cast<float>(layer.clip)));
  const std::vector<TestDim> state = layer.is_batch_first
                                         ? std::vector<TestDim>{extent(kBatch), directions, extent(kHidden)}
                                         : std::vector<TestDim>{directions, extent(kBatch), extent(kHidden)};
  TestGraph graph{
      .nodes = {{layer.op, inputs, outputs, std::move(attributes), "layer"}},
      .inputs = {layer.is_batch_first ? onnx_value("x", kOnnxFloat, {extent(kBatch), steps, extent(kInput)})
                                      : onnx_value("x", kOnnxFloat, {steps, extent(kBatch), extent(kInput)}),
                 onnx_value("h", kOnnxFloat, state)},
      .outputs = {},
      .initializers = {onnx_tensor("w", {directions, rows, extent(kInput)}, weights.w),
                       onnx_tensor("r", {directions, rows, extent(kHidden)}, weights.r),
                       onnx_tensor("b", {directions, 2 * rows}, weights.b),
                       onnx_tensor("p", {directions, 3 * extent(kHidden)}, weights.p)}};
  if (layer.op == "LSTM") graph.inputs.push_back(onnx_value("c", kOnnxFloat, state));
  if (!layer.lengths.empty()) graph.inputs.push_back(onnx_value("lengths", 6, {extent(kBatch)}));
  for (const std::string& output : outputs) graph.outputs.push_back(onnx_value(output, kOnnxFloat, {}));
  return onnx_model(graph);
}

/// The element at [t, d, b, i] of the results, in the layout of the layer.
struct Places {
  const Layer& layer;
  std::size_t steps;
  std::size_t of_output(std::size_t t, std::size_t d, std::size_t b, std::size_t i) const {
    if (layer.is_batch_first) return ((b * steps + t) * layer.directions() + d) * kHidden + i;
    return ((t * layer.directions() + d) * kBatch + b) * kHidden + i;
  }
  std::size_t of_state(std::size_t d, std::size_t b, std::size_t i) const {
    if (layer.is_batch_first) return (b * layer.directions() + d) * kHidden + i;
    return (d * kBatch + b) * kHidden + i;
  }
};

/// Swaps the first two dims of [outer, inner, rest].
std::vector<float> swapped(const std::vector<float>& x, std::size_t outer, std::size_t inner) {
  const std::size_t rest = x.size() / (outer * inner);
  std::vector<float> result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t o = i / (inner * rest), n = i / rest % inner;
    result[(n * outer + o) * rest + i % rest] = x[i];
  }
  return result;
}

std::vector<reference::Tensor> inputs_of(const Layer& layer, const std::vector<float>& x, std::size_t steps) {
  const Weights weights(layer);
  const auto make = [&](const std::vector<float>& values, std::size_t outer, std::size_t inner, std::size_t last) {
    const bool swaps = layer.is_batch_first;
    const auto first = static_cast<std::int64_t>(swaps ? inner : outer);
    const auto second = static_cast<std::int64_t>(swaps ? outer : inner);
    return reference::make_tensor(DType::kF32, {first, second, static_cast<std::int64_t>(last)},
                                  swaps ? swapped(values, outer, inner) : values);
  };
  std::vector<reference::Tensor> inputs = {make(x, steps, kBatch, kInput),
                                           make(weights.h, layer.directions(), kBatch, kHidden)};
  if (layer.op == "LSTM") inputs.push_back(make(weights.c, layer.directions(), kBatch, kHidden));
  if (!layer.lengths.empty()) {
    inputs.push_back(reference::make_tensor(DType::kI32, {static_cast<std::int64_t>(kBatch)}, layer.lengths));
  }
  return inputs;
}

void check_layer(const Layer& layer, std::size_t steps, bool is_symbolic) {
  CAPTURE(layer.op);
  CAPTURE(layer.direction);
  CAPTURE(steps);
  CAPTURE(is_symbolic);
  const std::vector<float> x = numbers(steps * kBatch * kInput, 7);
  const Expected expected = reference_of(layer, x, steps);
  const TestDim dim = is_symbolic ? TestDim("steps") : TestDim(static_cast<std::int64_t>(steps));
  const OnnxModel model = import_onnx("m", model_of(layer, dim).file()).value();
  CompileOptions options;
  options.context = test_context();
  const Program program = compile(model.graph, options).value();
  const auto found = run_guarded(program, inputs_of(layer, x, steps)).value();
  const Places places{layer, steps};
  const auto y = reference::read_all<double>(found[0]), h = reference::read_all<double>(found[1]);
  const Numbers c = layer.states == 2 ? reference::read_all<double>(found[2]) : expected.c;
  constexpr double kMaxError = 2e-6;  // sums of up to 8 products of f32, below 1 after the activations
  for (std::size_t d = 0; d < layer.directions(); ++d) {
    for (std::size_t b = 0; b < kBatch; ++b) {
      for (std::size_t i = 0; i < kHidden; ++i) {
        const std::size_t place = (d * kBatch + b) * kHidden + i, at = places.of_state(d, b, i);
        for (std::size_t t = 0; t < steps; ++t) {
          const double wanted = expected.y[((t * layer.directions() + d) * kBatch + b) * kHidden + i];
          CHECK(std::fabs(y[places.of_output(t, d, b, i)] - wanted) <= kMaxError);
        }
        CHECK(std::fabs(h[at] - expected.h[place]) <= kMaxError);
        if (layer.states == 2) CHECK(std::fabs(c[at] - expected.c[place]) <= 4 * kMaxError);
      }
    }
  }
}

/// Few steps are built one by one, many are a loop, and so is a number that only the run knows.
void check_layer(const Layer& layer) {
  check_layer(layer, 3, false);
  check_layer(layer, 12, false);
  check_layer(layer, 3, true);
}

std::string error_of(const MessageWriter& model) { return import_onnx("m", model.file()).status().message(); }

const Layer kGru{.op = "GRU", .gates = 3};
const Layer kLstm{.op = "LSTM", .gates = 4, .states = 2};
const Layer kRnn{.op = "RNN"};

}  // namespace

TEST_CASE("recurrent layers run forwards, backwards, and in both directions") {
  for (Layer layer : {kGru, kLstm, kRnn}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      layer.direction = direction;
      check_layer(layer);
    }
  }
}

TEST_CASE("each sequence of a batch has its own length: outputs after it are 0, and so is the state of an empty one") {
  for (Layer layer : {kGru, kLstm, kRnn}) {
    layer.direction = "bidirectional";
    layer.lengths = {3, 1};
    check_layer(layer);
    layer.lengths = {0, 2};
    check_layer(layer);
  }
}

TEST_CASE("the batch is the first dim if layout is 1") {
  for (Layer layer : {kGru, kLstm, kRnn}) {
    layer.direction = "bidirectional";
    layer.is_batch_first = true;
    check_layer(layer);
  }
}

TEST_CASE("options of the cells: peepholes, coupled gates, clipped sums, a reset after the product") {
  Layer lstm = kLstm;
  lstm.has_peepholes = true;
  check_layer(lstm);
  lstm.couples_forget = true;
  lstm.clip = 0.5;
  check_layer(lstm);
  Layer gru = kGru;
  gru.is_linear_first = true;
  check_layer(gru);
  gru.clip = 0.25;
  check_layer(gru);
}

TEST_CASE("a recurrent layer without steps has its first state") { check_layer(kLstm, 0, true); }

TEST_CASE("a graph does not grow with the number of steps") {
  const auto num_nodes = [](std::int64_t steps) {
    return import_onnx("m", model_of(kGru, steps).file()).value().graph.nodes.size();
  };
  CHECK(num_nodes(1000) == num_nodes(10));
}

TEST_CASE("activations of a layer have names and parameters, in order") {
  const auto with = [](const std::vector<std::string>& names, const std::vector<float>& alphas,
                       const std::vector<float>& betas) {
    return model_of(kGru, 2,
                    {texts_attribute("activations", names), numbers_attribute("activation_alpha", alphas),
                     numbers_attribute("activation_beta", betas)});
  };
  CHECK(import_onnx("m", with({"HardSigmoid", "Softsign"}, {0.25F}, {0.5F}).file()).ok());
  const std::string start = "onnx 'm': 1 part cannot be imported:\n  graph.node[0] (GRU 'layer').attribute ";
  CHECK(error_of(with({"Sigmoid"}, {}, {})) ==
        start + "'activations': has 1 names, expected 2: 2 per direction [ai.onnx 18]");
  CHECK(error_of(with({"Sigmoid", "Sine"}, {}, {})) ==
        start + "'activations': 'Sine' is not an activation of recurrent layers [ai.onnx 18]");
  CHECK(error_of(with({"Sigmoid", "Affine"}, {0.5F}, {})) ==
        start + "'activation_beta': has no value for Affine, which has no default [ai.onnx 18]");
  CHECK(error_of(with({"Sigmoid", "Elu"}, {0.5F, 1.0F}, {})) ==
        start + "'activation_alpha': has 2 values, but the activations have 1 such parameters [ai.onnx 18]");
}

TEST_CASE("a recurrent layer says which operand or attribute is wrong") {
  const std::string start = "onnx 'm': 1 part cannot be imported:\n  graph.node[0] (GRU 'layer')";
  Layer layer = kGru;
  layer.direction = "sideways";
  CHECK(error_of(model_of(layer, 2)) ==
        start + ".attribute 'direction': found 'sideways', expected forward, reverse or bidirectional [ai.onnx 18]");
  CHECK(error_of(model_of(kGru, 2, {onnx_int("hidden_size", 4)})) ==
        start + ".attribute 'hidden_size': found 4, expected 3, the last dim of R [ai.onnx 18]");
  CHECK(error_of(model_of({.op = "GRU", .gates = 4}, 2)) ==
        start + ".input[1] ('w'): is f32[1x12x2], expected f32[1x9x2] [ai.onnx 18]");
}

}  // namespace millrace::test
