// SPDX-License-Identifier: Apache-2.0
// Attention, rotary embeddings and small products against plain loops.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/compile.h"
#include "millrace/graph/onnx.h"
#include "tests/graph/import/onnx/model_writer.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

using Numbers = std::vector<double>;

constexpr double kHidden = -std::numeric_limits<double>::infinity();

reference::Tensor random_tensor(const reference::Extents& extents, std::size_t seed) {
  Numbers values(static_cast<std::size_t>(reference::count(extents)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>((i * 29 + seed * 53 + i * i) % 65) / 32.0 - 1.0;
  }
  return reference::make_tensor(DType::kF32, extents, values);
}

std::vector<TestDim> dims_of(const reference::Extents& extents) { return {extents.begin(), extents.end()}; }

struct Options {
  std::int64_t heads = 4, key_heads = 2, queries = 3, keys = 5, past = 0;
  bool is_causal = false;
  std::int64_t left = -1, right = -1, mode = 0;
  double softcap = 0, scale = 0.5;
  std::vector<std::int64_t> valid = {};  // nonpad_kv_seqlen
  bool has_mask = false;
};
constexpr std::int64_t kBatch = 2, kDepth = 4, kValueDepth = 3;

/// The operands of a node by name, in its order; an empty tensor is omitted.
struct Operand {
  std::string name;
  reference::Tensor tensor;
};

std::vector<Operand> operands_of(const Options& options) {
  const std::int64_t total = options.past + options.keys;
  std::vector<Operand> all = {{"q", random_tensor({kBatch, options.heads, options.queries, kDepth}, 1)},
                              {"k", random_tensor({kBatch, options.key_heads, options.keys, kDepth}, 2)},
                              {"v", random_tensor({kBatch, options.key_heads, options.keys, kValueDepth}, 3)},
                              {"", {}},
                              {"", {}},
                              {"", {}},
                              {"", {}}};
  if (options.has_mask) {
    reference::Tensor mask(DType::kBool, {options.queries, total - 1});  // hides the last key
    // The first query sees nothing.
    for (std::int64_t i = total - 1; i < mask.num_elements(); ++i) *mask.element(i) = std::byte(i % 3 != 0);
    all[3] = {"mask", mask};
  }
  if (options.past > 0) {
    all[4] = {"past_k", random_tensor({kBatch, options.key_heads, options.past, kDepth}, 4)};
    all[5] = {"past_v", random_tensor({kBatch, options.key_heads, options.past, kValueDepth}, 5)};
  }
  if (!options.valid.empty()) {
    all[6] = {"valid", reference::make_tensor(DType::kI64, {kBatch}, options.valid)};
  }
  return all;
}

/// A model of one node, with version 25 of the ops unless told otherwise.
MessageWriter model_of(const std::string& op, const std::vector<Operand>& operands,
                       std::vector<MessageWriter> attributes, const std::vector<std::string>& outputs,
                       std::int64_t version = 25) {
  TestNode node{op, {}, outputs, std::move(attributes), "node"};
  TestGraph graph{{}, {}, {}};
  for (const Operand& operand : operands) {
    node.inputs.push_back(operand.name);
    if (operand.name.empty()) continue;
    const DType dtype = operand.tensor.type.dtype;
    const std::int64_t type = dtype == DType::kBool ? kOnnxBool : dtype == DType::kI64 ? kOnnxInt64 : kOnnxFloat;
    graph.inputs.push_back(onnx_value(operand.name, type, dims_of(operand.tensor.extents())));
  }
  for (const std::string& output : outputs) graph.outputs.push_back(onnx_value(output, kOnnxFloat, {}));
  graph.nodes.push_back(std::move(node));
  return onnx_model(graph, version);
}

std::vector<reference::Tensor> run_model(const MessageWriter& model, const std::vector<Operand>& operands) {
  CompileOptions options;
  options.context = test_context();
  std::vector<reference::Tensor> inputs;
  for (const Operand& operand : operands) {
    if (!operand.name.empty()) inputs.push_back(operand.tensor);
  }
  const OnnxModel imported = import_onnx("m", model.file()).value();
  return run_guarded(compile(imported.graph, options).value(), inputs).value();
}

struct Expected {
  Numbers y, shown;
};

class AttentionReference {
 public:
  explicit AttentionReference(const Options& options) : options_(options), operands_(operands_of(options)) {}

  Expected compute() const {
    const std::int64_t total = options_.past + options_.keys;
    Expected expected;
    for (std::int64_t b = 0; b < kBatch; ++b) {
      for (std::int64_t h = 0; h < options_.heads; ++h) {
        for (std::int64_t i = 0; i < options_.queries; ++i) {
          Numbers scores, weights;
          double sum = 0;
          for (std::int64_t j = 0; j < total; ++j) {
            const double raw = product(b, h, i, j) * options_.scale;
            const double capped = options_.softcap > 0 ? options_.softcap * std::tanh(raw / options_.softcap) : raw;
            scores.push_back(is_visible(b, i, j) ? capped : kHidden);
            weights.push_back(std::exp(scores.back()));
            sum += weights.back();
            const Numbers modes = {raw, capped, scores.back()};
            if (options_.mode < 3) expected.shown.push_back(modes[static_cast<std::size_t>(options_.mode)]);
          }
          for (double& weight : weights) weight = sum == 0 ? 0 : weight / sum;
          if (options_.mode == 3) expected.shown.insert(expected.shown.end(), weights.begin(), weights.end());
          for (std::int64_t e = 0; e < kValueDepth; ++e) {
            double y = 0;
            for (std::int64_t j = 0; j < total; ++j) y += weights[static_cast<std::size_t>(j)] * part(2, b, h, j, e);
            expected.y.push_back(y);
          }
        }
      }
    }
    return expected;
  }

 private:
  double element(std::size_t operand, const reference::Extents& index) const {
    const reference::Tensor& x = operands_[operand].tensor;
    const std::int64_t at = reference::offset_of(index, reference::row_major_strides(x.extents()));
    return reference::read_element<double>(x.type.dtype, x.element(at));
  }
  /// An element of the keys (1) or values (2), of the past or not.
  double part(std::size_t operand, std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) const {
    const std::int64_t head = h / (options_.heads / options_.key_heads);
    return j < options_.past ? element(operand + 3, {b, head, j, d})
                             : element(operand, {b, head, j - options_.past, d});
  }
  double product(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t d = 0; d < kDepth; ++d) sum += element(0, {b, h, i, d}) * part(1, b, h, j, d);
    return sum;
  }
  bool is_visible(std::int64_t b, std::int64_t i, std::int64_t j) const {
    const bool is_padded = !options_.valid.empty();
    const std::int64_t valid = is_padded ? options_.valid[static_cast<std::size_t>(b)] : options_.past + options_.keys;
    const std::int64_t place = i + (is_padded ? valid - options_.queries : options_.past);
    if (j >= valid || (options_.is_causal && j > place)) return false;
    if (options_.left >= 0 && j < place - options_.left) return false;
    if (options_.right >= 0 && j > place + options_.right) return false;
    const std::int64_t masked = options_.past + options_.keys - 1;
    return !options_.has_mask || (j < masked && element(3, {i, j}) != 0);
  }

  Options options_;
  std::vector<Operand> operands_;
};

