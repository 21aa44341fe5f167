// SPDX-License-Identifier: Apache-2.0
// Work that should take no longer than its memory traffic: elementwise functions, sums, moves and pools. The limits are
// in rows_bench: limit_copy and limit_streamed_copy. The name of a benchmark is op_dtype/shape.
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/ops/graph_case.h"

namespace {

using namespace millrace;
using namespace millrace::bench;

using Cases = std::vector<GraphCase>;

void add_functions(Cases& cases) {
  for (const std::int64_t rows : {128, 4096}) {
    const Sizes shape = {rows, 1024};
    cases.push_back({"exp", shape, [](GraphBuilder&, Tensor x) { return exp(x); }});
    cases.push_back({"tanh", shape, [](GraphBuilder&, Tensor x) { return tanh(x); }});
    cases.push_back({"gelu", shape, [](GraphBuilder&, Tensor x) { return gelu(x); }});
    cases.push_back({"sigmoid", shape, [](GraphBuilder&, Tensor x) { return sigmoid(x); }});
    cases.push_back({"erf", shape, [](GraphBuilder&, Tensor x) { return erf(x); }});
    cases.push_back({"chain_of_five", shape, [](GraphBuilder&, Tensor x) { return max(x * 2 + 1, 0) * x - 0.5; }});
  }
  cases.push_back({"tan", {1000000}, [](GraphBuilder&, Tensor x) { return tan(x); }});
  cases.push_back({"sin", {1000000}, [](GraphBuilder&, Tensor x) { return sin(x); }});
  cases.push_back({"log", {1000000}, [](GraphBuilder&, Tensor x) { return log(x); }});
  cases.push_back({"softplus", {1000000}, [](GraphBuilder&, Tensor x) { return softplus(x); }});
  cases.push_back({"pow", {1000000}, [](GraphBuilder&, Tensor x) { return pow(abs(x), 2.5); }});
}

void add_sums(Cases& cases) {
  const Sizes shape = {4096, 1024};
  cases.push_back({"sum_rows", shape, [](GraphBuilder&, Tensor x) { return reduce_sum(x, {1}); }});
  cases.push_back({"sum_columns", shape, [](GraphBuilder&, Tensor x) { return reduce_sum(x, {0}); }});
  cases.push_back({"sum_all", shape, [](GraphBuilder&, Tensor x) { return reduce_sum(x, {0, 1}); }});
  cases.push_back({"max_rows", shape, [](GraphBuilder&, Tensor x) { return reduce_max(x, {1}); }});
}

void add_moves(Cases& cases) {
  const Sizes image = {1, 64, 112, 112}, matrix = {4096, 1024};
  const auto pool = [](bool is_max, Pool2dAttrs attributes) {
    return [=](GraphBuilder&, Tensor x) { return is_max ? max_pool2d(x, attributes) : avg_pool2d(x, attributes); };
  };
  const Pool2dAttrs three = {.window = {3, 3}, .strides = {2, 2}, .padding = {1, 1, 1, 1}};
  cases.push_back({"max_pool_3x3_stride_2", image, pool(true, three)});
  cases.push_back({"avg_pool_3x3_stride_2", image, pool(false, three)});
  cases.push_back({"max_pool_2x2", image, pool(true, {})});
  cases.push_back({"avg_pool_2x2", image, pool(false, {})});
  cases.push_back({"resize_2x_linear", image,
                   [](GraphBuilder&, Tensor x) { return resize(x, {2, 3}, {224, 224}, ResizeMode::kLinear); }});
  cases.push_back({"resize_2x_nearest", image, [](GraphBuilder&, Tensor x) {
                     return resize(x, {2, 3}, {224, 224}, ResizeMode::kNearest, ResizeCoordinates::kAsymmetric);
                   }});
  cases.push_back({"pad", image, [](GraphBuilder&, Tensor x) { return pad(x, {0, 0, 1, 1}, {0, 0, 1, 1}); }});
  cases.push_back({"concat_channels", image, [](GraphBuilder&, Tensor x) { return concat({x, x}, 1); }});
  cases.push_back({"concat_columns", matrix, [](GraphBuilder&, Tensor x) { return concat({x, x}, 1); }});
  cases.push_back({"slice_columns", matrix, [](GraphBuilder&, Tensor x) { return slice(x, {0, 8}, {4096, 1016}); }});
  cases.push_back({"to_channels_last", image, [](GraphBuilder&, Tensor x) { return transpose(x, {0, 2, 3, 1}); }});
  cases.push_back(
      {"to_channels_first", {1, 112, 112, 64}, [](GraphBuilder&, Tensor x) { return transpose(x, {0, 3, 1, 2}); }});
  for (const DType dtype : {DType::kU8, DType::kF16, DType::kF32, DType::kF64}) {
    for (const Sizes& shape : {matrix, Sizes{1000, 1001}}) {
      cases.push_back({"transpose", shape, [](GraphBuilder&, Tensor x) { return transpose(x, {1, 0}); }, dtype});
    }
  }
}

[[maybe_unused]] const bool kRegistered = [] {
  Cases cases;
  add_functions(cases);
  add_sums(cases);
  add_moves(cases);
  for (const GraphCase& one : cases) register_case(one);
  return true;
}();

}  // namespace
