// SPDX-License-Identifier: Apache-2.0
// Graphs as text: how they print, and that the text reads back as the same graph.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/golden.h"
#include "tests/support/graphs/round_trip.h"
#include "tests/support/graphs/squeezenet.h"

namespace millrace {
namespace {

std::string text_of(GraphBuilder& builder) {
  const Graph graph = builder.finish().value();
  CHECK(round_trip_problem(graph) == "");
  return to_text(graph);
}

std::string reprinted(std::string_view text) {
  const Result<Graph> graph = parse_graph(text);
  if (!graph.ok()) return graph.status().message();
  CHECK(round_trip_problem(*graph) == "");
  return to_text(*graph);
}

TEST_CASE("a graph that is written by hand reads as intended") {
  CHECK(reprinted("graph top(%x: f32[rows in 1..64, 32000]) {\n"
                  "  // The best of each row.\n"
                  "  %values, %indices = topk(%x) {k = 50, axis = 1, largest = true, sorted = true}\n"
                  "  return values = %values, indices = %indices\n"
                  "}\n") ==
        "graph top(%x: f32[rows in 1..64, 32000]) {\n"
        "  %values, %indices = topk(%x) {k = 50, axis = 1, largest = true, sorted = true} : f32[rows, 50], "
        "i64[rows, 50]\n"
        "  return values = %values, indices = %indices\n"
        "}\n");
  const std::string defaults = reprinted(
      "graph defaults(%x:f32[2,8],%i:i64[2x8]){%v,%unused=topk(%x){k=3}%s=add(%x,%x):f32[2,8]"
      "return v=%v,s=%s,i=%i}");
  CHECK(test::golden_problem("text_defaults.txt", defaults) == "");
}

TEST_CASE("symbols carry their facts where they first appear, even in an attribute") {
  GraphBuilder graph("facts");
  const Dim rows = Dim("rows").at_least(128).at_most(524160).multiple_of(128);
  const Dim k = Dim("k").at_most(8), n = Dim("n").at_least(2).at_most(1000);
  Tensor x = graph.input("x", DType::kF32, {SizeExpr(n) * 2 + 8, rows});
  Tensor y = graph.input("y", DType::kF16, {rows, Dim("free")});
  auto [values, indices] = topk(x, k, {.axis = 0});
  graph.output("values", values);
  graph.output("indices", broadcast_to(indices, {k, k, rows}));
  graph.output("y", y);
  CHECK(test::golden_problem("text_facts.txt", text_of(graph)) == "");
}

template <class T>
Tensor row(GraphBuilder& graph, std::vector<T> elements) {
  return graph.constant<T>({static_cast<std::int64_t>(elements.size())}, elements);
}

TEST_CASE("small constants are listed, element by element and bit by bit") {
  GraphBuilder graph("constants");
  graph.output("f32", row<float>(graph, {0.1f, -0.0f, std::numeric_limits<float>::infinity(),
                                         std::bit_cast<float>(0xffc00001), std::bit_cast<float>(1)}));
  graph.output("f64", row<double>(graph, {1.0 / 3, std::numeric_limits<double>::quiet_NaN()}));
  graph.output("f16", row<Half>(graph, {Half(0.1f), Half::from_bits(0xfe01)}));
  graph.output("bf16", row<BFloat16>(graph, {BFloat16(3e38f)}));
  graph.output("i8", row<std::int8_t>(graph, {-128, 65}));
  graph.output("u64", row<std::uint64_t>(graph, {std::numeric_limits<std::uint64_t>::max()}));
  const bool flags[] = {true, false};
  graph.output("bool", graph.constant<bool>({1, 2}, flags));
  graph.output("no_bool", graph.constant_bytes({DType::kBool, {2}}, std::vector{std::byte{1}, std::byte{2}}));
  graph.output("scalar", graph.fill(DType::kI32, {}, -7));
  graph.output("nothing", graph.constant<float>({0, 3}, std::span<const float>()));
  CHECK(test::golden_problem("text_constants.txt", text_of(graph)) == "");
}

TEST_CASE("a number becomes a 16-bit float by one rounding") {
  GraphBuilder graph("once");
  // A little above the middle of two neighbours: f32 would round it to the middle, and f16 that to the even one below.
  graph.output("half", graph.fill(DType::kF16, {}, 1 + 0x1p-11 + 0x1p-40));
  graph.output("brain", graph.fill(DType::kBF16, {}, 1 + 0x1p-8 + 0x1p-40));
  const Graph built = graph.finish().value();
  const auto bits = [&](std::size_t output) {
    std::uint16_t found = 0;
    std::memcpy(&found, std::get<ConstantNode>(built.nodes[built.outputs[output].value.node].what).data.data(), 2);
    return found;
  };
  CHECK(bits(0) == 0x3c01);
  CHECK(bits(1) == 0x3f81);
}

TEST_CASE("large constants are bytes, or cut short for people") {
  GraphBuilder builder("large");
  builder.output("short", row<std::uint8_t>(builder, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  std::vector<float> many(17, 1.5f);
  many[1] = -0.0f;
  builder.output("long", row<float>(builder, many));
  const Graph graph = builder.finish().value();
  CHECK(round_trip_problem(graph) == "");
  CHECK(test::golden_problem("text_large_constants.txt", to_text(graph)) == "");
  CHECK(test::golden_problem("text_shortened_constants.txt", to_text(graph, {LargeConstants::kShortened})) == "");
}

TEST_CASE("a name of any bytes comes back, and a terminal gets no bytes that it could take for a command") {
  std::string bytes = "\xc2\x9b\xc3\xa4\xe2\x82";
  for (int byte = 255; byte >= 0; --byte) bytes += static_cast<char>(byte);
  GraphBuilder builder("g" + bytes);
  const Tensor y = exp(builder.input("x" + bytes, DType::kF32, {2}));
  builder.output("y" + bytes, y);
  const Graph graph = builder.finish().value();
  CHECK(round_trip_problem(graph) == "");
  const std::string text = to_text(graph);
  CHECK(text.find("\\xc2\\x9b\xc3\xa4\\xe2\\x82\\xff\\xfe") != text.npos);
  CHECK(std::ranges::none_of(text, [](char c) { return c == '\x9b' || c == '\xff' || c == '\x1b' || c == '\x7f'; }));
}

TEST_CASE("numbers in attributes come back bit for bit") {
  const auto check = [](DType dtype, Number value) {
    GraphBuilder graph("pad");
    graph.output("y", pad(graph.input("x", dtype, {2}), {1}, {1}, value));
    const Graph expected = graph.finish().value();
    const Graph found = parse_graph(to_text(expected)).value();
    CHECK(std::get<PadAttrs>(std::get<OpNode>(found.nodes[NodeId{1}].what).attributes).value == value);
    CHECK(round_trip_problem(expected) == "");
  };
  for (const double value : {0.1, -0.0, 4.0, 1e300, -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN(), std::bit_cast<double>(0xfff0000000000001)}) {
    check(DType::kF64, value);
  }
  check(DType::kI64, std::numeric_limits<std::int64_t>::max());
  check(DType::kI64, std::numeric_limits<std::int64_t>::min());
  check(DType::kI64, (std::int64_t{1} << 53) + 1);
  check(DType::kU64, std::numeric_limits<std::uint64_t>::max());
  check(DType::kBool, true);
  check(DType::kF32, 0.1);
}

TEST_CASE("pad's value is written as an element of its operand, and comes back as one") {
  const auto written = [](DType dtype, Number value) {
    GraphBuilder graph("pad");
    graph.output("y", pad(graph.input("x", dtype, {2}), {1}, {1}, value));
    const std::string text = to_text(graph.finish().value());
    CHECK(to_text(parse_graph(text).value()) == text);
    const std::size_t begin = text.find("value = ") + 8;
    return text.substr(begin, text.find('}', begin) - begin);
  };
  CHECK(written(DType::kBool, 1) == "true");
  CHECK(written(DType::kBool, 0) == "false");
  CHECK(written(DType::kF32, 0.1) == "0.1");
  CHECK(written(DType::kF32, 1e300) == "inf");
  CHECK(written(DType::kF32, -1e-300) == "-0");
  CHECK(written(DType::kF16, 70000) == "inf");
  CHECK(written(DType::kF32, std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(written(DType::kF32, std::bit_cast<double>(0xfff8000020000000)) == "nan(0xffc00001)");
}

TEST_CASE("pad takes the values that a constant of its operand's dtype takes, with the same errors") {
  const char* values[] = {"0",
                          "-0",
                          "-0.0",
                          "1",
                          "-1",
                          "127",
                          "128",
                          "true",
                          "false",
                          "x",
                          "0.1",
                          "3.0e2",
                          "4.",
                          "1e999",
                          "9007199254740993",
                          "9007199254740993.0",
                          "9007199254740993e0",
                          "70000",
                          "1e-320",
                          "-9223372036854775808",
                          "-9223372036854775809",
                          "18446744073709551615",
                          "18446744073709551616",
                          "inf",
                          "-inf",
                          "nan",
                          "nan(0x7fc00001)",
                          "nan(0x7e01)",
                          "+1"};
  // Without the place in the text and the closing bracket, which differ.
  const auto problem = [](const Result<Graph>& graph) {
    if (graph.ok()) return std::string();
    const std::string& message = graph.status().message();
    const std::size_t begin = message.find(": "), end = std::min(message.find('\n'), message.find("expected ',' or"));
    return message.substr(begin, end - begin);
  };
  for (const DType dtype : kAllDTypes) {
    for (const std::string value : values) {
      const std::string type(to_text(dtype));
      CAPTURE(type);
      CAPTURE(value);
      const auto padded =
          parse_graph("graph g(%x: " + type + "[0]) {\n %y = pad(%x) {low = [1], high = [0], value = " + value +
                      "}\n return y = %y\n}\n");
      const auto constant =
          parse_graph("graph g() {\n %y = constant(" + value + ") : " + type + "[1]\n return y = %y\n}\n");
      CHECK(problem(padded) == problem(constant));
    }
  }
}

TEST_CASE("inputs may come late among the nodes, and in another order than the arguments") {
  GraphBuilder builder("late");
  Tensor x = builder.input("x", DType::kF32, {4});
  Tensor e = exp(x);
  Tensor y = builder.input("y", DType::kF32, {4});
  builder.output("z", e + y);
  Graph graph = builder.finish().value();
  CHECK(round_trip_problem(graph) == "");
  CHECK(test::golden_problem("text_late_input.txt", to_text(graph)) == "");
  std::swap(graph.inputs[0], graph.inputs[1]);
  CHECK(round_trip_problem(graph) == "");
  CHECK(test::golden_problem("text_late_inputs_swapped.txt", to_text(graph)) == "");
}

TEST_CASE("names may be anything, and are quoted if they are not plain") {
  GraphBuilder graph("my graph\n");
  Tensor a = graph.input("1", DType::kF32, {4});
  Tensor b = graph.input("a \"b\"\\", DType::kF32, {4});
  graph.output("\x01", a + b);
  graph.output("1.0", a);
  CHECK(text_of(graph) ==
        "graph \"my graph\\n\"(%\"1\": f32[4], %\"a \\\"b\\\"\\\\\": f32[4]) {\n"
        "  %2 = add(%\"1\", %\"a \\\"b\\\"\\\\\") : f32[4]\n"
        "  return \"\\x01\" = %2, \"1.0\" = %\"1\"\n"
        "}\n");
}

struct Twice {
  static auto emit(auto& b, auto x) { return b.add(x[0], x[0]); }
};
struct Thrice {
  static auto emit(auto& b, auto x) { return b.add(x[0], b.add(x[0], x[0])); }
};

TEST_CASE("an application's kernels are found by name among those that are given") {
  GraphBuilder builder("own");
  Tensor x = builder.input("x", DType::kF32, {4});
  builder.output("y", builder.kernel<Thrice>("three times", builder.kernel<Twice>("twice", x)));
  const Graph graph = builder.finish().value();
  CHECK(test::golden_problem("text_own_kernels.txt", to_text(graph)) == "");
  CHECK(round_trip_problem(graph, {make_custom_kernel<Twice>("twice"), make_custom_kernel<Thrice>("three times")}) ==
        "");
}

TEST_CASE("a whole network comes back") { CHECK(round_trip_problem(build_squeezenet(1)) == ""); }

}  // namespace
}  // namespace millrace
