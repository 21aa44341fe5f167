// SPDX-License-Identifier: Apache-2.0
// Names and scopes that an application gives to values: in texts, messages, passes, dispatches and runs.
#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/program_variant.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/millrace.h"
#include "tests/graph/mistake.h"
#include "tests/graph/misuse.h"
#include "tests/support/golden.h"
#include "tests/support/graphs/round_trip.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

/// Two layers of one form, a loop in the second, and names that occur again.
void build_layers(GraphBuilder& graph) {
  Tensor x = graph.input("x", DType::kF32, {4, 8});
  Tensor count = graph.input("count", DType::kI64, {});
  Tensor state = graph.variable("state", {DType::kF32, {4, 8}});
  const auto model = graph.scope("model");
  {
    const auto layer = graph.scope("layer 0");
    Tensor q = (x * 2.0f).named("q");
    Tensor again = (q + state).named("q");
    const auto [values, order] = topk(again, 3, {.axis = 1});
    order.named("order");
    x = softmax(again);
    graph.update(state, x);
    graph.output("values", values);
  }
  {
    const auto layer = graph.scope("layer1");
    Tensor q = exp(x).named("q");
    const std::vector<Tensor> last = graph.while_loop(
        {graph.fill(DType::kI64, {}, 0), q}, [&](std::span<const Tensor> s) { return less(s[0], count).named("more"); },
        [&](std::span<const Tensor> s) {
          const auto inner = graph.scope("inner");
          return std::vector{(s[0] + 1).named("state0"), (s[1] * q).named("scaled")};
        });
    graph.output("y", last[1].named("last"));
  }
}

Graph layers() {
  GraphBuilder graph("layers");
  build_layers(graph);
  return graph.finish().value();
}

Graph without_names(Graph graph) {
  strip_names(graph);
  return graph;
}

TEST_CASE("scopes precede the names in them, in bodies too, and the text comes back as it was") {
  const Graph graph = layers();
  CHECK(test::golden_problem("scopes.txt", to_text(graph)) == "");
  CHECK(round_trip_problem(graph) == "");
  CHECK(round_trip_problem(without_names(graph)) == "");
}

TEST_CASE("a scope that is opened again is the same, and each name in it is unique") {
  GraphBuilder graph;
  Tensor x = f32(graph, {4});
  const auto name_of = [&](Tensor tensor) { return value_text(graph.graph(), tensor.value()); };
  for (const char* expected : {"%a/y", "%a/y_1", "%a/y_2"}) {
    const auto scope = graph.scope("a");
    CHECK(name_of(exp(x).named("y")) == expected);
  }
  CHECK(graph.graph().scopes.size() == 1);
  CHECK(name_of(exp(x).named("y")) == "%y");
  CHECK(name_of(exp(x).named("y_1")) == "%y_1");
  CHECK(name_of(exp(x).named("y")) == "%y_2");
  CHECK(name_of(exp(x).named("x")) == "%x_1");
  CHECK(name_of(exp(x)) == "%8");
}

TEST_CASE("inputs, variables and values that have a name keep it") {
  GraphBuilder graph;
  Tensor x = f32(graph, {4}), state = graph.variable("state", {DType::kF32, {4}});
  Tensor y = exp(x).named("first").named("second");
  CHECK(value_text(graph.graph(), x.named("other").value()) == "%x");
  CHECK(value_text(graph.graph(), state.named("other").value()) == "%state");
  CHECK(value_text(graph.graph(), y.value()) == "%first");
  CHECK_FALSE(Tensor().named("nothing").is_valid());
}

