// SPDX-License-Identifier: Apache-2.0
// Graphs with as many symbols as inputs, and with many that are bound by name.
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/signature.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

/// Inputs x0: f32[2 * s0, s0], x1: f32[2 * s1, s1] and so on, and the first as the output.
Graph graph_of_inputs(int count) {
  std::string inputs;
  for (int i = 0; i < count; ++i) inputs += fmt::format("{}%x{}: f32[2 * s{}, s{}]", i == 0 ? "" : ", ", i, i, i);
  return parse_graph("graph g(" + inputs + ") { return y = %x0 }").value();
}

TEST_CASE("each of ten thousand symbols is found in its own input, along the axis whose extent is only the symbol") {
  constexpr int kCount = 10'000;
  const Signature signature = Signature::of(graph_of_inputs(kCount)).value();
  CHECK(signature.named_dims().empty());
  std::vector<Extents> extents;
  for (std::int64_t i = 0; i < kCount; ++i) extents.push_back({2 * i, i});
  CHECK(signature.output_types(extents).value()[0].to_text() == "f32[0x0]");
  extents[7'777] = {1, 7'777};
  CHECK(signature.output_types(extents).status().message() ==
        "input 'x7777' is [1x7777], expected 15554 in dim 0 of f32[2*s7777, s7777] with s7777 = 7777; bind tensors "
        "that agree");
}

TEST_CASE("a symbol's value comes from the first input with the plain symbol as an extent") {
  const Graph graph = parse_graph("graph g(%a: f32[n + 1], %b: f32[m, n], %c: f32[n, m]) { return a = %a }").value();
  const Signature signature = Signature::of(graph).value();
  CHECK(signature.output_types(std::vector<Extents>{{4}, {2, 3}, {3, 2}}).value()[0].to_text() == "f32[4]");
  CHECK(signature.output_types(std::vector<Extents>{{4}, {2, 5}, {3, 2}}).status().message() ==
        "input 'a' is [4], expected 6 in dim 0 of f32[n + 1] with n = 5; bind tensors that agree");
}

TEST_CASE("many symbols are bound by name in any order, and a mistake with one of them is named") {
  for (const int count : {3, 100}) {
    CAPTURE(count);
    std::string nodes, outputs;
    for (int i = 0; i < count; ++i) {
      nodes += fmt::format("%i{} = iota() {{shape = [s{} in 0..{}], dtype = i64, axis = 0}}\n", i, i, count);
      outputs += fmt::format("{}o{} = %i{}", i == 0 ? "" : ", ", i, i);
    }
    const Graph graph = parse_graph("graph g() {\n" + nodes + "return " + outputs + " }").value();
    const Signature signature = Signature::of(graph).value();
    REQUIRE(signature.named_dims().size() == static_cast<std::size_t>(count));
    std::vector<std::string> names;
    std::vector<DimBinding> dims;
    for (int i = 0; i < count; ++i) names.push_back(fmt::format("s{}", i));
    for (int i = count; i-- > 0;) dims.push_back({names[static_cast<std::size_t>(i)], i});
    const auto types = signature.output_types({}, dims).value();
    for (std::size_t i = 0; i < types.size(); ++i) CHECK(types[i].to_text() == fmt::format("i64[{}]", i));
    const auto error = [&] { return signature.output_types({}, dims).status().message(); };
    dims.push_back(dims.front());
    CHECK(error() == fmt::format("dim 's{}' is bound twice, expected once; leave one out", count - 1));
    dims.back() = {"t", 1};
    CHECK(error() == "dim 't' is bound, but the program has no such symbol; leave it out");
    dims.pop_back();
    dims.pop_back();
    CHECK(error() == fmt::format("dim 's0' has no value, expected s0 in 0..{}; bind it by name", count));
  }
}

}  // namespace
}  // namespace millrace
