// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/random_state.h"

#include "millrace/graph/functions.h"

namespace millrace::test {

TensorType state_type() { return {DType::kI32, {kStateRows, kStateColumns}}; }

namespace {

constexpr std::int64_t kRows = kStateRows, kColumns = kStateColumns;
const TensorType kType = state_type();

/// A value of kType from earlier ones: in place or not, at the same points or others, read again or not.
Tensor any_value(GraphBuilder& graph, RandomChoice& random, const std::vector<Tensor>& values, Tensor indices) {
  const Tensor a = random.one_of(values), b = random.one_of(values);
  const Tensor two = slice(b, {0, 0}, {2, kColumns});
  switch (random.below(10)) {
    case 0:
      return a + b;
    case 1:
      return a * 3 - b;
    case 2:
      return max(a, b);
    case 3:
      return scatter(a, indices, two, 0);
    case 4:
      return scatter_add(a, indices, two, 0);
    case 5: {
      const Tensor flat = reshape(a, {kRows * kColumns});
      return reshape(scatter(flat, indices, slice(reshape(b, {kRows * kColumns}), {1}, {3}), 0), kType.shape);
    }
    case 6:
      return concat({slice(a, {2, 0}, {kRows, kColumns}), two}, 0);
    case 7:
      return reshape(transpose(a, {1, 0}), kType.shape);
    case 8:
      return broadcast_to(reduce_sum(a, {0}, true), kType.shape) - b;
    default:
      return select(less(iota(graph, DType::kI64, kType.shape, 0), broadcast_to(slice(indices, {0}, {1}), kType.shape)),
                    a, b);
  }
}

}  // namespace

Graph make_state_graph(RandomChoice& random) {
  GraphBuilder graph("state");
  const Tensor indices = graph.input("i", DType::kI64, {2});
  std::vector<Tensor> values = {graph.input("x", kType.dtype, kType.shape)}, variables;
  for (std::size_t i = 0; i < kStateVariables; ++i) {
    variables.push_back(graph.variable("v" + std::to_string(i), kType, static_cast<double>(i) + 1));
  }
  values.insert(values.end(), variables.begin(), variables.end());
  values.push_back(graph.fill(kType.dtype, kType.shape, 7));
  const std::uint64_t count = random.below(8);
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(any_value(graph, random, values, indices));
  for (const Tensor& variable : variables) {
    // Mostly one of the last values, so that chains are common.
    const Tensor value = random.chance(60) ? values[values.size() - 1 - random.below(2)] : random.one_of(values);
    if (random.chance(80)) graph.update(variable, value);
  }
  graph.output("y", random.one_of(values));
  if (random.chance(50)) graph.output("z", values.back());
  return graph.finish().value();
}

}  // namespace millrace::test
