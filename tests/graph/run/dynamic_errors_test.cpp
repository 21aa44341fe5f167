// SPDX-License-Identifier: Apache-2.0
// Sizes that a run refuses before anything executes, and the cost of binding.
#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/millrace.h"
#include "tests/support/allocation_count.h"
#include "tests/support/counts_allocations.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

CompileOptions options() { return {.context = test::test_context()}; }

/// x[rows, 4] + y[rows, 4]; values and indices of the k largest of each of z's rows; w of one row more than x.
Graph make_graph() {
  GraphBuilder graph("sizes");
  const SizeExpr rows = Dim("rows").at_least(1).at_most(8);
  const Tensor x = graph.input("x", DType::kF32, {rows, 4}), y = graph.input("y", DType::kF32, {rows, 4});
  graph.output("sum", x + y);
  graph.output("top", topk(graph.input("z", DType::kF32, {rows, Dim("n")}), Dim("k").at_most(6).multiple_of(2)).values);
  graph.output("more", -graph.input("w", DType::kF32, {rows + 1}));
  return graph.finish().value();
}

/// Arguments that are right: rows = 3, n = 5, k = 2.
struct Run {
  std::vector<float> room = std::vector<float>(64);
  std::vector<std::vector<float>> outputs = {std::vector<float>(12), std::vector<float>(6), std::vector<float>(4)};
  std::vector<Extents> inputs = {{3, 4}, {3, 4}, {3, 5}, {4}};
  std::vector<DimBinding> dims = {{"k", 2}};
  Session session = Session::create(compile(make_graph(), options()).value()).value();

  std::string error() {
    std::vector<TensorBinding> in, out;
    for (const Extents& extents : inputs) {
      std::int64_t count = 1;
      for (std::size_t d = 0; d < std::min(extents.rank(), kMaxRank); ++d)
        count *= std::max<std::int64_t>(extents[d], 0);
      in.push_back(bind(std::span(room.data(), static_cast<std::size_t>(count)), extents));
    }
    for (std::vector<float>& output : outputs) out.push_back(bind(output));
    return session.run(in, out, dims).message();
  }
};

TEST_CASE("right sizes run, wrong ones are refused with the reason, and right ones run after them") {
  Run run;
  CHECK(run.error() == "");
  run.dims = {};
  CHECK(run.error() == "run: dim 'k' has no value, expected k in 0..6 multiple_of 2; bind it by name");
  run.dims = {{"k", 2}};
  CHECK(run.error() == "");
}

TEST_CASE("a broken promise names the input, the dim and the fact") {
  Run run;
  run.inputs[0] = {9, 4};
  CHECK(run.error() ==
        "run: input 'x': dim 0 is 9, expected rows in 1..8; keep the promise, or build the graph "
        "with other facts");
  run.inputs[0] = {-1, 4};
  CHECK(run.error() ==
        "run: input 'x': dim 0 is -1, expected rows in 1..8; keep the promise, or build the graph "
        "with other facts");
}

TEST_CASE("extents that disagree name the input and the expected extent") {
  Run run;
  run.inputs[1] = {2, 4};
  CHECK(run.error() ==
        "run: input 'y' is [2x4], expected 3 in dim 0 of f32[rows, 4] with rows = 3; bind tensors that agree");
  run.inputs[1] = {3, 5};
  CHECK(run.error() == "run: input 'y' is [3x5], expected 4 in dim 1 of f32[rows, 4]; bind tensors that agree");
  run.inputs[1] = {3};
  CHECK(run.error() == "run: input 'y' is [3], expected rank 2 for f32[rows, 4]; bind a tensor of that rank");
  run.inputs[1] = {1, 1, 1, 1, 1, 1, 1, 3, 4};
  CHECK(run.error() ==
        "run: input 'y' is [1x1x1x1x1x1x1x3x...], expected rank 2 for f32[rows, 4]; bind a tensor of that rank");
  run.inputs[1] = {3, 4};
  run.inputs[3] = {3};
  CHECK(run.error() ==
        "run: input 'w' is [3], expected 4 in dim 0 of f32[rows + 1] with rows = 3; bind tensors that agree");
}

