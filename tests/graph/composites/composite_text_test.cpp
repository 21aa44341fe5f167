// SPDX-License-Identifier: Apache-2.0
// Composites in a text: each is the C++ function of its name, and is printed as its expansion.
#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/text.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/round_trip.h"

namespace millrace {
namespace {

using Inputs = std::vector<Tensor>;

struct Call {
  const char* inputs;  // types, separated by spaces
  const char* call;    // of %0, %1, ..., after their names
  std::function<std::vector<Tensor>(const Inputs&)> function;
};

std::vector<Tensor> one(Tensor tensor) { return {tensor}; }
std::vector<Tensor> both(IndicesAndCount found) { return {found.indices, found.count}; }
std::vector<Tensor> all(UniqueResults found) {
  return {found.values, found.inverse, found.counts, found.first_indices, found.count};
}

const std::vector<Call>& calls() {
  static const std::vector<Call> kCalls = {
      {"f32[4x8]", "softmax(%0)", [](const Inputs& x) { return one(softmax(x[0])); }},
      {"f32[4x8]", "softmax(%0) {axis = 0}", [](const Inputs& x) { return one(softmax(x[0], 0)); }},
      {"f32[4x8]", "log_softmax(%0)", [](const Inputs& x) { return one(log_softmax(x[0])); }},
      {"f32[4x8]", "log_softmax(%0) {axis = 0}", [](const Inputs& x) { return one(log_softmax(x[0], 0)); }},
      {"f32[4x8]", "hardmax(%0)", [](const Inputs& x) { return one(hardmax(x[0])); }},
      {"f32[4x8]", "hardmax(%0) {axis = 0}", [](const Inputs& x) { return one(hardmax(x[0], 0)); }},
      {"f32[2x4x8]", "local_response_norm(%0)", [](const Inputs& x) { return one(local_response_norm(x[0])); }},
      {"f32[2x4x8]", "local_response_norm(%0) {size = 2, alpha = 0.5, beta = 0.25, bias = 2}",
       [](const Inputs& x) {
         return one(local_response_norm(x[0], {.size = 2, .alpha = 0.5, .beta = 0.25, .bias = 2}));
       }},
      {"f32[4x8]", "logsumexp(%0) {axes = [0, 1]}", [](const Inputs& x) { return one(logsumexp(x[0], {0, 1})); }},
      {"f32[4x8]", "logsumexp(%0) {keep_dims = true, axes = [1]}",
       [](const Inputs& x) { return one(logsumexp(x[0], {1}, true)); }},
      {"f32[4x8]", "l2_normalize(%0)", [](const Inputs& x) { return one(l2_normalize(x[0])); }},
      {"f32[4x8]", "l2_normalize(%0) {axis = 0, epsilon = 0.5}",
       [](const Inputs& x) { return one(l2_normalize(x[0], 0, 0.5)); }},
      {"f32[4x8]", "l2_normalize(%0) {epsilon = 0.5}",
       [](const Inputs& x) { return one(l2_normalize(x[0], -1, 0.5)); }},
      {"f32[4]", "relu(%0)", [](const Inputs& x) { return one(relu(x[0])); }},
      {"f32[4]", "elu(%0) {alpha = 0.25}", [](const Inputs& x) { return one(elu(x[0], 0.25)); }},
      {"f32[4]", "elu(%0)", [](const Inputs& x) { return one(elu(x[0])); }},
      {"f32[4]", "gelu(%0)", [](const Inputs& x) { return one(gelu(x[0])); }},
      {"f32[4]", "gelu_tanh(%0)", [](const Inputs& x) { return one(gelu_tanh(x[0])); }},
      {"f32[4]", "silu(%0)", [](const Inputs& x) { return one(silu(x[0])); }},
      {"f32[4]", "celu(%0) {alpha = 0.5}", [](const Inputs& x) { return one(celu(x[0], 0.5)); }},
      {"f32[4]", "celu(%0)", [](const Inputs& x) { return one(celu(x[0])); }},
      {"f32[4]", "selu(%0)", [](const Inputs& x) { return one(selu(x[0])); }},
      {"f32[4]", "selu(%0) {alpha = 2, gamma = 0.5}", [](const Inputs& x) { return one(selu(x[0], 2, 0.5)); }},
      {"f32[4]", "hard_sigmoid(%0)", [](const Inputs& x) { return one(hard_sigmoid(x[0])); }},
      {"f32[4]", "hard_sigmoid(%0) {alpha = 0.25, beta = 0.75}",
       [](const Inputs& x) { return one(hard_sigmoid(x[0], 0.25, 0.75)); }},
      {"f32[4]", "softsign(%0)", [](const Inputs& x) { return one(softsign(x[0])); }},
      {"f32[4]", "asin(%0)", [](const Inputs& x) { return one(asin(x[0])); }},
      {"f32[4]", "acos(%0)", [](const Inputs& x) { return one(acos(x[0])); }},
      {"f32[4]", "atan(%0)", [](const Inputs& x) { return one(atan(x[0])); }},
      {"f32[4]", "sinh(%0)", [](const Inputs& x) { return one(sinh(x[0])); }},
      {"f32[4]", "cosh(%0)", [](const Inputs& x) { return one(cosh(x[0])); }},
      {"f32[4]", "asinh(%0)", [](const Inputs& x) { return one(asinh(x[0])); }},
      {"f32[4]", "acosh(%0)", [](const Inputs& x) { return one(acosh(x[0])); }},
      {"f32[4]", "atanh(%0)", [](const Inputs& x) { return one(atanh(x[0])); }},
      {"f32[4]", "mish(%0)", [](const Inputs& x) { return one(mish(x[0])); }},
      {"f32[4]", "clamp(%0) {low = -1, high = inf}",
       [](const Inputs& x) { return one(clamp(x[0], -1, std::numeric_limits<double>::infinity())); }},
      {"f32[4]", "is_inf(%0)", [](const Inputs& x) { return one(is_inf(x[0])); }},
      {"bool[4x1] f32[8] f32[]", "where(%0, %1, %2)", [](const Inputs& x) { return one(where(x[0], x[1], x[2])); }},
      {"f32[2x4x8] f32[8]", "matmul(%0, %1)", [](const Inputs& x) { return one(matmul(x[0], x[1])); }},
      {"f32[8]", "broadcast_to(%0) {shape = [n in 1..9, 8]}",
       [](const Inputs& x) { return one(broadcast_to(x[0], {Dim("n").at_least(1).at_most(9), 8})); }},
      {"f32[4x8] f32[8] f32[8]", "layer_norm(%0, %1, %2) {epsilon = 0.125}",
       [](const Inputs& x) { return one(layer_norm(x[0], x[1], x[2], 0.125)); }},
      {"f32[4x8] f32[8] f32[8]", "layer_norm(%0, %1, %2)",
       [](const Inputs& x) { return one(layer_norm(x[0], x[1], x[2])); }},
      {"f16[4x8] f16[8]", "rms_norm(%0, %1)", [](const Inputs& x) { return one(rms_norm(x[0], x[1])); }},
      {"f32[2x4x8] f32[4] f32[4]", "group_norm(%0, %1, %2) {groups = 2}",
       [](const Inputs& x) { return one(group_norm(x[0], 2, x[1], x[2])); }},
      {"f32[2x4x8] f32[4] f32[4]", "instance_norm(%0, %1, %2)",
       [](const Inputs& x) { return one(instance_norm(x[0], x[1], x[2])); }},
      {"f32[2x4x8] f32[4] f32[4] f32[4] f32[4]", "batch_norm(%0, %1, %2, %3, %4)",
       [](const Inputs& x) { return one(batch_norm(x[0], x[1], x[2], x[3], x[4])); }},
      {"i64[3]", "one_hot(%0) {depth = k in 0..9, dtype = i8}",
       [](const Inputs& x) { return one(one_hot(x[0], Dim("k").at_most(9), DType::kI8)); }},
      {"i64[3]", "one_hot(%0) {depth = 4}", [](const Inputs& x) { return one(one_hot(x[0], 4)); }},
      {"f32[4x4]", "trilu(%0) {upper = true}", [](const Inputs& x) { return one(trilu(x[0], true)); }},
      {"f32[4x4]", "trilu(%0) {upper = false, diagonal = -1}",
       [](const Inputs& x) { return one(trilu(x[0], false, -1)); }},
      {"f32[4x8] i64[3x2]", "gather_nd(%0, %1)", [](const Inputs& x) { return one(gather_nd(x[0], x[1])); }},
      {"f32[4x8] i64[3x1] f32[3x8]", "scatter_nd(%0, %1, %2)",
       [](const Inputs& x) { return one(scatter_nd(x[0], x[1], x[2])); }},
      {"f32[4x8] f32[4x3]", "searchsorted(%0, %1)", [](const Inputs& x) { return one(searchsorted(x[0], x[1])); }},
      {"f32[4x8] f32[4x3]", "searchsorted(%0, %1) {right = true}",
       [](const Inputs& x) { return one(searchsorted(x[0], x[1], true)); }},
      {"f32[4x8]", "cumulative_argmax(%0)", [](const Inputs& x) { return one(cumulative_argmax(x[0])); }},
      {"f32[4x8]", "cumulative_argmax(%0) {axis = 0}", [](const Inputs& x) { return one(cumulative_argmax(x[0], 0)); }},
      {"f32[4x8] i64[3x1] f32[3x8]", "scatter_nd(%0, %1, %2) {reduction = add}",
       [](const Inputs& x) { return one(scatter_nd(x[0], x[1], x[2], ScatterReduction::kAdd)); }},
      {"f32[4x8] i64[3x1] f32[3x8]", "scatter_nd(%0, %1, %2) {reduction = mul}",
       [](const Inputs& x) { return one(scatter_nd(x[0], x[1], x[2], ScatterReduction::kMul)); }},
      {"f32[4x8] i64[3x2] f32[3x2]", "scatter_elements(%0, %1, %2) {axis = 1, reduction = max}",
       [](const Inputs& x) { return one(scatter_elements(x[0], x[1], x[2], 1, ScatterReduction::kMax)); }},
      {"f32[4x8] i64[4x2] f32[4x2]", "scatter_elements(%0, %1, %2) {axis = 1, reduction = min}",
       [](const Inputs& x) { return one(scatter_elements(x[0], x[1], x[2], 1, ScatterReduction::kMin)); }},
      {"f32[4x8] i64[4x2] f32[4x2]", "scatter_elements(%0, %1, %2) {axis = 1}",
       [](const Inputs& x) { return one(scatter_elements(x[0], x[1], x[2], 1)); }},
      {"f32[4x8] f32[4x2]", "update_slice(%0, %1) {axis = 1, start = -3}",
       [](const Inputs& x) { return one(update_slice(x[0], x[1], 1, -3)); }},
      {"f32[4x8] f32[4x2] i32[]", "update_slice(%0, %1, %2) {axis = -1}",
       [](const Inputs& x) { return one(update_slice(x[0], x[1], -1, x[2])); }},
      {"f32[4x8]", "nonzero(%0)", [](const Inputs& x) { return both(nonzero(x[0])); }},
      {"bool[4]", "nonzero(%0) {bound = k in 0..9}",
       [](const Inputs& x) { return both(nonzero(x[0], Dim("k").at_most(9))); }},
      {"f32[6x4] f32[6]", "non_max_suppression(%0, %1) {bound = 3, max_overlap = 0.25}",
       [](const Inputs& x) { return both(non_max_suppression(x[0], x[1], 3, 0.25)); }},
      {"f32[6x4] f32[6]", "non_max_suppression(%0, %1)",
       [](const Inputs& x) { return both(non_max_suppression(x[0], x[1])); }},
      {"f32[6x4] f32[6]", "non_max_suppression(%0, %1) {min_score = 0.5, max_overlap = 0.25}",
       [](const Inputs& x) { return both(non_max_suppression(x[0], x[1], 6, 0.25, 0.5)); }},
      {"f16[8]", "unique(%0)", [](const Inputs& x) { return all(unique(x[0])); }},
      {"i64[8]", "unique(%0) {bound = 3}", [](const Inputs& x) { return all(unique(x[0], 3)); }},
      {"f32[4x8]", "split(%0) {sizes = [3, 5], axis = 1}", [](const Inputs& x) { return split(x[0], {3, 5}, 1); }},
      {"f32[4x8]", "split_evenly(%0) {num_parts = 2, axis = 0}",
       [](const Inputs& x) { return split_evenly(x[0], 2, 0); }},
      {"f32[4x1]", "squeeze(%0) {axes = [1]}", [](const Inputs& x) { return one(squeeze(x[0], {1})); }},
      {"f32[4]", "unsqueeze(%0) {axes = [0, -1]}", [](const Inputs& x) { return one(unsqueeze(x[0], {0, -1})); }},
      {"f32[4]", "tile(%0) {repeats = [r in 1..3]}",
       [](const Inputs& x) { return one(tile(x[0], {Dim("r").at_least(1).at_most(3)})); }},
      {"f32[4x8]", "flip(%0) {axes = [0]}", [](const Inputs& x) { return one(flip(x[0], {0})); }},
      {"f32[4x8]", "roll(%0) {shift = 3, axis = 1}", [](const Inputs& x) { return one(roll(x[0], 3, 1)); }},
      {"f32[4]", "pad_reflect(%0) {low = [1], high = [2]}",
       [](const Inputs& x) { return one(pad_reflect(x[0], {1}, {2})); }},
      {"f32[4]", "pad_edge(%0) {low = [1], high = [2]}", [](const Inputs& x) { return one(pad_edge(x[0], {1}, {2})); }},
      {"f32[1x8x2x2]", "depth_to_space(%0) {block = 2, order = channel_first}",
       [](const Inputs& x) { return one(depth_to_space(x[0], 2, DepthOrder::kChannelFirst)); }},
      {"f32[1x8x2x2]", "depth_to_space(%0) {block = 2}", [](const Inputs& x) { return one(depth_to_space(x[0], 2)); }},
      {"f32[1x2x4x4]", "space_to_depth(%0) {block = 2}", [](const Inputs& x) { return one(space_to_depth(x[0], 2)); }},
      {"f32[1x2x4]", "global_avg_pool(%0)", [](const Inputs& x) { return one(global_avg_pool(x[0])); }},
      {"f32[1x2x4]", "global_max_pool(%0)", [](const Inputs& x) { return one(global_max_pool(x[0])); }},
      {"f32[1x2x9]", "max_pool1d(%0)", [](const Inputs& x) { return one(max_pool1d(x[0])); }},
      {"f32[1x2x9]", "avg_pool1d(%0)", [](const Inputs& x) { return one(avg_pool1d(x[0])); }},
      {"f32[1x2x9]", "max_pool1d(%0) {window = 3, ceil_mode = true}",
       [](const Inputs& x) { return one(max_pool1d(x[0], {.window = 3, .ceil_mode = true})); }},
      {"f32[1x2x9]", "avg_pool1d(%0) {padding_low = 1, count_include_pad = true, stride = 1, padding_high = 0}",
       [](const Inputs& x) {
         return one(avg_pool1d(x[0], {.stride = 1, .padding_low = 1, .count_include_pad = true}));
       }},
      {"f32[1x4x9] f32[6x2x3]", "conv1d(%0, %1) {groups = 2, dilation = 2, padding_low = 1}",
       [](const Inputs& x) { return one(conv1d(x[0], x[1], {.padding_low = 1, .dilation = 2, .groups = 2})); }},
      {"f32[1x4x9] f32[6x4x3] f32[6]", "conv1d(%0, %1, %2)",
       [](const Inputs& x) { return one(conv1d(x[0], x[1], x[2])); }},
      {"f32[1x4x9x9] f32[6x4x3x3] f32[6]", "conv2d(%0, %1, %2)",
       [](const Inputs& x) { return one(conv2d(x[0], x[1], x[2])); }},
      {"f32[1x4x9x9] f32[6x2x3x3] f32[6]", "conv2d(%0, %1, %2) {groups = 2, strides = [2, 1]}",
       [](const Inputs& x) { return one(conv2d(x[0], x[1], x[2], {.strides = {2, 1}, .groups = 2})); }},
      {"f32[4x8]", "resize(%0) {axes = [1], sizes = [5], mode = linear, coordinates = align_corners}",
       [](const Inputs& x) {
         return one(resize(x[0], {1}, {5}, ResizeMode::kLinear, ResizeCoordinates::kAlignCorners));
       }},
      {"f32[4x8]", "resize(%0) {axes = [1], sizes = [5], mode = nearest}",
       [](const Inputs& x) { return one(resize(x[0], {1}, {5}, ResizeMode::kNearest)); }},
      {"f32[4x8] f32[4] i8[4]", "quantize_linear(%0, %1, %2) {axis = 0}",
       [](const Inputs& x) { return one(quantize_linear(x[0], x[1], x[2], 0)); }},
      {"f32[4x8] f32[8] i8[8]", "quantize_linear(%0, %1, %2)",
       [](const Inputs& x) { return one(quantize_linear(x[0], x[1], x[2])); }},
      {"i8[4x8] f32[8] i8[8]", "dequantize_linear(%0, %1, %2)",
       [](const Inputs& x) { return one(dequantize_linear(x[0], x[1], x[2])); }},
      {"f32[2x4x8] f32[4x4] f32[4x4]", "rotary_embedding(%0, %1, %2) {interleaved = true}",
       [](const Inputs& x) { return one(rotary_embedding(x[0], x[1], x[2], true)); }},
      {"f32[2x4x8] f32[4x4] f32[4x4]", "rotary_embedding(%0, %1, %2)",
       [](const Inputs& x) { return one(rotary_embedding(x[0], x[1], x[2])); }},
      {"u64[]", "random_bits(%0) {shape = [3, 4]}", [](const Inputs& x) { return one(random_bits(x[0], {3, 4})); }},
      {"u64[]", "random_uniform(%0) {shape = []}", [](const Inputs& x) { return one(random_uniform(x[0], {})); }},
      {"f32[4x8] u64[]", "multinomial(%0, %1) {num_samples = 3}",
       [](const Inputs& x) { return one(multinomial(x[0], x[1], 3)); }},
      {"f32[4x8] i32[4x8]", "topk(%0, %1) {k = 3, axis = 0, largest = false, sorted = false}",
       [](const Inputs& x) {
         const auto top = topk(x[0], x[1], 3, {.axis = 0, .largest = false, .sorted = false});
         return std::vector<Tensor>{top.values, top.indices};
       }},
      {"f32[4x8] i32[4x8]", "topk(%0, %1)",
       [](const Inputs& x) {
         const auto top = topk(x[0], x[1], 1);
         return std::vector<Tensor>{top.values, top.indices};
       }},
      {"f32[4] f32[4] f32[4]", "stack(%0, %1, %2) {axis = 1}",
       [](const Inputs& x) { return one(stack({x[0], x[1], x[2]}, 1)); }},
      {"f32[4x8] f32[8x2]", "einsum(%0, %1) {equation = \"ij,jk->ki\"}",
       [](const Inputs& x) { return one(einsum("ij,jk->ki", {x[0], x[1]})); }},
      {"f32[4x8] f32[5x8] f32[5x2]", "attention(%0, %1, %2) {is_causal = true, scale = 0.5}",
       [](const Inputs& x) { return one(attention(x[0], x[1], x[2], {.scale = 0.5, .is_causal = true})); }},
      {"f32[4x8] f32[5x8] f32[5x2] bool[4x5]", "attention(%0, %1, %2, %3)",
       [](const Inputs& x) { return one(attention(x[0], x[1], x[2], {.mask = x[3]})); }},
  };
  return kCalls;
}

/// "f32[4x8] f32[8]" as the inputs of a graph's text, and the same built in C++.
struct Declared {
  explicit Declared(const std::string& types) {
    std::size_t begin = 0;
    for (std::size_t number = 0; begin < types.size(); ++number) {
      const std::size_t end = std::min(types.find(' ', begin), types.size());
      const std::string type = types.substr(begin, end - begin);
      text += (number == 0 ? "%\"" : ", %\"") + std::to_string(number) + "\": " + type;
      begin = end + 1;
    }
    const Graph graph = parse_graph("graph g(" + text + ") { return y = %\"0\" }").value();
    for (const NodeId id : graph.inputs) {
      const TensorType& type = graph.type({id, 0});
      inputs.push_back(builder.input(std::to_string(inputs.size()), type.dtype, type.shape));
    }
  }
  std::string text;
  GraphBuilder builder{"g"};
  Inputs inputs;
};

/// Writes %0 as %"0".
std::string quoted(std::string_view call) {
  std::string text;
  for (std::size_t i = 0; i < call.size(); ++i) {
    text += call[i];
    if (call[i] != '%') continue;
    text += std::string("\"") + call[++i] + '"';
  }
  return text;
}

TEST_CASE("each composite in a text makes the nodes that the C++ function of its name makes") {
  for (const Call& call : calls()) {
    CAPTURE(call.call);
    Declared declared(call.inputs);
    const std::vector<Tensor> results = call.function(declared.inputs);
    std::string names, outputs;
    for (std::size_t i = 0; i < results.size(); ++i) {
      declared.builder.output("y" + std::to_string(i), results[i]);
      names += (i == 0 ? "%1000" : ", %1000") + std::to_string(i);
      outputs += (i == 0 ? "" : ", ") + std::string("y") + std::to_string(i) + " = %1000" + std::to_string(i);
    }
    const Result<Graph> built = declared.builder.finish();
    REQUIRE_MESSAGE(built.ok(), built.status().message());
    const Result<Graph> parsed = parse_graph("graph g(" + declared.text + ") {\n  " + names + " = " +
                                             quoted(call.call) + "\n  return " + outputs + "\n}\n");
    REQUIRE_MESSAGE(parsed.ok(), parsed.status().message());
    CHECK(to_text(*parsed) == to_text(*built));
    CHECK(round_trip_problem(*parsed) == "");
  }
}

/// Other numbers in the braces, often ones that the composite does not take; or other characters anywhere.
std::string damage(std::string call, std::mt19937_64& random) {
  constexpr std::string_view kDigits = "0123456789", kCharacters = "0123456789-%\"(){}[],= xnaf_.";
  const std::size_t number = call.find_first_of(kDigits, std::min(call.find('{'), call.size()));
  if (number != std::string::npos && random() % 2 == 0) {
    return call.replace(number, 1, std::to_string(static_cast<std::int64_t>(random() % 20) - 4));
  }
  const std::size_t at = random() % call.size();
  const std::string other(random() % 3, kCharacters[random() % kCharacters.size()]);
  return call.replace(at, random() % 2, other);
}

TEST_CASE("no damage to a call is fatal, and a refusal names its place") {
  std::mt19937_64 random(7);
  std::size_t num_read = 0, num_refused = 0;
  for (const Call& call : calls()) {
    const Declared declared(call.inputs);
    for (int trial = 0; trial < 100; ++trial) {
      const std::string damaged = damage(quoted(call.call), random);
      CAPTURE(damaged);
      const Result<Graph> graph =
          parse_graph("graph g(" + declared.text + ") {\n%y = " + damaged + "\nreturn y = %y\n}\n", {.name = "g.mr"});
      if (!graph.ok()) CHECK(graph.status().message().starts_with("g.mr:"));
      ++(graph.ok() ? num_read : num_refused);
    }
  }
  CHECK(num_read > 100);
  CHECK(num_refused > 1000);
}

TEST_CASE("every composite is in the test above, and also without each attribute that has a default value") {
  const auto is_tried = [](const std::string& name, const auto& has_attributes) {
    return std::ranges::any_of(calls(), [&](const Call& each) {
      const std::string_view call = each.call;
      return call.starts_with(name + "(") && has_attributes(call);
    });
  };
  for (const OperationForm& form : operation_forms()) {
    if (!form.is_composite) continue;
    CAPTURE(form.name);
    CHECK(is_tried(form.name, [](std::string_view) { return true; }));
    for (const AttributeForm& attribute : form.attributes) {
      CAPTURE(attribute.name);
      if (attribute.default_text.empty()) continue;
      CHECK(is_tried(form.name, [&](std::string_view call) { return call.find(attribute.name + " =") == call.npos; }));
    }
  }
}

TEST_CASE("a composite is printed as its expansion, and its results keep their names") {
  const Graph graph = parse_graph(
                          "graph g(%x: f32[4x8]) {\n"
                          "  %h = relu(%x) : f32[4x8]\n"
                          "  %left, %7 = split_evenly(%h) {num_parts = 2, axis = 1}\n"
                          "  %same = squeeze(%left) {axes = []}\n"
                          "  return left = %same, right = %7\n"
                          "}\n")
                          .value();
  CHECK(to_text(graph) ==
        "graph g(%x: f32[4x8]) {\n"
        "  %1 = constant(0) : f32[]\n"
        "  %2 = broadcast(%1) {shape = [4, 8], dims = []} : f32[4x8]\n"
        "  %h = max(%x, %2) : f32[4x8]\n"
        "  %left = slice(%h) {start = [0, 0], stop = [4, 4], step = [1, 1]} : f32[4x4]\n"
        "  %5 = slice(%h) {start = [0, 4], stop = [4, 8], step = [1, 1]} : f32[4x4]\n"
        "  %same = reshape(%left) {shape = [4, 4]} : f32[4x4]\n"
        "  return left = %same, right = %5\n"
        "}\n");
}

}  // namespace
}  // namespace millrace