TEST_CASE("mistakes are reported with the scopes that they are in") {
  expect_refused(std::array<Misuse, 6>{
      {{"an op in a scope",
        [](GraphBuilder& graph) {
          Tensor x = f32(graph, {4});
          const auto outer = graph.scope("decoder"), inner = graph.scope("layer 3");
          logical_not(x);
        },
        "%decoder/\"layer 3\"/1 = logical_not: operand 0 is f32[4], expected bool or an integer; insert a cast"},
       {"an empty name", [](GraphBuilder& graph) { exp(f32(graph, {4})).named(""); },
        "%1: the name is empty; choose a name"},
       {"an empty scope", [](GraphBuilder& graph) { const auto scope = graph.scope(""); },
        "scope: the name is empty; choose a name"},
       {"an input with a value's name",
        [](GraphBuilder& graph) {
          exp(f32(graph, {4})).named("mask");
          graph.input("mask", DType::kF32, {4});
        },
        "%2 = input 'mask': the name is taken; give every input its own"},
       {"a value of a loop that has ended",
        [](GraphBuilder& graph) {
          Tensor inside;
          Tensor x = f32(graph, {});
          graph.while_loop(
              {x}, [&](std::span<const Tensor> s) { return less(s[0], 1); },
              [&](std::span<const Tensor> s) { return std::vector{inside = s[0] * 2}; });
          inside.named("inside");
        },
        "named: operand 0 was made inside a loop or a branch that has ended; let the loop or the branch return it"},
       {"an update of what is no variable",
        [](GraphBuilder& graph) {
          Tensor x = f32(graph, {4});
          const auto scope = graph.scope("s");
          graph.update(exp(x).named("y"), x);
        },
        "update of %s/y = exp, which is not a variable; name one"}}});
}

TEST_CASE("texts with wrong scopes are refused") {
  constexpr Mistake kMistakes[] = {
      {"graph g(%a/x: f32[]) { return y = %a/x }",
       "g.mr:1:9: found '%a/x', expected no scope, because an input has none; write '%\"a/x\"'\n"
       "graph g(%a/x: f32[]) { return y = %a/x }\n"
       "        ^"},
      {"graph g(%x: f32[4]) {\n  %a/v, %b/i = topk(%x) {k = 1}\n  return y = %a/v\n}",
       "g.mr:2:9: found '%b/i', expected the scope of '%a/v', the node's first result; correct it\n"
       "  %a/v, %b/i = topk(%x) {k = 1}\n"
       "        ^"},
      {"graph g(%x: f32[4]) {\n  %a/ = exp(%x)\n  return y = %x\n}",
       "g.mr:2:7: found '=', expected a value's name after '/'; write it\n"
       "  %a/ = exp(%x)\n"
       "      ^"},
      {"graph g(%x: f32[4]) {\n  %a/s = variable(0) : f32[4]\n  return y = %x\n}",
       "g.mr:2:3: found '%a/s', expected no scope, because a variable has none; write '%\"a/s\"'\n"
       "  %a/s = variable(0) : f32[4]\n"
       "  ^"},
  };
  expect_errors(kMistakes);
}

TEST_CASE("verify finds scopes that the graph does not have, scopes of inputs, and duplicate names") {
  Graph graph = layers();
  const auto scope = graph.nodes[NodeId{4}].scope;
  graph.nodes[NodeId{0}].scope = scope;
  graph.nodes[NodeId{4}].scope = ScopeId{7};
  CHECK(verify(graph).message() ==
        "%0 = input: is in scope 'layer 0', expected none for an input or a variable; remove it\n"
        "%4 = broadcast: is in scope 7, expected less than 4; add it to the graph's scopes");
  graph = parse_graph("graph g(%\"a/y\": f32[], %x: f32[]) {\n  %a/z = exp(%x)\n  return y = %a/z\n}").value();
  graph.nodes[NodeId{2}].names = {"y"};
  CHECK(verify(graph).message() == "%2 = exp: the name 'a/y' is taken; give every value its own");
}

TEST_CASE("the last node of a rewrite gets the name and the scope, and merged nodes keep the first one's") {
  Graph graph = parse_graph(
                    "graph g(%x: f32[4]) {\n"
                    "  %a/one = constant(1) : f32[]\n"
                    "  %a/ones = broadcast(%a/one) {shape = [4], dims = []}\n"
                    "  %a/same = mul(%x, %a/ones)\n"
                    "  %b/y = exp(%a/same)\n"
                    "  %c/y = exp(%x)\n"
                    "  %c/sum = add(%b/y, %c/y)\n"
                    "  %d/5 = neg(%c/sum)\n"
                    "  %d/back = neg(%d/5)\n"
                    "  %e/half = div(%c/sum, %a/ones)\n"
                    "  return sum = %c/sum, back = %d/back, half = %e/half\n"
                    "}\n")
                    .value();
  REQUIRE(run_passes(graph, kGraphPasses).ok());
  CHECK(test::golden_problem("scopes_after_passes.txt", to_text(graph)) == "");
  CHECK(round_trip_problem(graph) == "");
}

