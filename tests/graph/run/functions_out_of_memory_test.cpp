// SPDX-License-Identifier: Apache-2.0
// Every allocation of each function on tensors fails once.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/fail_each_allocation.h"

namespace millrace {
namespace {

struct Twice {
  static auto emit(auto& b, auto x) { return b.add(x[0], x[0]); }
};

/// What functions are given, lists too: those that a caller makes are the caller's to make.
struct Given {
  std::unique_ptr<GraphBuilder> graph = std::make_unique<GraphBuilder>("g");
  Tensor x = graph->input("x", DType::kF32, {4, 4});
  Tensor row = graph->input("row", DType::kF32, {4});
  Tensor i = graph->input("i", DType::kI32, {4, 4});
  Tensor q = graph->input("q", DType::kI8, {4, 4});
  Tensor zero_point = graph->input("zero_point", DType::kI8, {4});
  Tensor places = graph->input("places", DType::kI32, {4, 2});
  Tensor mask = graph->input("mask", DType::kBool, {4, 4});
  Tensor image = graph->input("image", DType::kF32, {1, 4, 4});
  Tensor weights = graph->input("weights", DType::kF32, {4, 4, 2});
  Tensor angles = graph->input("angles", DType::kF32, {4, 2});
  Tensor long_row = graph->input("long_row", DType::kF32, {64});
  Tensor blocks = graph->input("blocks", DType::kF32, {1, 4, 2, 2});
  Tensor filters = graph->input("filters", DType::kF32, {4, 4, 1, 1});
  Tensor seed = graph->input("seed", DType::kU64, {});
  Tensor start = graph->input("start", DType::kI64, {});
  Shape flat{-1}, square{4, 4}, cube{2, 4, 4};
  std::vector<SizeExpr> low{1, 0}, high{2, 4}, none{0, 0}, parts{1, 3};
  std::vector<std::int64_t> axes{0, 1}, first{0};
  Conv2dAttrs convolution;
};

struct Function {
  const char* name;
  void (*call)(Given&);
};

constexpr Function kFunctions[] = {
    {"number", [](Given& g) { 2.0 * g.x; }},
    {"matmul", [](Given& g) { matmul(g.x, g.x); }},
    {"reshape", [](Given& g) { reshape(g.x, std::move(g.flat)); }},
    {"broadcast_to", [](Given& g) { broadcast_to(g.x, std::move(g.cube)); }},
    {"broadcast", [](Given& g) { broadcast(g.x, std::move(g.square), std::move(g.axes)); }},
    {"slice", [](Given& g) { slice(g.x, std::move(g.low), std::move(g.high)); }},
    {"concat", [](Given& g) { concat(std::array{g.x, g.x}, 0); }},
    {"iota", [](Given& g) { iota(*g.graph, DType::kI32, std::move(g.square), 0); }},
    {"size_of", [](Given& g) { size_of(*g.graph, 3); }},
    {"topk", [](Given& g) { topk(g.x, g.i, 2); }},
    {"softmax", [](Given& g) { softmax(g.x); }},
    {"log_softmax", [](Given& g) { log_softmax(g.x); }},
    {"relu", [](Given& g) { relu(g.x); }},
    {"gelu", [](Given& g) { gelu(g.x); }},
    {"silu", [](Given& g) { silu(g.x); }},
    {"clamp", [](Given& g) { clamp(g.x, -1, 1); }},
    {"where", [](Given& g) { where(g.mask, g.x, g.row); }},
    {"rms_norm", [](Given& g) { rms_norm(g.x, g.row); }},
    {"group_norm", [](Given& g) { group_norm(g.x, 2, g.row, g.row); }},
    {"layer_norm", [](Given& g) { layer_norm(g.x, g.row, g.row); }},
    {"one_hot", [](Given& g) { one_hot(g.i, 4); }},
    {"trilu", [](Given& g) { trilu(g.x, true); }},
    {"gather_nd", [](Given& g) { gather_nd(g.image, g.places); }},
    {"conv1d", [](Given& g) { conv1d(g.image, g.weights); }},
    {"conv1d with a bias", [](Given& g) { conv1d(g.image, g.weights, g.row); }},
    {"resize", [](Given& g) { resize(g.x, std::move(g.axes), std::move(g.high), ResizeMode::kLinear); }},
    {"einsum", [](Given& g) { einsum("ij,jk->ki", std::array{g.x, g.x}); }},
    {"quantize_linear", [](Given& g) { quantize_linear(g.x, g.row, g.zero_point); }},
    {"dequantize_linear", [](Given& g) { dequantize_linear(g.q, g.row, g.zero_point); }},
    {"attention", [](Given& g) { attention(g.x, g.x, g.x, g.mask); }},
    {"broadcasting", [](Given& g) { g.x + g.row; }},
    {"elu", [](Given& g) { elu(g.x); }},
    {"gelu_tanh", [](Given& g) { gelu_tanh(g.x); }},
    {"logsumexp", [](Given& g) { logsumexp(g.x, std::move(g.axes)); }},
    {"l2_normalize", [](Given& g) { l2_normalize(g.x); }},
    {"batch_norm", [](Given& g) { batch_norm(g.x, g.row, g.row, g.row, g.row); }},
    {"split_evenly", [](Given& g) { split_evenly(g.x, 2, 0); }},
    {"stack", [](Given& g) { stack({g.x, g.x}, 1); }},
    {"tile", [](Given& g) { tile(g.x, std::move(g.high)); }},
    {"flip", [](Given& g) { flip(g.x, std::move(g.axes)); }},
    {"roll", [](Given& g) { roll(g.x, 1, 0); }},
    {"pad_reflect", [](Given& g) { pad_reflect(g.x, std::move(g.low), std::move(g.none)); }},
    {"scatter_elements", [](Given& g) { scatter_elements(g.x, cast(g.i, DType::kI32), g.x, 0); }},
    {"max_pool1d", [](Given& g) { max_pool1d(g.image); }},
    {"global_avg_pool", [](Given& g) { global_avg_pool(g.image); }},
    {"rotary_embedding", [](Given& g) { rotary_embedding(g.x, g.angles, g.angles); }},
    {"mish", [](Given& g) { mish(g.x); }},
    {"celu", [](Given& g) { celu(g.x); }},
    {"selu", [](Given& g) { selu(g.x); }},
    {"hard_sigmoid", [](Given& g) { hard_sigmoid(g.x); }},
    {"softsign", [](Given& g) { softsign(g.x); }},
    {"asin", [](Given& g) { asin(g.x); }},
    {"acos", [](Given& g) { acos(g.x); }},
    {"atan", [](Given& g) { atan(g.x); }},
    {"sinh", [](Given& g) { sinh(g.x); }},
    {"cosh", [](Given& g) { cosh(g.x); }},
    {"asinh", [](Given& g) { asinh(g.x); }},
    {"acosh", [](Given& g) { acosh(g.x); }},
    {"atanh", [](Given& g) { atanh(g.x); }},
    {"hardmax", [](Given& g) { hardmax(g.x); }},
    {"local_response_norm", [](Given& g) { local_response_norm(g.image); }},
    {"is_inf", [](Given& g) { is_inf(g.x); }},
    {"instance_norm", [](Given& g) { instance_norm(g.image, g.row, g.row); }},
    {"scatter_nd", [](Given& g) { scatter_nd(g.x, g.places, g.row); }},
    {"searchsorted", [](Given& g) { searchsorted(g.x, g.x); }},
    {"searchsorted in long rows", [](Given& g) { searchsorted(g.long_row, g.row); }},
    {"cumulative_argmax", [](Given& g) { cumulative_argmax(g.x); }},
    {"nonzero", [](Given& g) { nonzero(g.x); }},
    {"non_max_suppression", [](Given& g) { non_max_suppression(g.x, g.row); }},
    {"unique", [](Given& g) { unique(g.row); }},
    {"split", [](Given& g) { split(g.x, std::move(g.parts), 0); }},
    {"unsqueeze", [](Given& g) { unsqueeze(g.x, std::move(g.axes)); }},
    {"squeeze", [](Given& g) { squeeze(g.image, std::move(g.first)); }},
    {"pad_edge", [](Given& g) { pad_edge(g.x, std::move(g.low), std::move(g.none)); }},
    {"depth_to_space", [](Given& g) { depth_to_space(g.blocks, 2); }},
    {"space_to_depth", [](Given& g) { space_to_depth(g.blocks, 2); }},
    {"avg_pool1d", [](Given& g) { avg_pool1d(g.image); }},
    {"global_max_pool", [](Given& g) { global_max_pool(g.image); }},
    {"conv2d", [](Given& g) { conv2d(g.blocks, g.filters, g.row, std::move(g.convolution)); }},
    {"random_bits", [](Given& g) { random_bits(g.seed, std::move(g.square)); }},
    {"random_uniform", [](Given& g) { random_uniform(g.seed, std::move(g.square)); }},
    {"multinomial", [](Given& g) { multinomial(g.x, g.seed, 2); }},
    {"update_slice", [](Given& g) { update_slice(g.x, g.x, 0, 0); }},
    {"update_slice from a tensor", [](Given& g) { update_slice(g.x, g.x, 0, g.start); }},
    {"kernel", [](Given& g) { g.graph->kernel<Twice>("twice", g.x); }},
    {"named",
     [](Given& g) {
       const auto scope = g.graph->scope("a scope whose name does not fit into a string itself");
       exp(g.x).named("a value's name, which does not fit either");
     }},
};

TEST_CASE("functions on tensors report a lack of memory to the builder") {
  constexpr std::uint64_t kMaxOfOne = 1500;  // random numbers and suppression make thousands
  for (const Function& function : kFunctions) {
    CAPTURE(std::string(function.name));
    const auto call = [&](Given given) {
      function.call(given);
      return given.graph->status();
    };
    fail_each_allocation([] { return Given(); }, call, kMaxOfOne);
  }
}

TEST_CASE("functions on tensors keep an earlier mistake") {
  for (const Function& function : kFunctions) {
    CAPTURE(std::string(function.name));
    Given given;
    given.graph->fail(invalid_argument("a mistake"));
    function.call(given);
    CHECK(given.graph->status().message() == "a mistake");
  }
}

TEST_CASE("every composite is among these functions") {
  constexpr std::string_view kComposites[] = {
#define MILLRACE_COMPOSITE(name, parameters, meaning, example) #name,
#define MILLRACE_COMPOSITE_AS(name, function, parameters, meaning, example) #name,
#include "graph/text/composite_table.inc"
  };
  for (const std::string_view composite : kComposites) {
    CAPTURE(composite);
    CHECK(std::ranges::find(kFunctions, composite, [](const Function& each) { return std::string_view(each.name); }) !=
          std::end(kFunctions));
  }
}

}  // namespace
}  // namespace millrace