void check_attention(const Options& options) {
  const std::vector<Operand> operands = operands_of(options);
  std::vector<MessageWriter> attributes = {onnx_float("scale", static_cast<float>(options.scale)),
                                           onnx_int("is_causal", options.is_causal ? 1 : 0),
                                           onnx_float("softcap", static_cast<float>(options.softcap)),
                                           onnx_int("qk_matmul_output_mode", options.mode),
                                           onnx_int("left_window_size", options.left),
                                           onnx_int("right_window_size", options.right)};
  const auto found =
      run_model(model_of("Attention", operands, std::move(attributes), {"y", "k2", "v2", "shown"}), operands);
  const Expected expected = AttentionReference(options).compute();
  const auto y = reference::read_all<double>(found[0]), shown = reference::read_all<double>(found[3]);
  REQUIRE(y.size() == expected.y.size());
  REQUIRE(shown.size() == expected.shown.size());
  constexpr double kMaxError = 1e-6;  // sums of up to 7 products below 1
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::fabs(y[i] - expected.y[i]) <= kMaxError);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    CHECK((shown[i] == expected.shown[i] || std::fabs(shown[i] - expected.shown[i]) <= 4 * kMaxError));
  }
  CHECK(found[1].extents() == reference::Extents{kBatch, options.key_heads, options.past + options.keys, kDepth});
}

std::string error_of(const MessageWriter& model) { return import_onnx("m", model.file()).status().message(); }

}  // namespace

TEST_CASE("attention with groups of heads, a past, masks and windows") {
  for (const std::int64_t key_heads : {1, 2, 4}) check_attention({.key_heads = key_heads});
  check_attention({.is_causal = true});
  check_attention({.past = 2, .is_causal = true});
  check_attention({.past = 2, .is_causal = true, .left = 1});
  check_attention({.past = 1, .left = 0, .right = 2});
  check_attention({.softcap = 0.5});
}

TEST_CASE("a query that sees no key gives zeros") {
  check_attention({.has_mask = true});
  check_attention({.past = 2, .is_causal = true, .has_mask = true});
  // The first sequence has fewer keys than queries, so that its first query sees none.
  check_attention({.is_causal = true, .valid = {2, 4}});
  check_attention({.valid = {0, 5}});
}

