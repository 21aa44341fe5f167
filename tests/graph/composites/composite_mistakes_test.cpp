// SPDX-License-Identifier: Apache-2.0
// Every composite with wrong arguments: the message names the composite and the caller's values, never the ops inside.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/golden.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::composite_mistakes {
namespace {

struct WrongCall {
  const char* composite;
  void (*call)(GraphBuilder&);
};

Tensor of(GraphBuilder& graph, DType dtype, Shape shape) {
  return graph.input("t" + std::to_string(graph.graph().nodes.size()), dtype, std::move(shape));
}
Tensor f(GraphBuilder& graph, Shape shape) { return of(graph, DType::kF32, std::move(shape)); }
Tensor i(GraphBuilder& graph, Shape shape) { return of(graph, DType::kI32, std::move(shape)); }
Tensor b(GraphBuilder& graph, Shape shape) { return of(graph, DType::kBool, std::move(shape)); }

using G = GraphBuilder;
constexpr std::int64_t kFar = std::int64_t{1} << 60;

const WrongCall kWrong[] = {
    // Along an axis.
    {"softmax", [](G& g) { softmax(f(g, {2, 4}), 3); }},
    {"softmax", [](G& g) { softmax(f(g, {}), 0); }},
    {"softmax", [](G& g) { softmax(i(g, {2, 4})); }},
    {"log_softmax", [](G& g) { log_softmax(f(g, {2, 4}), -3); }},
    {"log_softmax", [](G& g) { log_softmax(b(g, {2, 4})); }},
    {"hardmax", [](G& g) { hardmax(f(g, {2, 4}), 2); }},
    {"hardmax", [](G& g) { hardmax(b(g, {2, 4})); }},
    {"logsumexp", [](G& g) { logsumexp(f(g, {2, 4}), {2}); }},
    {"logsumexp", [](G& g) { logsumexp(f(g, {2, 4}), {0, -2}); }},
    {"logsumexp", [](G& g) { logsumexp(f(g, {2, 4}), {}); }},
    {"logsumexp", [](G& g) { logsumexp(i(g, {2, 4}), {0}); }},
    {"l2_normalize", [](G& g) { l2_normalize(f(g, {2, 4}), 2); }},
    {"l2_normalize", [](G& g) { l2_normalize(i(g, {2, 4})); }},
    {"cumulative_argmax", [](G& g) { cumulative_argmax(f(g, {2, 4}), 2); }},
    {"cumulative_argmax", [](G& g) { cumulative_argmax(b(g, {2, 4})); }},
    // Elementwise.
    {"relu", [](G& g) { relu(b(g, {4})); }},
    {"elu", [](G& g) { elu(i(g, {4})); }},
    {"gelu", [](G& g) { gelu(i(g, {4})); }},
    {"gelu_tanh", [](G& g) { gelu_tanh(i(g, {4})); }},
    {"silu", [](G& g) { silu(i(g, {4})); }},
    {"mish", [](G& g) { mish(i(g, {4})); }},
    {"celu", [](G& g) { celu(i(g, {4})); }},
    {"celu", [](G& g) { celu(f(g, {4}), 0); }},
    {"selu", [](G& g) { selu(i(g, {4})); }},
    {"hard_sigmoid", [](G& g) { hard_sigmoid(i(g, {4})); }},
    {"softsign", [](G& g) { softsign(i(g, {4})); }},
    {"asin", [](G& g) { asin(i(g, {4})); }},
    {"acos", [](G& g) { acos(i(g, {4})); }},
    {"atan", [](G& g) { atan(i(g, {4})); }},
    {"sinh", [](G& g) { sinh(i(g, {4})); }},
    {"cosh", [](G& g) { cosh(i(g, {4})); }},
    {"asinh", [](G& g) { asinh(i(g, {4})); }},
    {"acosh", [](G& g) { acosh(i(g, {4})); }},
    {"atanh", [](G& g) { atanh(i(g, {4})); }},
    {"clamp", [](G& g) { clamp(i(g, {4}), 0.5, 2); }},
    {"clamp", [](G& g) { clamp(b(g, {4}), 0, 1); }},
    {"is_inf", [](G& g) { is_inf(i(g, {4})); }},
    {"where", [](G& g) { where(f(g, {4}), f(g, {4}), f(g, {4})); }},
    {"where", [](G& g) { where(b(g, {4}), f(g, {4}), i(g, {4})); }},
    {"where", [](G& g) { where(b(g, {3}), f(g, {4}), f(g, {2, 4})); }},
    {"broadcast_to", [](G& g) { broadcast_to(f(g, {3}), {2, 4}); }},
    {"broadcast_to", [](G& g) { broadcast_to(f(g, {2, 4}), {4}); }},
    // Normalisation.
    {"layer_norm", [](G& g) { layer_norm(f(g, {}), f(g, {}), f(g, {})); }},
    {"layer_norm", [](G& g) { layer_norm(i(g, {2, 8}), i(g, {8}), i(g, {8})); }},
    {"layer_norm", [](G& g) { layer_norm(f(g, {2, 8}), f(g, {7}), f(g, {8})); }},
    {"layer_norm", [](G& g) { layer_norm(f(g, {2, 8}), f(g, {8}), of(g, DType::kF64, {8})); }},
    {"rms_norm", [](G& g) { rms_norm(f(g, {2, 8}), f(g, {3, 2, 8})); }},
    {"rms_norm", [](G& g) { rms_norm(of(g, DType::kF16, {2, 8}), of(g, DType::kBF16, {8})); }},
    {"rms_norm", [](G& g) { rms_norm(f(g, {}), f(g, {})); }},
    {"group_norm", [](G& g) { group_norm(f(g, {2}), 1, f(g, {2}), f(g, {2})); }},
    {"group_norm", [](G& g) { group_norm(f(g, {2, 8, 4}), 3, f(g, {8}), f(g, {8})); }},
    {"group_norm", [](G& g) { group_norm(f(g, {2, 8, 4}), 0, f(g, {8}), f(g, {8})); }},
    {"group_norm", [](G& g) { group_norm(f(g, {2, 8, 4}), 2, f(g, {4}), f(g, {8})); }},
    {"group_norm", [](G& g) { group_norm(i(g, {2, 8, 4}), 2, i(g, {8}), i(g, {8})); }},
    {"instance_norm", [](G& g) { instance_norm(f(g, {8}), f(g, {8}), f(g, {8})); }},
    {"instance_norm", [](G& g) { instance_norm(f(g, {2, 8, 4}), f(g, {8}), f(g, {8, 1})); }},
    {"instance_norm", [](G& g) { instance_norm(f(g, {2, Dim("c"), 4}), f(g, {Dim("c")}), f(g, {Dim("c")})); }},
    {"batch_norm", [](G& g) { batch_norm(f(g, {8}), f(g, {8}), f(g, {8}), f(g, {8}), f(g, {8})); }},
    {"batch_norm", [](G& g) { batch_norm(f(g, {2, 8}), f(g, {7}), f(g, {8}), f(g, {8}), f(g, {8})); }},
    {"batch_norm", [](G& g) { batch_norm(f(g, {2, 8}), f(g, {8}), f(g, {8}), f(g, {8}), i(g, {8})); }},
    {"local_response_norm", [](G& g) { local_response_norm(f(g, {8})); }},
    {"local_response_norm", [](G& g) { local_response_norm(i(g, {2, 8})); }},
    {"local_response_norm", [](G& g) { local_response_norm(f(g, {2, 8}), {.size = 0}); }},
    // Products.
    {"matmul", [](G& g) { matmul(f(g, {2, 3}), f(g, {4, 5})); }},
    {"matmul", [](G& g) { matmul(f(g, {6, 2, 3}), f(g, {1, 4, 5})); }},
    {"matmul", [](G& g) { matmul(f(g, {2, 3}), i(g, {3, 5})); }},
    {"matmul", [](G& g) { matmul(b(g, {2, 3}), b(g, {3, 5})); }},
    {"matmul", [](G& g) { matmul(f(g, {}), f(g, {3})); }},
    {"einsum", [](G& g) { einsum("ij,jk->ik", {f(g, {2, 3}), f(g, {4, 5})}); }},
    {"einsum", [](G& g) { einsum("ij->i", {b(g, {2, 3})}); }},
    {"einsum", [](G& g) { einsum("ij,ij->ij", {f(g, {2, 3}), i(g, {2, 3})}); }},
    {"einsum", [](G& g) { einsum("ijk->i", {f(g, {2, 3})}); }},
    {"einsum", [](G& g) { einsum("i...j->i", {f(g, {2})}); }},
    {"einsum", [](G& g) { einsum("ii->i", {f(g, {2, 3})}); }},
    {"einsum", [](G& g) { einsum("...i,...i->...", {f(g, {2, 4}), f(g, {3, 4})}); }},
    {"einsum", [](G& g) { einsum("...i->i", {f(g, {2, 4})}); }},
    {"einsum", [](G& g) { einsum("...i...->i", {f(g, {2, 4})}); }},
    {"einsum", [](G& g) { einsum("..i->i", {f(g, {2, 4})}); }},
    {"einsum", [](G& g) { einsum("i1->i", {f(g, {2, 4})}); }},
    {"einsum", [](G& g) { einsum("ij=>i", {f(g, {2, 4})}); }},
    {"einsum", [](G& g) { einsum("ij->i->j", {f(g, {2, 4})}); }},
    {"einsum", [](G& g) { einsum("ij->ii", {f(g, {2, 4})}); }},
    {"einsum", [](G& g) { einsum("ij->ik", {f(g, {2, 4})}); }},
    {"einsum", [](G& g) { einsum("ij", {f(g, {2, 4}), f(g, {2, 4})}); }},
    {"attention", [](G& g) { attention(f(g, {4, 8}), f(g, {5, 7}), f(g, {5, 8})); }},
    {"attention", [](G& g) { attention(f(g, {4, 8}), f(g, {5, 8}), f(g, {6, 8})); }},
    {"attention", [](G& g) { attention(f(g, {8}), f(g, {8}), f(g, {8})); }},
    {"attention", [](G& g) { attention(f(g, {2, 4, 8}), f(g, {5, 8}), f(g, {2, 5, 8})); }},
    {"attention", [](G& g) { attention(f(g, {2, 4, 8}), f(g, {2, 5, 8}), f(g, {5, 8})); }},
    {"attention", [](G& g) { attention(f(g, {3, 6, 4, 8}), f(g, {2, 6, 5, 8}), f(g, {3, 6, 5, 8})); }},
    {"attention", [](G& g) { attention(f(g, {6, 4, 8}), f(g, {4, 5, 8}), f(g, {6, 5, 8})); }},
    {"attention", [](G& g) { attention(i(g, {4, 8}), i(g, {5, 8}), i(g, {5, 8})); }},
    {"attention", [](G& g) { attention(f(g, {4, 8}), f(g, {5, 8}), i(g, {5, 8})); }},
    {"attention", [](G& g) { attention(f(g, {4, 8}), f(g, {5, 8}), f(g, {5, 8}), f(g, {4, 4})); }},
    {"attention", [](G& g) { attention(f(g, {4, 8}), f(g, {5, 8}), f(g, {5, 8}), i(g, {4, 5})); }},
    {"attention", [](G& g) { attention(f(g, {4, Dim("d")}), f(g, {5, Dim("d")}), f(g, {5, 8})); }},
    {"rotary_embedding", [](G& g) { rotary_embedding(f(g, {4, 7}), f(g, {4, 3}), f(g, {4, 3})); }},
    {"rotary_embedding", [](G& g) { rotary_embedding(f(g, {4, 8}), f(g, {4, 3}), f(g, {4, 4})); }},
    {"rotary_embedding", [](G& g) { rotary_embedding(f(g, {4, 8}), i(g, {4, 4}), i(g, {4, 4})); }},
    {"rotary_embedding", [](G& g) { rotary_embedding(i(g, {4, 8}), i(g, {4, 4}), i(g, {4, 4})); }},
    // Windows.
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 3, 4}), f(g, {2, 2, 3})); }},
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 8}), f(g, {2, 3})); }},
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 8}), f(g, {4, 3, 3})); }},
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 8}), i(g, {4, 2, 3})); }},
    {"conv1d", [](G& g) { conv1d(b(g, {1, 2, 8}), b(g, {4, 2, 3})); }},
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 8}), f(g, {4, 2, 9})); }},
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 8}), f(g, {4, 2, 3}), {.stride = 0}); }},
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 8}), f(g, {4, 2, 3}), {.padding_high = -1}); }},
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 8}), f(g, {4, 2, 3}), {.dilation = 0}); }},
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 8}), f(g, {3, 1, 3}), {.groups = 2}); }},
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 8}), f(g, {3, 1, 3}), {.groups = 0}); }},
    {"conv1d", [](G& g) { conv1d(f(g, {1, 2, 8}), f(g, {4, 2, 3}), f(g, {3})); }},
    {"conv2d", [](G& g) { conv2d(f(g, {1, 2, 8, 8}), f(g, {4, 2, 3, 3}), i(g, {4})); }},
    {"conv2d", [](G& g) { conv2d(f(g, {1, 2, 8, 8}), f(g, {4, 3, 3, 3}), f(g, {4})); }},
    {"max_pool1d", [](G& g) { max_pool1d(f(g, {2, 8})); }},
    {"max_pool1d", [](G& g) { max_pool1d(b(g, {1, 2, 8})); }},
    {"max_pool1d", [](G& g) { max_pool1d(f(g, {1, 2, 8}), {.window = 9}); }},
    {"max_pool1d", [](G& g) { max_pool1d(f(g, {1, 2, 8}), {.window = 0}); }},
    {"max_pool1d", [](G& g) { max_pool1d(f(g, {1, 2, 8}), {.stride = 0}); }},
    {"max_pool1d", [](G& g) { max_pool1d(f(g, {1, 2, 8}), {.padding_low = 2}); }},
    {"avg_pool1d", [](G& g) { avg_pool1d(i(g, {1, 2, 8})); }},
    {"avg_pool1d", [](G& g) { avg_pool1d(f(g, {1, 2, 8}), {.padding_low = -1}); }},
    {"avg_pool1d", [](G& g) { avg_pool1d(f(g, {1, 8})); }},
    {"global_avg_pool", [](G& g) { global_avg_pool(f(g, {2, 8})); }},
    {"global_avg_pool", [](G& g) { global_avg_pool(i(g, {1, 2, 8})); }},
    {"global_max_pool", [](G& g) { global_max_pool(f(g, {2})); }},
    {"global_max_pool", [](G& g) { global_max_pool(b(g, {1, 2, 8})); }},
    {"resize", [](G& g) { resize(f(g, {4, 8}), {0}, {2, 2}, ResizeMode::kNearest); }},
    {"resize", [](G& g) { resize(f(g, {4, 8}), {0, 0}, {2, 2}, ResizeMode::kNearest); }},
    {"resize", [](G& g) { resize(f(g, {4, 8}), {0, -2}, {2, 2}, ResizeMode::kLinear); }},
    {"resize", [](G& g) { resize(f(g, {4, 8}), {2}, {2}, ResizeMode::kNearest); }},
    {"resize", [](G& g) { resize(f(g, {4, 8}), {1}, {-2}, ResizeMode::kNearest); }},
    {"resize", [](G& g) { resize(f(g, {4, 8}), {1}, {kFar}, ResizeMode::kNearest); }},
    {"resize", [](G& g) { resize(i(g, {4, 8}), {1}, {2}, ResizeMode::kLinear); }},
    // Pieces.
    {"split", [](G& g) { split(f(g, {4, 8}), {3, 4}, 1); }},
    {"split", [](G& g) { split(f(g, {4, 8}), {4}, 2); }},
    {"split", [](G& g) { split(f(g, {4, 8}), {-1, 9}, 1); }},
    {"split_evenly", [](G& g) { split_evenly(f(g, {4, 8}), 3, 1); }},
    {"split_evenly", [](G& g) { split_evenly(f(g, {4, 8}), 2, -3); }},
    {"squeeze", [](G& g) { squeeze(f(g, {4, 1}), {0}); }},
    {"squeeze", [](G& g) { squeeze(f(g, {4, 1}), {2}); }},
    {"unsqueeze", [](G& g) { unsqueeze(f(g, {4}), {2}); }},
    {"unsqueeze", [](G& g) { unsqueeze(f(g, {1, 1, 1, 1, 1, 1, 1, 1}), {0}); }},
    {"tile", [](G& g) { tile(f(g, {4, 8}), {2}); }},
    {"tile", [](G& g) { tile(f(g, {4, 8}), {2, -1}); }},
    {"tile", [](G& g) { tile(f(g, {4, 8}), {kFar, kFar}); }},
    {"flip", [](G& g) { flip(f(g, {4, 8}), {2}); }},
    {"flip", [](G& g) { flip(f(g, {4, 8}), {1, -1}); }},
    {"roll", [](G& g) { roll(f(g, {4, 8}), 1, 2); }},
    {"roll", [](G& g) { roll(f(g, {}), 1, 0); }},
    {"stack", [](G& g) { stack({f(g, {4}), f(g, {5})}, 0); }},
    {"stack", [](G& g) { stack({f(g, {4}), i(g, {4})}, 0); }},
    {"stack", [](G& g) { stack({f(g, {4}), f(g, {4})}, 2); }},
    {"pad_reflect", [](G& g) { pad_reflect(f(g, {4, 8}), {1}, {1}); }},
    {"pad_reflect", [](G& g) { pad_reflect(f(g, {4, 8}), {0, 8}, {0, 0}); }},
    {"pad_reflect", [](G& g) { pad_reflect(f(g, {4, 8}), {2, -1}, {0, 0}); }},
    {"pad_reflect", [](G& g) { pad_reflect(f(g, {4, 8}), {4, 1}, {0, 0}); }},
    {"pad_edge", [](G& g) { pad_edge(f(g, {4, 8}), {1, 1}, {1}); }},
    {"pad_edge", [](G& g) { pad_edge(f(g, {4, 0}), {1, 1}, {0, 0}); }},
    {"pad_edge", [](G& g) { pad_edge(f(g, {4, 8}), {kFar, 0}, {0, 0}); }},
    {"depth_to_space", [](G& g) { depth_to_space(f(g, {1, 6, 2, 2}), 2); }},
    {"depth_to_space", [](G& g) { depth_to_space(f(g, {4, 2, 2}), 2); }},
    {"depth_to_space", [](G& g) { depth_to_space(f(g, {1, 4, 2, 2}), 0); }},
    {"space_to_depth", [](G& g) { space_to_depth(f(g, {1, 4, 3, 2}), 2); }},
    {"trilu", [](G& g) { trilu(f(g, {4}), true); }},
    // Indices and searches.
    {"one_hot", [](G& g) { one_hot(f(g, {4}), 3); }},
    {"one_hot", [](G& g) { one_hot(i(g, {4}), -1); }},
    {"one_hot", [](G& g) { one_hot(i(g, {1, 1, 1, 1, 1, 1, 1, 1}), 2); }},
    {"gather_nd", [](G& g) { gather_nd(f(g, {4, 8}), i(g, {2, 3})); }},
    {"gather_nd", [](G& g) { gather_nd(f(g, {4, 8}), f(g, {2, 2})); }},
    {"gather_nd", [](G& g) { gather_nd(f(g, {4, 8}), i(g, {})); }},
    {"scatter_nd", [](G& g) { scatter_nd(f(g, {4, 8}), i(g, {2, 1}), f(g, {2, 7})); }},
    {"scatter_nd", [](G& g) { scatter_nd(f(g, {4, 8}), i(g, {2, 1}), i(g, {2, 8})); }},
    {"scatter_nd", [](G& g) { scatter_nd(b(g, {4, 8}), i(g, {2, 1}), b(g, {2, 8}), ScatterReduction::kAdd); }},
    {"scatter_elements", [](G& g) { scatter_elements(f(g, {4, 8}), i(g, {2, 9}), f(g, {2, 9}), 0); }},
    {"scatter_elements", [](G& g) { scatter_elements(f(g, {4, 8}), i(g, {2, 8}), i(g, {2, 8}), 0); }},
    {"scatter_elements", [](G& g) { scatter_elements(f(g, {4, 8}), i(g, {2, 8}), f(g, {2, 8}), 2); }},
    {"scatter_elements", [](G& g) { scatter_elements(f(g, {4, 8}), f(g, {2, 8}), f(g, {2, 8}), 0); }},
    {"searchsorted", [](G& g) { searchsorted(f(g, {4}), i(g, {2})); }},
    {"searchsorted", [](G& g) { searchsorted(f(g, {2, 4}), f(g, {3, 4})); }},
    {"searchsorted", [](G& g) { searchsorted(f(g, {}), f(g, {})); }},
    {"nonzero", [](G& g) { nonzero(f(g, {4}), -1); }},
    {"unique", [](G& g) { unique(f(g, {2, 4})); }},
    {"unique", [](G& g) { unique(f(g, {4}), -1); }},
    {"non_max_suppression", [](G& g) { non_max_suppression(f(g, {5, 3}), f(g, {5})); }},
    {"non_max_suppression", [](G& g) { non_max_suppression(f(g, {5, 4}), f(g, {5}), -1); }},
    {"topk", [](G& g) { topk(f(g, {4}), f(g, {4}), 2); }},
    {"topk", [](G& g) { topk(f(g, {4}), i(g, {5}), 2); }},
    {"topk", [](G& g) { topk(f(g, {4}), i(g, {4}), 5); }},
    {"topk", [](G& g) { topk(f(g, {4}), i(g, {4}), 2, {.axis = 1}); }},
    {"update_slice", [](G& g) { update_slice(f(g, {4, 8}), f(g, {4, 2}), 2, 0); }},
    {"update_slice", [](G& g) { update_slice(f(g, {4, 8}), f(g, {3, 2}), 1, 0); }},
    {"update_slice", [](G& g) { update_slice(f(g, {4, 8}), i(g, {4, 2}), 1, 0); }},
    {"update_slice", [](G& g) { update_slice(f(g, {4, 8}), f(g, {4, 2}), 1, 7); }},
    {"update_slice", [](G& g) { update_slice(f(g, {4, 8}), f(g, {4, 9}), 1, 0); }},
    {"update_slice", [](G& g) { update_slice(f(g, {4, 8}), f(g, {4, 2}), 1, f(g, {})); }},
    // Numbers.
    {"quantize_linear", [](G& g) { quantize_linear(f(g, {4, 8}), f(g, {7}), of(g, DType::kI8, {8})); }},
    {"quantize_linear", [](G& g) { quantize_linear(f(g, {4, 8}), f(g, {8}), of(g, DType::kI8, {8}), 2); }},
    {"quantize_linear", [](G& g) { quantize_linear(f(g, {4, 8}), f(g, {}), f(g, {})); }},
    {"quantize_linear", [](G& g) { quantize_linear(i(g, {4, 8}), f(g, {}), i(g, {})); }},
    {"dequantize_linear", [](G& g) { dequantize_linear(i(g, {4, 8}), f(g, {}), i(g, {4})); }},
    {"dequantize_linear", [](G& g) { dequantize_linear(i(g, {4, 8}), f(g, {4, 8}), i(g, {})); }},
    {"dequantize_linear", [](G& g) { dequantize_linear(f(g, {4, 8}), f(g, {}), i(g, {})); }},
    {"random_bits", [](G& g) { random_bits(i(g, {}), {4}); }},
    {"random_bits", [](G& g) { random_bits(of(g, DType::kU64, {}), {-4}); }},
    {"random_uniform", [](G& g) { random_uniform(of(g, DType::kU64, {1}), {4}); }},
    {"random_uniform", [](G& g) { random_uniform(of(g, DType::kU64, {}), {kFar, kFar}); }},
    {"multinomial", [](G& g) { multinomial(i(g, {4}), of(g, DType::kU64, {}), 3); }},
    {"multinomial", [](G& g) { multinomial(f(g, {}), of(g, DType::kU64, {}), 3); }},
    {"multinomial", [](G& g) { multinomial(f(g, {4}), of(g, DType::kU64, {}), -3); }},
    {"multinomial", [](G& g) { multinomial(f(g, {4}), i(g, {}), 3); }},
};

