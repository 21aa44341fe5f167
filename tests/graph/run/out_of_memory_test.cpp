// SPDX-License-Identifier: Apache-2.0
// Every allocation of a compilation, a session and its runs fails once, except those of LLVM, whose kernels come from a
// cache.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/allocation_count.h"
#include "tests/support/fail_each_allocation.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

constexpr std::string_view kBegin =
    "graph g(%x: f32[rows in 1..8, 8], %w: f32[8, 16], %i: i32[3]) {\n"
    "  %c = constant(2, 3) : f32[2]\n  %n = neg(%c)\n  %m = reduce_sum(%n) {axes = [0]}\n"
    "  %f = broadcast(%m) {shape = [8, 16]}\n  %v = mul(%w, %f)\n"
    "  %p = dot(%x, %v) {x_contract = [1], y_contract = [0]}\n"
    "  %g = gather(%p, %i) {axis = 0}\n  %h = exp(%g)\n"
    "  %o = pad(%h) {low = [1, 1], high = [0, 2], value = 1}\n"
    "  %b = slice(%o) {start = [1, 1], stop = [4, 17], step = [1, 1]}\n  %e = neg(%g)\n  %k = abs(%g)\n"
    "  %j = concat(%e, %k) {axis = 1}\n  %d = slice(%j) {start = [0, 8], stop = [3, 24], step = [1, 1]}\n"
    "  %u = scatter_add(%b, %i, %d) {axis = 0}\n  %t = tanh(%u)\n  %values, %indices = sort(%t) {axis = 1}\n"
    "  %s = variable(0) : f32[2]\n  %a = add(%s, %n)\n";
constexpr std::string_view kLoop =
    "  %more = constant(true) : bool[]\n  %l = while(%more, %a, %n) {\n    graph round(%n: f32[2]) {\n"
    "      %q = variable() : f32[2]\n      %d = add(%q, %n)\n      %z = reduce_sum(%d) {axes = [0]}\n"
    "      %o = greater(%z, %z)\n      update %q = %d\n      return again = %o\n    }\n  }\n  update %s = %l\n";
constexpr std::string_view kEnd = "  return values = %values, indices = %indices\n}\n";

const std::string& looping_text() {
  static const std::string text = std::string(kBegin) + std::string(kLoop) + std::string(kEnd);
  return text;
}
const std::string& straight_text() {
  static const std::string text = std::string(kBegin) + "  update %s = %a\n" + std::string(kEnd);
  return text;
}

struct Run {
  std::array<float, 2 * 8> x{};
  std::array<float, 8 * 16> w{};
  std::array<std::int32_t, 3> i{0, 1, -1};
  std::array<float, 3 * 16> values{};
  std::array<std::int64_t, 3 * 16> indices{};

  Run() {
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % 5) / 8;
    for (std::size_t k = 0; k < w.size(); ++k) w[k] = static_cast<float>(k % 7) / 8;
  }
  Status operator()(Session& session) {
    return session.run(std::array{bind(x, {2, 8}), bind(w), bind(i)}, std::array{bind(values), bind(indices)});
  }
};

CompileOptions options_for(const TemporaryDirectory& cache) {
  CompileOptions options;
  options.device = "cpu:avx2,threads=1";  // only allocations of the calling thread fail
  options.context = make_default_context({.cache_directory = cache.path(), .read_only_cache_directories = {}});
  return options;
}

TEST_CASE("parsing and building survive a lack of memory anywhere") {
  fail_each_allocation(nothing, [](int) { return parse_graph(looping_text()).status(); });
  const auto operands = [] { return std::pair(Shape{4, 8}, Shape{4, 8}); };
  fail_each_allocation(operands, [](std::pair<Shape, Shape> shapes) {
    GraphBuilder graph("g");
    const Tensor x = graph.input("x", DType::kF32, std::move(shapes.first));
    const std::array<std::byte, 4> two{};
    const Tensor y = graph.constant_bytes({DType::kF32, {}}, two);
    const Tensor z = graph.op1(Op::add, {x, graph.fill(DType::kF32, std::move(shapes.second), 2)});
    const std::vector<Tensor> sorted = graph.op(Op::sort, std::span(&z, 1), SortAttrs{});
    if (!sorted.empty()) graph.output("z", sorted[0]);
    graph.output("y", y);
    const Tensor state = graph.variable("state", {DType::kF32, {}}, 1);
    const Tensor bytes = graph.variable_bytes("bytes", {DType::kF32, {}}, two);
    graph.update(state, bytes);
    return graph.finish().status();
  });
}

TEST_CASE("sizes survive a lack of memory anywhere") {
  const SizeExpr rows = Dim("rows_of_a_long_name").at_least(1);
  fail_each_allocation(nothing, [](int) {
    std::map<std::string, Dim> symbols;
    return parse_size_expr("(3 * rows_of_a_long_name + columns_of_a_long_name) // 4", symbols).status();
  });
  fail_each_allocation(nothing, [&](int) {
    std::map<std::string, Dim> symbols;
    return rows.collect_symbols(symbols);
  });
  fail_each_allocation(nothing, [&](int) {
    const Status status = rows.evaluate({}).status();
    return status.code() == StatusCode::kResourceExhausted ? status : Status();
  });
}

