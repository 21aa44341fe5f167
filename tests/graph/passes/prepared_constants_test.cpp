// SPDX-License-Identifier: Apache-2.0
// Values that depend only on constants are computed once, when a program is loaded.
#include <algorithm>
#include <array>
#include <cmath>

#include <doctest/doctest.h>

#include "graph/run/program_state.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/millrace.h"
#include "tests/graph/run/far_programs.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

constexpr std::size_t kRows = 3, kDepth = 24, kColumns = 40;

std::int8_t weight(std::size_t k, std::size_t n) { return static_cast<std::int8_t>((k * 5 + n * 3) % 17) - 8; }
float scale(std::size_t n) { return n % 2 == 0 ? 0.5f : 2.f; }

/// x times weights of 8 bits, whose columns have scales. Exact in any order.
Graph quantised() {
  GraphBuilder graph("quantised");
  const Tensor x = graph.input("x", DType::kF32, {kRows, kDepth});
  std::vector<std::int8_t> weights;
  std::vector<float> scales;
  for (std::size_t k = 0; k < kDepth; ++k) {
    for (std::size_t n = 0; n < kColumns; ++n) weights.push_back(weight(k, n));
  }
  for (std::size_t n = 0; n < kColumns; ++n) scales.push_back(scale(n));
  // Made twice of the same constants, once transposed.
  const Tensor w = cast(graph.constant({kDepth, kColumns}, weights), DType::kF32) * graph.constant({kColumns}, scales);
  graph.output("y", matmul(x, w));
  graph.output("back", matmul(matmul(x, w), transpose(w, {1, 0})));
  return graph.finish().value();
}

void check_quantised(const CompileOptions& options) {
  const Result<Program> program = compile(quantised(), options);
  REQUIRE(program.status().message() == "");
  Session session = Session::create(*program).value();
  std::array<float, kRows * kDepth> x{}, back{};
  std::array<float, kRows * kColumns> y{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 2;
  REQUIRE(session.run({bind(x)}, {bind(y), bind(back)}).message() == "");
  for (std::size_t i = 0; i < kRows; ++i) {
    std::array<double, kColumns> row{};
    for (std::size_t n = 0; n < kColumns; ++n) {
      for (std::size_t k = 0; k < kDepth; ++k) row[n] += x[i * kDepth + k] * weight(k, n) * scale(n);
      CHECK(y[i * kColumns + n] == row[n]);
    }
    for (std::size_t k = 0; k < kDepth; ++k) {
      double sum = 0;
      for (std::size_t n = 0; n < kColumns; ++n) sum += row[n] * weight(k, n) * scale(n);
      CHECK(back[i * kDepth + k] == sum);
    }
  }
}

TEST_CASE("dequantised weights are computed at load, and are right on every kind of device") {
  test::on_near_and_far(check_quantised);
  for (const CompileOptions& options : test::every_way_to_compile()) check_quantised(options);
  CompileOptions isa;
  isa.context = test::isa_context();
  isa.device = "isa:gfx1100";
  check_quantised(isa);
  CompileOptions none;
  none.passes.max_prepared_bytes = 0;
  check_quantised(none);
}

LoweredGraph lowered(Graph graph, std::uint64_t max_bytes = 1 << 20) {
  PassOptions passes;
  passes.max_prepared_bytes = max_bytes;
  return lower_graph(std::move(graph), make_default_context()->target("cpu").value(), {}, passes).value();
}

TEST_CASE("a run does nothing for prepared values, and the constants that only they need are not kept") {
  const LoweredGraph prepared = lowered(quantised()), each_run = lowered(quantised(), 0);
  constexpr std::uint64_t kBytes = kDepth * kColumns * sizeof(float);
  CHECK(prepared.report.prepared_bytes == kBytes);
  CHECK(prepared.report.constant_bytes == kBytes);
  CHECK(prepared.report.num_dispatches == 2);
  CHECK(prepared.setup->report.num_dispatches == 1);
  CHECK(each_run.setup == nullptr);
  CHECK(each_run.report.prepared_bytes == 0);
  CHECK(each_run.report.num_dispatches == 3);
  // A value that is too large for the remaining budget stays with the runs.
  CHECK(lowered(quantised(), kBytes).setup != nullptr);
  CHECK(lowered(quantised(), kBytes - 1).setup == nullptr);
}

TEST_CASE("a constant that is too large to prepare is reported by its name and its bytes") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4, 64});
  {
    const auto layer = graph.scope("layer3");
    Tensor table = exp(iota(graph, DType::kF32, {64, 64}, 1)).named("table");
    graph.output("y", matmul(x, table));
  }
  const Graph finished = graph.finish().value();
  const LoweredGraph told = lowered(finished, 1000);
  REQUIRE(told.report.unprepared.size() == 1);
  CHECK(told.report.unprepared[0].name == "%layer3/table = exp");
  CHECK(told.report.unprepared[0].size_bytes == 64 * 64 * 4);
  CHECK(lowered(finished).report.unprepared.empty());
}