/// An op that a message names as the place of a mistake, as in "reduce_max: axis is 3".
std::string named_op(const std::string& message, std::string_view composite) {
  for (const Op op : kAllOps) {
    const std::string place = std::string(to_text(op)) + ": ";
    if (to_text(op) == composite) continue;
    if (message.starts_with(place) || message.find(" " + place) != message.npos) return place;
  }
  return "";
}

TEST_CASE("a composite with wrong arguments names itself and the given values, and nothing inside it") {
  std::string all;
  for (const WrongCall& wrong : kWrong) {
    GraphBuilder graph;
    wrong.call(graph);
    const std::string message = graph.status().message();
    CAPTURE(message);
    CHECK(message.starts_with(wrong.composite + std::string(": ")));
    CHECK(message.find('%') == message.npos);
    CHECK(message.find(" = ") == message.npos);
    CHECK(named_op(message, wrong.composite) == "");
    all += message + "\n";
  }
  CHECK(test::golden_problem("composite_mistakes.txt", all) == "");
}

TEST_CASE("every composite of the text has wrong calls") {
  std::set<std::string, std::less<>> tried;
  for (const WrongCall& wrong : kWrong) tried.insert(wrong.composite);
  for (const OperationForm& form : operation_forms()) {
    if (!form.is_composite) continue;
    const std::string& name = form.name;
    CAPTURE(name);
    CHECK(tried.contains(name));
  }
}

