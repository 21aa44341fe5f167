// SPDX-License-Identifier: Apache-2.0
// Joins never make two regions need each other, in whatever order the nodes come.
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/text.h"
#include "tests/graph/dispatch/formed.h"

namespace millrace {
namespace {

TEST_CASE("a group that an earlier node's group needs through later nodes is no neighbour to join") {
  GraphBuilder graph;
  const Tensor sum = reduce_sum(graph.input("x", DType::kF32, {8, 8}), {1});
  const Tensor sorted = sort(sum).values;
  const Tensor other = reduce_sum(graph.input("z", DType::kF32, {8, 8}), {1});
  graph.output("v", sum + other);  // joins `sum`, which needs `other` from then on
  graph.output("w", other * sorted);
  CHECK(shape_of(formed(graph)) == "reduce_sum reduce_sum add -> 3\nsort -> 1\nmul -> 1\n");
}

/// Vectors of 8 elements, each made of one or two earlier ones by work that joins neighbours in different ways.
Graph random_vectors(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  GraphBuilder graph;
  std::vector<Tensor> vectors = {graph.input("x", DType::kF32, {8}), graph.input("z", DType::kF32, {8})};
  const auto any = [&]() -> Tensor { return vectors[random() % vectors.size()]; };
  const std::size_t count = 4 + random() % 12;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor a = any(), b = any();
    switch (random() % 7) {
      case 0:
        vectors.push_back(-a);
        break;
      case 1:
        vectors.push_back(sort(a).values);
        break;
      case 2:
        vectors.push_back(reduce_sum(broadcast_to(a, {8, 8}) * broadcast_to(b, {8, 8}), {1}));
        break;
      case 3:
        vectors.push_back(reduce_max(broadcast_to(a, {8, 8}), {random() % 2 == 0 ? 0 : 1}));
        break;
      case 4:
        vectors.push_back(reshape(transpose(reshape(a, {2, 4}), {1, 0}), {8}));
        break;
      default:
        vectors.push_back(a + b);
    }
  }
  for (std::size_t i = 2; i < vectors.size(); ++i) {
    if (i + 3 > vectors.size() || random() % 4 == 0) graph.output("y" + std::to_string(i), vectors[i]);
  }
  return graph.finish().value();
}

TEST_CASE("regions of random graphs can be put in an order") {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    Graph graph = random_vectors(seed);
    REQUIRE(run_passes(graph, kGraphPasses).ok());
    CAPTURE(to_text(graph));
    CHECK(form_dispatches(graph).status().message() == "");  // verifies that producers come before their readers
  }
}

}  // namespace
}  // namespace millrace