TEST_CASE("dims bound by name are those that no input gives, each once") {
  Run run;
  run.dims = {{"k", 2}, {"q", 1}};
  CHECK(run.error() == "run: dim 'q' is bound, but the program has no such symbol; leave it out");
  run.dims = {{"k", 2}, {"rows", 3}};
  CHECK(run.error() == "run: dim 'rows' is bound by name, but input 'x' determines it by its dim 0; leave it out");
  run.dims = {{"k", 2}, {"k", 2}};
  CHECK(run.error() == "run: dim 'k' is bound twice, expected once; leave one out");
  run.dims = {{"k", 3}};
  CHECK(run.error() ==
        "run: dim 'k' is 3, expected k in 0..6 multiple_of 2; keep the promise, or build the graph "
        "with other facts");
}

TEST_CASE("the requirements of an op on sizes are checked by the run") {
  Run run;
  run.dims = {{"k", 6}};
  CHECK(run.error() == "run: %4 = topk needs k <= n, found 6 and 5 with k = 6, n = 5; bind other sizes");
}

TEST_CASE("bytes and outputs are checked against the sizes that were bound") {
  Run run;
  run.outputs[1].resize(7);
  CHECK(run.error() == "run: output 'top' has 28 bytes, expected 24 for f32[3x2]; bind the whole tensor");
  const Program program = compile(make_graph(), options()).value();
  Session session = Session::create(program).value();
  std::vector<TensorBinding> inputs(4);
  std::vector<TensorBinding> outputs(3);
  CHECK(session.run(inputs, outputs).message() ==
        "run: input 'x' has no extents, expected extents for f32[rows, 4]; say bind(x, {...})");
  std::vector<float> x(4), n, w(2);
  inputs = {bind(x, {1, 4}), bind(x, {1, 4}), bind(n, {1, 0}), bind(w, {2})};
  std::vector<float> sum(4), top, more(2);
  outputs = {bind(sum, {2, 2}), bind(top), bind(more)};
  const DimBinding k[] = {{"k", 0}};
  CHECK(session.run(inputs, outputs, k).message() ==
        "run: output 'sum' has wrong extents, expected f32[1x4]; output_types() returns them");
  outputs[0] = bind(sum, {1, 4});
  CHECK(session.run(inputs, outputs, k).message() == "");
}

TEST_CASE("a program gives the types of its outputs, and refuses as a run does") {
  const Program program = compile(make_graph(), options()).value();
  const Extents inputs[] = {{3, 4}, {3, 4}, {3, 5}, {4}};
  const DimBinding k[] = {{"k", 4}};
  const std::vector<TensorType> types = program.output_types(inputs, k).value();
  CHECK(types[0].to_text() == "f32[3x4]");
  CHECK(types[1].to_text() == "f32[3x4]");
  CHECK(types[2].to_text() == "f32[4]");
  REQUIRE(program.named_dims().size() == 1);
  CHECK(program.named_dims()[0] == Dim("k").at_most(6).multiple_of(2));
  CHECK(program.output_types(std::span(inputs, 2)).status().message() ==
        "output types: extents of 2 inputs given, expected 4; give those of each input");
  CHECK(program.output_types(inputs).status().message() ==
        "output types: dim 'k' has no value, expected k in 0..6 multiple_of 2; bind it by name");
}

TEST_CASE("a symbol that no input gives needs an upper bound") {
  GraphBuilder graph;
  graph.output("top", topk(graph.input("x", DType::kF32, {Dim("n")}), Dim("k")).values);
  constexpr std::string_view kMessage =
      "dim 'k' has no upper bound, expected one, as it is not the extent of any input; promise one: 'k in "
      "0..N' in "
      "text, at_most(N) in C++";
  CHECK(graph.finish().status().message() == kMessage);
  const Graph read = parse_graph(
                         "graph g(%x: f32[n]) {\n"
                         "  %v, %i = topk(%x) {k = k, axis = 0}\n"
                         "  return top = %v\n"
                         "}\n")
                         .value();
  CHECK(compile(read, options()).status().message() == kMessage);
}