TEST_CASE("the prepared graph and the rest of the program can be read") {
  GraphBuilder graph("table");
  const Tensor x = graph.input("x", DType::kF32, {8});
  graph.output("y", x * sin(iota(graph, DType::kF32, {8}, 0)));
  const LoweredGraph found = lowered(graph.finish().value());
  CHECK(to_text(found, Stage::kGraph) ==
        "graph table(%x: f32[8]) {\n"
        "  %1 = prepared() : f32[8]\n"
        "  %2 = mul(%x, %1) : f32[8]\n"
        "  return y = %2\n"
        "}\n");
  CHECK(to_text(*found.setup, Stage::kGraph) ==
        "graph table.setup() {\n"
        "  %0 = iota() {shape = [8], dtype = f32, axis = 0} : f32[8]\n"
        "  %1 = sin(%0) : f32[8]\n"
        "  return prepared0 = %1\n"
        "}\n");
}

TEST_CASE("the last pass gives the work that it moves to the caller, and moves none without one") {
  Graph moved = quantised(), whole = quantised();
  PreparedConstants prepared;
  const std::vector<PassReport> reports = run_passes(moved, kGraphPasses, {.verify_each = true}, &prepared).value();
  CHECK(reports.back().name == "prepare_constants");
  CHECK(reports.back().nodes_after < reports.back().nodes_before);
  REQUIRE(prepared.setup.has_value());
  CHECK(verify(*prepared.setup).message() == "");
  CHECK(prepared.unprepared.empty());
  const std::vector<PassReport> unmoved = run_passes(whole, kGraphPasses).value();
  CHECK(unmoved.back().nodes_after == unmoved.back().nodes_before);
  CHECK(to_text(whole).find("prepared()") == std::string::npos);
}

TEST_CASE("values that are cheaper to compute than to read, or that a run could refuse, are not prepared") {
  const auto is_prepared = [](auto&& build, std::int64_t n = 16) {
    GraphBuilder graph("g");
    const Tensor x = graph.input("x", DType::kF32, {n, n});
    graph.output("y", build(graph, x));
    return lowered(graph.finish().value()).setup != nullptr;
  };
  const auto table = [](GraphBuilder& graph) {
    std::array<float, 256> values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return graph.constant({16, 16}, values);
  };
  CHECK_FALSE(is_prepared([](GraphBuilder& graph, Tensor x) {  // a causal mask
    const Tensor row = iota(graph, DType::kI32, {16, 16}, 0), column = iota(graph, DType::kI32, {16, 16}, 1);
    return select(less(row, column), x, x * 0);
  }));
  CHECK_FALSE(is_prepared([](GraphBuilder& graph, Tensor x) { return x + graph.fill(DType::kF32, {16, 16}, 2); }));
  CHECK_FALSE(is_prepared([&](GraphBuilder& graph, Tensor x) {
    return x + broadcast_to(reshape(slice(table(graph), {0, 0}, {1, 16}), {16}), {16, 16});
  }));
  CHECK_FALSE(is_prepared([&](GraphBuilder& graph, Tensor x) {
    const std::array<std::int64_t, 2> wrong = {3, 16};
    return x + reduce_sum(gather(table(graph), graph.constant({2}, wrong), 0), {0}, true);
  }));
  CHECK(is_prepared([&](GraphBuilder& graph, Tensor x) {
    const std::array<std::int64_t, 2> right = {3, -16};
    return x + reduce_sum(gather(table(graph), graph.constant({2}, right), 0), {0}, true);
  }));
  const auto narrow = [](GraphBuilder& graph) {  // too many elements to fold
    return cast(graph.constant({300, 300}, std::vector<std::int8_t>(90000, 3)), DType::kF32) * 0.5f;
  };
  CHECK_FALSE(is_prepared([&](GraphBuilder& graph, Tensor x) { return x + narrow(graph); }, 300));
  CHECK(is_prepared([&](GraphBuilder& graph, Tensor x) { return matmul(x, narrow(graph)); }, 300));
  CHECK(is_prepared([&](GraphBuilder& graph, Tensor x) { return x + matmul(table(graph), table(graph)); }));
  CHECK(is_prepared([](GraphBuilder& graph, Tensor x) { return x + exp(iota(graph, DType::kF32, {16, 16}, 1)); }));
}

