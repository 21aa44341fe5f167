// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graphs/nested_graph.h"

#include "millrace/millrace.h"

namespace millrace::test {

Graph nested_graph() {
  using Tensors = std::vector<Tensor>;
  using State = std::span<const Tensor>;
  GraphBuilder graph("nested");
  const Tensor x = graph.input("x", DType::kF32, {8}), at = graph.input("at", DType::kI64, {8});
  const Tensor sorted = sort(x).values;
  const auto double_up = [&](const Tensor& y) {
    const Tensors last = graph.while_loop(
        {y}, [](State s) { return less(reduce_sum(s[0], {0}), 100); },
        [](State s) { return Tensors{s[0] * s[0] + 1.0}; });
    return Tensors{sort(last[0]).values};
  };
  const Tensors last = graph.while_loop(
      {sorted, graph.fill(DType::kI64, {}, 0)}, [](State s) { return less(s[1], 3); },
      [&](State s) {
        const Tensors chosen = graph.if_else(
            greater(s[1], 0), [&] { return double_up(s[0]); }, [&] { return Tensors{gather(-s[0], at, 0)}; });
        return Tensors{chosen[0], s[1] + 1};
      });
  graph.output("y", sort(last[0] + sorted).values);
  graph.output("sum", reduce_sum(last[0], {0}));
  return graph.finish().value();
}

}  // namespace millrace::test