TEST_CASE("each step of a compilation survives a lack of memory anywhere" * test::Sliced()) {
  const Graph graph = parse_graph(straight_text()).value();
  fail_each_allocation(nothing, [&](int) { return verify(graph); });
  fail_each_allocation(nothing, [&](int) { return collect_symbols(graph).status(); });
  using Pass = Status (*)(Graph&);
  for (const Pass pass : {fold_constants, merge_equal_nodes, simplify_algebra, eliminate_dead_nodes}) {
    fail_each_allocation([&] { return graph; }, [&](Graph copy) { return pass(copy); });
  }
  const Target target = make_default_context()->target("cpu:avx2").value();
  fail_each_allocation([&] { return graph; },
                       [&](Graph copy) { return lower_graph(std::move(copy), target).status(); });
  fail_each_allocation([&] { return graph; }, [&](Graph copy) { return form_dispatches(std::move(copy)).status(); });
  const DispatchGraph dispatch = form_dispatches(graph).value();
  fail_each_allocation(nothing, [&](int) { return verify(dispatch); });
  std::vector<std::vector<KernelSequence>> sequences;
  for (std::uint32_t i = 0; i < dispatch.regions.size(); ++i) {
    const RegionId id{i};
    fail_each_allocation(nothing, [&](int) { return lower_region(dispatch, id, target, {}).status(); });
    sequences.push_back(lower_region(dispatch, id, target, {}).value());
  }
  fail_each_allocation(nothing, [&](int) { return verify(dispatch, sequences, target); });
  const std::set<Value> constants = find_read_constants(dispatch, sequences);
  fail_each_allocation(nothing, [&](int) { return schedule_execution(dispatch, sequences, constants).status(); });
  Schedule schedule = schedule_execution(dispatch, sequences, constants).value();
  fail_each_allocation([&] { return schedule; }, [](Schedule copy) { return place_barriers(copy); });
  REQUIRE(place_barriers(schedule).ok());
  fail_each_allocation([&] { return schedule; }, [](Schedule copy) { return pack_transients(copy); });
  REQUIRE(pack_transients(schedule).ok());
  const LoweredGraph looping = lower_graph(parse_graph(looping_text()).value(), target).value();
  for (const Schedule& packed : {schedule, looping.schedule}) {
    fail_each_allocation(nothing, [&](int) { return verify(packed); });
    fail_each_allocation(nothing, [&](int) { return record_commands(packed).status(); });
  }
}

TEST_CASE("compile survives a lack of memory anywhere, and the next call works" * test::Sliced()) {
  const TemporaryDirectory cache;
  const Graph graph = parse_graph(looping_text()).value();
  const auto prepare = [&] { return std::pair(graph, options_for(cache)); };
  const std::set<std::string> messages = fail_each_allocation(prepare, [](std::pair<Graph, CompileOptions> given) {
    return compile(std::move(given.first), given.second).status();
  });
  for (const char* where : {"pass fold_constants", "lower: %p = dot", "kernel 'dot_1'", "compile: kernel 'dot_1'",
                            "constants, the largest %n of 8 bytes: buffer of 192 bytes"}) {
    check_said(messages, where);
  }
}

TEST_CASE("a context that many calls share is intact after each call that found no memory" * test::Sliced()) {
  const TemporaryDirectory cache;
  const Graph graph = parse_graph(looping_text()).value();
  REQUIRE(compile(graph, options_for(cache)).ok());
  const CompileOptions options = options_for(cache);
  const std::uint64_t before = num_allocations();
  REQUIRE(compile(graph, options).ok());
  const std::uint64_t num = num_allocations() - before;
  int num_wrong = 0;
  for (std::uint64_t n = 0; n < num; n += 7 * stride_of(num / 7)) {
    CompileOptions fresh = options_for(cache);  // its kernels are on disk, none in memory
    Graph copy = graph;
    Status status;
    {
      const FailingAllocation failing(n);
      status = compile(std::move(copy), fresh).status();
    }
    if (!status.ok() && status.code() != StatusCode::kResourceExhausted) ++num_wrong;
    if (!compile(graph, fresh).ok()) ++num_wrong;
    // A file that could not be read for a lack of memory is a good one.
    if (fresh.context->cache->stats().misses != 0) ++num_wrong;
  }
  CHECK(num_wrong == 0);
}

TEST_CASE("sessions and runs survive a lack of memory anywhere, and the next run is right") {
  const TemporaryDirectory cache;
  const Program program = compile(parse_graph(looping_text()).value(), options_for(cache)).value();
  Run expected;
  Session good = Session::create(program).value();
  REQUIRE(expected(good).message() == "");
  const std::set<std::string> messages = fail_each_allocation(nothing, [&](int) {
    Result<Session> session = Session::create(program);
    if (!session.ok()) return session.status();
    Run run;
    return run(*session);
  });
  check_said(messages, "run: intermediate values, the largest %v of 512 bytes: buffer of 1088 bytes");
  // A session in which a run failed runs on.
  Run run;
  const std::uint64_t before = num_allocations();
  {
    Session counted = Session::create(program).value();
    REQUIRE(run(counted).ok());
  }
  const std::uint64_t num = num_allocations() - before;
  for (std::uint64_t n = 0; n < num; ++n) {
    Session session = Session::create(program).value();
    Status status;
    {
      const FailingAllocation failing(n);
      status = run(session);
    }
    CHECK((status.ok() || status.code() == StatusCode::kResourceExhausted));
    run.values.fill(0);
    REQUIRE(run(session).message() == "");
    CHECK(run.values == expected.values);
    CHECK(run.indices == expected.indices);
  }
  std::array<float, 2> state{};
  fail_each_allocation(nothing, [&](int) { return good.get("s", bind(state)); });
  fail_each_allocation(nothing, [&](int) { return good.set("s", bind(state)); });
  fail_each_allocation(nothing, [&](int) { return good.reset(); });
  // The message of a run's own error needs memory too.
  expected.i[0] = 8;
  fail_each_allocation(nothing, [&](int) {
    const Status status = expected(good);
    return status.code() == StatusCode::kOutOfRange ? Status() : status;
  });
}

}  // namespace
}  // namespace millrace