TEST_CASE("outputs, variables and loops take prepared values") {
  GraphBuilder graph("uses");
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  const Tensor product = matmul(graph.constant({2, 3}, values), graph.constant({3, 2}, values));  // 22 28 49 64
  const Tensor kept = graph.variable("kept", {DType::kF32, {2, 2}}, 0);
  graph.update(kept, product);
  graph.output("y", product);
  const std::vector<Tensor> last = graph.while_loop(
      {reduce_sum(kept, {0, 1}) * 0}, [](std::span<const Tensor> s) { return less(s[0], 100); },
      [&](std::span<const Tensor> s) { return std::vector{s[0] + reduce_max(product, {0, 1})}; });
  graph.output("z", last[0]);
  const Graph built = graph.finish().value();
  test::on_near_and_far([&](const CompileOptions& options) {
    const Result<Program> program = compile(built, options);
    REQUIRE(program.status().message() == "");
    Session session = Session::create(*program).value();
    std::array<float, 4> y{}, found{};
    float z = 0;
    REQUIRE(session.run({}, {bind(y), bind(z)}).message() == "");
    REQUIRE(session.get("kept", bind(found)).message() == "");
    const std::array<float, 4> expected = {22, 28, 49, 64};
    CHECK(y == expected);
    CHECK(found == expected);
    CHECK(z == 128);
  });
}

TEST_CASE("both results of a sort of constants are prepared") {
  GraphBuilder graph("order");
  const std::array<float, 5> values = {3, 1, 4, 1, 5};
  const ValuesAndIndices order = sort(graph.constant({5}, values));
  const Tensor x = graph.input("x", DType::kF32, {5});
  graph.output("y", x + order.values);
  graph.output("at", order.indices);
  const Graph built = graph.finish().value();
  CHECK(lowered(built).setup->report.num_dispatches == 1);
  CHECK(lowered(built).report.num_dispatches == 1);
  Session session = Session::create(compile(built).value()).value();
  std::array<float, 5> y{};
  std::array<std::int64_t, 5> at{};
  REQUIRE(session.run({bind(std::array<float, 5>{})}, {bind(y), bind(at)}).message() == "");
  CHECK(y == std::array<float, 5>{1, 1, 3, 4, 5});
  CHECK(at == std::array<std::int64_t, 5>{1, 3, 0, 2, 4});
}