TEST_CASE("dispatches, steps and commands show the names that people gave") {
  CompileOptions options;
  options.context = test::test_context();
  options.device = "cpu:baseline";  // the sort has another kernel at each level
  const Program program = compile(layers(), options).value();
  CHECK(test::golden_problem("scopes_dispatch.txt", program.to_text(Stage::kDispatch)) == "");
  CHECK(test::golden_problem("scopes_commands.txt", program.to_text(Stage::kCommands)) == "");
  std::string labels;
  visit_commands(program.lowered().commands, [&](CommandId, const Command& command) {
    if (const auto* dispatch = std::get_if<DispatchCommand>(&command)) labels += dispatch->label + "\n";
  });
  CHECK(labels.find("model/layer1/inner/scaled\n") != labels.npos);
}

/// Everything of a compiled graph that is kept, by target: cache keys follow from key texts.
std::string code_of(const Program& program) {
  std::string all;
  for (const ProgramVariant& variant : program.variants()) {
    for (const PlannedKernel& kernel : variant.lowered->schedule.kernels) {
      all += kernel.generator + "\n" + kernel.key_text + "\n" + kernel.name + "\n";
    }
    for (const ExecutableImage& image : variant.images) {
      const std::vector<std::byte> file = encode_image(image, std::string(32, '0'));
      all += image.symbol + "\n";
      all.append(reinterpret_cast<const char*>(file.data()), file.size());
    }
  }
  return all;
}

TEST_CASE("names change no cache key, no image, no symbol and no bit of a result") {
  CompileOptions options;
  options.context = test::test_context();
  const auto run = [](const Program& program) {
    Session session = Session::create(program).value();
    std::vector<float> x(32), y(32), values(12);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * static_cast<float>(i);
    const std::array<std::int64_t, 1> count{3};
    for (int round = 0; round < 2; ++round) {
      REQUIRE(session.run({bind("x", x), bind("count", count)}, {bind("values", values), bind("y", y)}).ok());
    }
    y.insert(y.end(), values.begin(), values.end());
    return y;
  };
  const Program named = compile(layers(), options).value();
  const Program unnamed = compile(without_names(layers()), options).value();
  CHECK(code_of(named) == code_of(unnamed));
  const std::vector<float> a = run(named), b = run(unnamed);
  CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

TEST_CASE("names change no code object of a GPU and no content of prepared constants") {
  const auto context = make_default_context();
  const auto target = context->target("amdgpu:gfx1100");
  if (!target.ok()) return;  // a build without LLVM
  const auto object_of = [&](const Graph& graph) {
    return make_code_object(lower_graph(Graph(graph), *target).value(), *target).value();
  };
  CHECK(object_of(layers()) == object_of(without_names(layers())));
}

TEST_CASE("a failing run names the value with its scopes") {
  GraphBuilder graph;
  Tensor x = f32(graph, {3}), i = i32(graph, {2});
  {
    const auto scope = graph.scope("embedding");
    graph.output("y", gather(exp(x).named("table"), i, 0).named("rows"));
  }
  CompileOptions options;
  options.context = test::test_context();
  const Program program = compile(graph.finish().value(), options).value();
  Session session = Session::create(program).value();
  const std::array<float, 3> table{};
  const std::array<std::int32_t, 2> indices{0, 3};
  std::array<float, 2> y{};
  CHECK(session.run({bind(table), bind(indices)}, {bind(y)}).message() ==
        "run: %embedding/rows = gather: index 3 at [1] of operand 1, %i of i32[2], is outside axis 0 of operand 0, "
        "%embedding/table of f32[3]; give -3 to 2");
}

}  // namespace
}  // namespace millrace
