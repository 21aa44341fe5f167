// SPDX-License-Identifier: Apache-2.0
// Applications bring bools from elsewhere: bytes other than 0 and 1 mean true, however a program is compiled.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/difference.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using reference::Tensor;
using T = millrace::Tensor;

constexpr std::int64_t kElements = 37;

/// Every kind of byte, in an order of its own for each seed.
std::vector<std::byte> any_bytes(std::size_t seed) {
  constexpr std::byte kKinds[] = {std::byte{0},    std::byte{2},    std::byte{1},   std::byte{0},
                                  std::byte{0xff}, std::byte{0x80}, std::byte{0x10}};
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < kElements; ++i) bytes.push_back(kKinds[(i * seed + i / 3) % std::size(kKinds)]);
  return bytes;
}

std::vector<std::byte> as_0_or_1(std::vector<std::byte> bytes) {
  for (std::byte& byte : bytes) byte = std::byte{byte != std::byte{0}};
  return bytes;
}

Tensor bool_tensor(std::vector<std::byte> bytes) {
  Tensor tensor(DType::kBool, {kElements});
  tensor.bytes = std::move(bytes);
  return tensor;
}

/// Uses of bools as conditions, numbers, operands and keys; `constant` is one more bool tensor.
Graph make_graph(const std::vector<std::byte>& constant) {
  GraphBuilder g;
  const T a = g.input("a", DType::kBool, {kElements}), b = g.input("b", DType::kBool, {kElements});
  const T x = g.input("x", DType::kF32, {kElements}), y = g.input("y", DType::kF32, {kElements});
  const T c = g.constant_bytes({DType::kBool, {kElements}}, constant);
  g.output("select", select(a, x, y));
  g.output("number", cast(a, DType::kI32));
  g.output("float", cast(b, DType::kF32) * x);
  g.output("and", logical_and(a, b));
  g.output("or", logical_or(a, b));
  g.output("xor", logical_xor(a, b));
  g.output("not", logical_not(a));
  g.output("equal", equal(a, b));
  g.output("order", sort(a).indices);
  g.output("sum", reduce_sum(cast(b, DType::kI32), {0}));
  g.output("constant", select(c, x, y));
  const T single = g.constant_bytes({DType::kBool, {1}}, std::vector{*std::ranges::max_element(constant)});
  g.output("single", logical_xor(a, broadcast(single, {kElements}, {0})));
  g.output("folded", logical_xor(logical_not(c), a));
  g.output("moved", reshape(transpose(reshape(concat(std::vector{a, b}, 0), {2, kElements}), {1, 0}), {2 * kElements}));
  return g.finish().value();
}

TEST_CASE("a bool is true unless its byte is 0, and a computed one is 0 or 1") {
  const std::vector<std::byte> a = any_bytes(1), b = any_bytes(3), c = any_bytes(5);
  const Tensor x = random_tensor({DType::kF32, {kElements}}, -2, 2, 1);
  const Tensor y = random_tensor({DType::kF32, {kElements}}, -2, 2, 2);
  const std::vector<Tensor> expected =
      evaluate_graph(make_graph(as_0_or_1(c)), std::vector{bool_tensor(as_0_or_1(a)), bool_tensor(as_0_or_1(b)), x, y});
  const Graph graph = make_graph(c);
  const std::vector<Tensor> inputs = {bool_tensor(a), bool_tensor(b), x, y};
  for (const CompileOptions& options : test::every_way_to_compile()) {
    CAPTURE(test::to_text(options));
    std::vector<Tensor> found = test::run_guarded(compile(graph, options).value(), inputs).value();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(graph.outputs[i].name);
      // What is only moved may be as it came.
      if (graph.outputs[i].name == "moved") found[i].bytes = as_0_or_1(found[i].bytes);
      CHECK(test::find_difference(found[i], expected[i], {}) == "");
    }
  }
}

}  // namespace
}  // namespace millrace