TEST_CASE("a run reports the arguments of a composite of the text under the name of its result") {
  CompileOptions options;
  options.context = test::test_context();
  const Program program = compile(parse_graph("graph g(%x: f32[n]) {\n"
                                              "  %rows/y = pad_reflect(%x) {low = [2], high = [0]}\n"
                                              "  %z = exp(%rows/y)\n"
                                              "  return y = %rows/y, z = %z\n"
                                              "}\n")
                                      .value(),
                                  options)
                              .value();
  Session session = Session::create(program).value();
  const std::array<float, 2> x{};
  std::array<float, 4> y{}, z{};
  CHECK(session.run(std::array{bind(x, {2})}, std::array{bind(y), bind(z)}).message() ==
        "run: %rows/y = pad_reflect: dim 0 of f32[n] is padded by 2 and 0, expected less than its extent on each side "
        "with n = 2; pad in steps");
}

TEST_CASE("operands that are not tensors of the graph are reported as the composite's") {
  GraphBuilder graph, other;
  Tensor x = f(graph, {4, 8});
  layer_norm(x, f(other, {8}), f(graph, {8}));
  CHECK(graph.status().message() == "layer_norm: operand 1 belongs to another graph; build both in one GraphBuilder");
  GraphBuilder empty;
  matmul(f(empty, {4, 8}), Tensor());
  CHECK(empty.status().message() == "matmul: operand 1 is an empty tensor; use one that a builder returned");
}

TEST_CASE("the outermost composite is reported, with the scopes around it") {
  GraphBuilder graph;
  const auto scope = graph.scope("layer3");
  stack({f(graph, {1, 1, 1, 1, 1, 1, 1, 1})}, 0);
  CHECK(graph.status().message().starts_with("layer3/stack: "));
}

TEST_CASE("an op after a composite is reported under its own name") {
  GraphBuilder graph;
  Tensor y = softmax(f(graph, {4}));
  const auto count = std::to_string(graph.graph().nodes.size());
  logical_not(y);
  CHECK(graph.status().message() ==
        "%" + count + " = logical_not: operand 0 is f32[4], expected bool or an integer; insert a cast");
}

}  // namespace
}  // namespace millrace::composite_mistakes