TEST_CASE("the maximum of no elements is refused by the run that binds 0, and says why") {
  GraphBuilder graph;
  graph.output("y", argmax(graph.input("x", DType::kF32, {Dim("n")}), 0));
  Session session = Session::create(compile(graph.finish().value(), options()).value()).value();
  std::array<std::int64_t, 1> y{};
  CHECK(
      session.run(std::array{bind(std::span<const float>(), {0})}, std::array{bind(y)}).message() ==
      "run: %1 = argmax needs 1 <= n, as the maximum of no elements is undefined, found 1 and 0 with n = 0; bind other "
      "sizes");
}

TEST_CASE("an unused input asks for nothing") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {Dim("n")});
  abs(topk(x, Dim("k")).values);
  abs(slice(x, {0}, {5}));
  graph.output("y", -x);
  CHECK(compile(graph.finish().value(), options()).value().named_dims().empty());
}

TEST_CASE("sizes too large to count are an error of the run") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {Dim("n"), 0});
  graph.output("y", broadcast_to(graph.fill(DType::kF32, {1}, 1), {SizeExpr(Dim("n")) * Dim("n") * Dim("n")}));
  graph.output("x", x);
  Session session = Session::create(compile(graph.finish().value(), options()).value()).value();
  const TensorBinding inputs[] = {bind(std::span<float>(), {std::int64_t{1} << 40, 0})};
  const TensorBinding outputs[2] = {};
  CHECK(session.run(inputs, outputs).message() ==
        "run: size 4*n*n*n: overflows int64 with n = 1099511627776, expected a value below 2^63; bind smaller values");
}

TEST_CASE("a run allocates nothing after the first, at smaller sizes too" * CountsAllocations()) {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {Dim("n"), Dim("n")});
  graph.output("y", softmax(matmul(matmul(x, x), x)));
  Session session = Session::create(compile(graph.finish().value(), options()).value()).value();
  std::vector<float> x_room(64), y_room(64);
  bool all_ok = true;
  const auto run = [&](std::int64_t n) {
    const auto count = static_cast<std::size_t>(n * n);
    const TensorBinding in[] = {bind(std::span(x_room).first(count), {n, n})},
                        out[] = {bind(std::span(y_room).first(count))};
    all_ok &= session.run(in, out).ok();
  };
  run(8);
  const std::uint64_t before = num_allocations();
  for (const std::int64_t n : {8, 3, 0, 8, 1}) run(n);
  CHECK(num_allocations() == before);
  CHECK(all_ok);
}

/// FAILURES B, through the graph: one kernel, no transient, whatever is promised.
TEST_CASE("rows by 14336 f32 to f16 are one dispatch at every number of rows that keeps the promise") {
  for (const bool promised : {false, true}) {
    GraphBuilder graph;
    const Dim rows = promised ? Dim("rows").at_least(128).at_most(524160).multiple_of(128) : Dim("rows");
    graph.output("y", cast(graph.input("x", DType::kF32, {rows, 14336}) * 0.25, DType::kF16));
    const Graph built = graph.finish().value();
    for (const CompileOptions& way : test::every_way_to_compile()) {
      CAPTURE(test::to_text(way));
      const Program program = compile(built, way).value();
      CHECK(program.report().num_dispatches == 1);
      CHECK(program.report().slab_bytes == SizeExpr(0));
      Session session = Session::create(program).value();
      std::vector<float> x(384 * 14336);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 2048);
      for (const std::int64_t n : {0, 1, 127, 128, 129, 256, 384}) {
        CAPTURE(n);
        const auto count = static_cast<std::size_t>(n) * 14336;
        std::vector<Half> y(count);
        const TensorBinding in[] = {bind(std::span(x).first(count), {n, 14336})}, out[] = {bind(y)};
        const Status status = session.run(in, out);
        if (promised && n % 128 != 0) {
          CHECK(status.message() == "run: input 'x': dim 0 is " + std::to_string(n) +
                                        ", expected rows in 128..524160 multiple_of 128; keep the "
                                        "promise, or build the graph with other facts");
          continue;
        }
        if (promised && n == 0) continue;
        CHECK(status.message() == "");
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i) wrong += static_cast<float>(y[i]) != x[i] * 0.25f;
        CHECK(wrong == 0);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