TEST_CASE("attention shows its scores or its weights") {
  for (const std::int64_t mode : {0, 1, 2, 3}) {
    check_attention({.is_causal = true, .mode = mode, .softcap = 0.75, .has_mask = true});
  }
}

TEST_CASE("attention says which operand or attribute is wrong") {
  const std::string start = "onnx 'm': 1 part cannot be imported:\n  graph.node[0] (Attention 'node')";
  const auto error_with = [](const Options& options, std::vector<MessageWriter> attributes) {
    return error_of(model_of("Attention", operands_of(options), std::move(attributes), {"y"}));
  };
  CHECK(error_with({}, {onnx_int("qk_matmul_output_mode", 4)}) ==
        start + ".attribute 'qk_matmul_output_mode': found 4, expected 0 to 3 [ai.onnx 25]");
  CHECK(error_with({}, {onnx_int("left_window_size", -2)}) ==
        start + ".attribute 'left_window_size': found -2, expected -1 or more [ai.onnx 25]");
  CHECK(error_with({.key_heads = 3}, {}) ==
        start + ": found 4 query heads, expected a multiple of the 3 key heads [ai.onnx 25]");
  CHECK(error_with({.past = 1, .valid = {1, 1}}, {}) ==
        start + ": has nonpad_kv_seqlen and past_key, expected one of them [ai.onnx 25]");
}

TEST_CASE("rotary embeddings rotate a part of each head, by position") {
  constexpr std::int64_t kHeads = 2, kSteps = 3, kSize = 6, kRotated = 4, kRows = 8;
  for (const bool is_interleaved : {false, true}) {
    const std::vector<Operand> operands = {
        {"x", random_tensor({kBatch, kHeads, kSteps, kSize}, 1)},
        {"cosine", random_tensor({kRows, kRotated / 2}, 2)},
        {"sine", random_tensor({kRows, kRotated / 2}, 3)},
        {"places", reference::make_tensor(DType::kI64, {kBatch, kSteps}, std::vector<std::int64_t>{0, 1, 2, 7, 6, 5})}};
    const auto found = run_model(
        model_of("RotaryEmbedding", operands,
                 {onnx_int("interleaved", is_interleaved ? 1 : 0), onnx_int("rotary_embedding_dim", kRotated)}, {"y"}),
        operands);
    Numbers x = reference::read_all<double>(operands[0].tensor);
    const Numbers cosine = reference::read_all<double>(operands[1].tensor);
    const Numbers sine = reference::read_all<double>(operands[2].tensor);
    const auto places = reference::read_all<std::int64_t>(operands[3].tensor);
    for (std::size_t row = 0; row < x.size() / kSize; ++row) {
      const auto place = static_cast<std::size_t>(places[row / (kHeads * kSteps) * kSteps + row % kSteps]);
      for (std::size_t pair = 0; pair < kRotated / 2; ++pair) {
        double& first = x[row * kSize + (is_interleaved ? 2 * pair : pair)];
        double& second = x[row * kSize + (is_interleaved ? 2 * pair + 1 : pair + kRotated / 2)];
        const double c = cosine[place * kRotated / 2 + pair], s = sine[place * kRotated / 2 + pair];
        const double a = first, b = second;
        first = a * c - b * s;
        second = b * c + a * s;
      }
    }
    const Numbers y = reference::read_all<double>(found[0]);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(y[i] - x[i]) <= 1e-6);
  }
}

TEST_CASE("determinants of small matrices") {
  const std::vector<Operand> operands = {{"x", random_tensor({2, 4, 4}, 5)}};
  const auto found = run_model(model_of("Det", operands, {}, {"y"}, 22), operands);
  for (std::size_t m = 0; m < 2; ++m) {
    Numbers a = reference::read_all<double>(operands[0].tensor);
    double det = 1;  // by elimination
    double* row = a.data() + m * 16;
    for (std::size_t i = 0; i < 4; ++i) {
      std::size_t pivot = i;
      while (row[pivot * 4 + i] == 0) ++pivot;
      if (pivot != i) det = -det;
      for (std::size_t j = 0; j < 4; ++j) std::swap(row[pivot * 4 + j], row[i * 4 + j]);
      det *= row[i * 4 + i];
      for (std::size_t k = i + 1; k < 4; ++k) {
        const double factor = row[k * 4 + i] / row[i * 4 + i];
        for (std::size_t j = 0; j < 4; ++j) row[k * 4 + j] -= factor * row[i * 4 + j];
      }
    }
    CHECK(std::fabs(reference::read_all<double>(found[0])[m] - det) <= 1e-5);
  }
  CHECK(error_of(model_of("Det", {{"x", random_tensor({5, 5}, 1)}}, {}, {"y"}, 22)) ==
        "onnx 'm': 1 part cannot be imported:\n"
        "  graph.node[0] (Det 'node'): found matrices of 5 rows, expected 1 to 4 [ai.onnx 22]");
}

}  // namespace millrace::test