TEST_CASE("values that depend only on constants leave the bodies of loops and branches") {
  GraphBuilder graph("bodies");
  const Tensor x = graph.input("x", DType::kF32, {4}), p = graph.input("p", DType::kBool, {});
  const auto table = [&](float scale) {
    return exp(graph.constant({4}, std::array<float, 4>{0, scale, 0, 0}) * iota(graph, DType::kF32, {4}, 0)) - 1;
  };
  const std::vector<Tensor> last = graph.while_loop(
      {x}, [](std::span<const Tensor> s) { return less(reduce_max(s[0], {0}), 20); },
      [&](std::span<const Tensor> s) {
        const std::vector<Tensor> chosen = graph.if_else(
            p, [&] { return std::vector{s[0] + table(2)}; }, [&] { return std::vector{s[0] * 2 + table(0)}; });
        return std::vector{chosen[0] + 1 + table(1)};
      });
  graph.output("y", last[0]);
  const Graph built = graph.finish().value();
  const LoweredGraph found = lowered(built);
  REQUIRE(found.setup != nullptr);
  CHECK(to_text(found, Stage::kGraph).find("exp") == std::string::npos);
  test::on_near_and_far([&](const CompileOptions& options) {
    const Result<Program> program = compile(built, options);
    REQUIRE(program.status().message() == "");
    Session session = Session::create(*program).value();
    for (const bool chooses : {false, true}) {
      const std::array<float, 4> given = {1, 0, -2, 3};
      std::array<float, 4> y{}, expected = given;
      REQUIRE(session.run({bind(given), bind(chooses)}, {bind(y)}).message() == "");
      while (*std::ranges::max_element(expected) < 20) {
        for (std::size_t i = 0; i < 4; ++i) {
          const float both = i == 1 ? std::exp(1.f) - 1 : 0, first = i == 1 ? std::exp(2.f) - 1 : 0;
          expected[i] = (chooses ? expected[i] + first : expected[i] * 2) + 1 + both;
        }
      }
      for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(y[i] - expected[i]) <= 1e-5f * std::abs(expected[i]));
    }
  });
}

struct Twice {
  static auto emit(auto& b, auto x) { return b.add(x[0], x[0]); }
};
struct Square {
  static auto emit(auto& b, auto x) { return b.mul(x[0], x[0]); }
};

TEST_CASE("kernels with one name and different bodies prepare different constants on one device") {
  CompileOptions options;
  options.context = test::test_context();
  options.on_device = options.context->device("cpu").value();
  const auto run = [&]<class Body>(Body) {
    GraphBuilder graph("g");
    const Tensor c = graph.constant({3}, std::array<float, 3>{1, 3, 5});
    graph.output("y", graph.input("x", DType::kF32, {3}) + graph.kernel<Body>("same", c));
    const Program program = compile(graph.finish().value(), options).value();
    Session session = Session::create(program).value();
    std::array<float, 3> y{};
    REQUIRE(session.run({bind(std::array<float, 3>{})}, {bind(y)}).message() == "");
    return std::pair(program, y);
  };
  const auto twice = run(Twice()), square = run(Square());
  CHECK(twice.second == std::array<float, 3>{2, 6, 10});
  CHECK(square.second == std::array<float, 3>{1, 9, 25});
}

TEST_CASE("programs of one device share prepared values, whatever their names") {
  const auto graph_with = [](const char* scope, const char* name) {
    GraphBuilder graph;
    const auto opened = graph.scope(scope);
    const Tensor x = graph.input("x", DType::kF32, {4, 64});
    graph.output("y", matmul(x, exp(iota(graph, DType::kF32, {64, 64}, 1)).named(name)));
    return graph.finish().value();
  };
  CompileOptions options;
  options.context = test::test_context();
  options.on_device = options.context->device("cpu").value();
  const Program first = compile(graph_with("a", "table"), options).value();
  const Program second = compile(graph_with("b", "weights"), options).value();
  REQUIRE(first.report().prepared_bytes > 0);
  CHECK(first.state()->constants == second.state()->constants);
}

TEST_CASE("programs of one device share equally prepared values, and other devices get copies") {
  CompileOptions options;
  options.context = test::test_context();
  options.on_device = options.context->device("cpu").value();
  const Program first = compile(quantised(), options).value(), second = compile(quantised(), options).value();
  CHECK(first.state()->constants == second.state()->constants);
  options.passes.max_prepared_bytes = 0;
  CHECK(compile(quantised(), options).value().state()->constants != first.state()->constants);
  const Program there = first.on(options.context->device("cpu:threads=2").value()).value();
  Session here = Session::create(first).value(), away = Session::create(there).value();
  const std::array<float, kRows * kDepth> x = {1, 2, 3};
  std::array<float, kRows * kDepth> back{}, other_back{};
  std::array<float, kRows * kColumns> y{}, other{};
  REQUIRE(here.run({bind(x)}, {bind(y), bind(back)}).message() == "");
  REQUIRE(away.run({bind(x)}, {bind(other), bind(other_back)}).message() == "");
  CHECK(y == other);
  CHECK(back == other_back);
}

}  // namespace
}  // namespace millrace
