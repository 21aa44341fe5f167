// SPDX-License-Identifier: Apache-2.0
// State from run to run: the values that a run reads and writes, and their handling by a session between runs.
#include <array>
#include <cstdio>
#include <filesystem>

#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/hal/device.h"
#include "millrace/millrace.h"
#include "tests/graph/misuse.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/allocation_count.h"
#include "tests/support/counts_allocations.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using Four = std::array<float, 4>;
const TensorType kFour{DType::kF32, {4}};

Program compiled(GraphBuilder& builder, CompileOptions options = {}) {
  if (options.context == nullptr) options.context = test::test_context();
  Result<Program> program = compile(builder.finish().value(), options);
  REQUIRE(program.status().message() == "");
  return *program;
}

/// sum' = sum + x; before = sum.
Program counter(CompileOptions options = {}) {
  GraphBuilder graph("counter");
  const Tensor x = graph.input("x", DType::kF32, {4});
  const Tensor sum = graph.variable("sum", {4}, std::array<float, 4>{1, 2, 3, 4});
  graph.output("before", sum);
  graph.update(sum, sum + x);
  return compiled(graph, std::move(options));
}

Four get(Session& session, std::string_view name = "sum") {
  Four value{};
  CHECK(session.get(name, bind(value)).message() == "");
  return value;
}

TEST_CASE("a run reads the value from before it, and its update is for the next one") {
  for (const CompileOptions& options : test::every_way_to_compile()) {
    for (const ScheduleOrder order :
         {ScheduleOrder::kStrict, ScheduleOrder::kMinPeak, ScheduleOrder::kMaxConcurrency}) {
      CompileOptions ordered = options;
      ordered.order = order;
      CAPTURE(test::to_text(options));
      Session session = Session::create(counter(ordered)).value();
      const Four x{1, 10, 100, 1000};
      Four before{};
      REQUIRE(session.run({bind(x)}, {bind(before)}).message() == "");
      CHECK(before == Four{1, 2, 3, 4});
      REQUIRE(session.run({bind(x)}, {bind(before)}).message() == "");
      CHECK(before == Four{2, 12, 103, 1004});
      CHECK(get(session) == Four{3, 22, 203, 2004});
    }
  }
}

TEST_CASE("two variables swap their values, and three pass them on") {
  GraphBuilder graph;
  const Tensor a = graph.variable("a", kFour, 1), b = graph.variable("b", kFour, 2), c = graph.variable("c", kFour, 3);
  const Tensor d = graph.variable("d", kFour, 4), e = graph.variable("e", kFour, 5);
  graph.update(a, b);
  graph.update(b, a);
  graph.update(c, d);
  graph.update(d, e);
  graph.update(e, c);
  Session session = Session::create(compiled(graph)).value();
  const auto firsts = [&] {
    std::string text;
    for (const char* name : {"a", "b", "c", "d", "e"}) text += std::to_string(static_cast<int>(get(session, name)[3]));
    return text;
  };
  CHECK(firsts() == "12345");
  REQUIRE(session.run({}, {}).message() == "");
  CHECK(firsts() == "21453");
  REQUIRE(session.run({}, {}).message() == "");
  CHECK(firsts() == "12534");
}

TEST_CASE("a value in the memory of a concat is copied from there to its variable") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4}), v = graph.variable("v", kFour, 1);
  const Tensor sorted = sort(x).values;
  graph.update(v, sorted);
  graph.output("both", concat({x, sorted}, 0));
  Session session = Session::create(compiled(graph)).value();
  std::array<float, 8> both{};
  REQUIRE(session.run({bind(Four{3, 1, 4, 2})}, {bind(both)}).message() == "");
  CHECK(both == std::array<float, 8>{3, 1, 4, 2, 1, 2, 3, 4});
  CHECK(get(session, "v") == Four{1, 2, 3, 4});
}

TEST_CASE("a variable that nothing updates keeps its value, and one that nothing reads can be asked for") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4}), scale = graph.variable("scale", kFour, 2);
  const Tensor last = graph.variable("last", kFour, 0);
  graph.update(last, x * scale);
  graph.update(scale, scale);
  Session session = Session::create(compiled(graph)).value();
  REQUIRE(session.run({bind(Four{1, 2, 3, 4})}, {}).message() == "");
  CHECK(get(session, "scale") == Four{2, 2, 2, 2});
  CHECK(get(session, "last") == Four{2, 4, 6, 8});
}

TEST_CASE("two sessions of one program have their own states, and so do copies on other devices") {
  CompileOptions options;
  options.context = test::test_context();
  options.targets = {"cpu:baseline", "sim:gfx1100"};
  const Program program = counter(options);
  const Program moved = program.on(options.context->device("sim:gfx1100").value()).value();
  Session one = Session::create(program).value(), two = Session::create(program).value();
  Session far = Session::create(moved).value();
  Four before{};
  REQUIRE(one.run({bind(Four{1, 1, 1, 1})}, {bind(before)}).message() == "");
  REQUIRE(far.run({bind(Four{2, 2, 2, 2})}, {bind(before)}).message() == "");
  CHECK(get(one) == Four{2, 3, 4, 5});
  CHECK(get(two) == Four{1, 2, 3, 4});
  CHECK(get(far) == Four{3, 4, 5, 6});
}

TEST_CASE("a session sets, gets and resets its variables by name") {
  Session session = Session::create(counter()).value();
  REQUIRE(session.variables().size() == 1);
  CHECK(session.variables()[0].name == "sum");
  CHECK(session.set("sum", bind(Four{5, 6, 7, 8})).message() == "");
  Four before{};
  REQUIRE(session.run({bind(Four{})}, {bind(before)}).message() == "");
  CHECK(before == Four{5, 6, 7, 8});
  CHECK(session.reset().message() == "");
  CHECK(get(session) == Four{1, 2, 3, 4});
}

TEST_CASE("get and set report a misfit, and change nothing") {
  Session session = Session::create(counter()).value();
  Four value{};
  std::array<float, 3> three{};
  std::array<std::int32_t, 4> integers{};
  const Four constant{};
  CHECK(session.get("total", bind(value)).message() == "get: the program has no variable 'total'; it has: sum");
  CHECK(session.set("sum", bind(three)).message() ==
        "set: variable 'sum' has 12 bytes, expected 16 for f32[4]; bind the whole tensor");
  CHECK(session.set("sum", bind(integers)).message() ==
        "set: variable 'sum' is bound to elements of i32, expected f32 for f32[4]; bind elements of that dtype");
  CHECK(session.get("sum", bind(constant)).message() ==
        "get: variable 'sum' is bound to const elements, expected writable ones; bind memory that is not const");
  CHECK(session.get("sum", {.size_bytes = 16}).message() ==
        "get: variable 'sum' is null, expected 16 bytes for f32[4]; bind memory");
  const std::shared_ptr<Buffer> buffer = counter().device()->allocate(16).value();
  CHECK(session.set("sum", bind(*buffer)).message() ==
        "set: variable 'sum' is bound to a buffer of a device, expected caller memory; bind host memory");
  CHECK(get(session) == Four{1, 2, 3, 4});
  GraphBuilder stateless;
  stateless.output("y", stateless.input("x", DType::kF32, {4}));
  Session none = Session::create(compiled(stateless)).value();
  CHECK(none.get("sum", bind(value)).message() == "get: the program has no variable 'sum'; it has: none");
  CHECK(none.reset().message() == "");
  const Session moved = std::move(session);
  CHECK(session.reset().message() == "reset: the session was moved from; create another");
  CHECK(session.variables().empty());
}

TEST_CASE("variables are saved to a file and restored by name, all or none") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/state.safetensors";
  Session session = Session::create(counter()).value();
  Four before{};
  REQUIRE(session.run({bind(Four{1, 1, 1, 1})}, {bind(before)}).message() == "");
  REQUIRE(save_variables(session, path).message() == "");
  CHECK(Safetensors::read(path).value().get("sum").value().type == kFour);
  REQUIRE(session.run({bind(Four{1, 1, 1, 1})}, {bind(before)}).message() == "");
  REQUIRE(restore_variables(session, path).message() == "");
  CHECK(get(session) == Four{2, 3, 4, 5});
  GraphBuilder other;
  const Tensor sum = other.variable("sum", kFour, 9), more = other.variable("more", kFour, 7);
  other.update(sum, sum * more);
  Session longer = Session::create(compiled(other)).value();
  CHECK(restore_variables(longer, path).message() == "safetensors '" + path + "': has no 'more'; it has: sum");
  CHECK(get(longer) == Four{9, 9, 9, 9});
  GraphBuilder square;
  const Tensor matrix = square.variable("sum", {DType::kF32, {2, 2}}, 9);
  square.update(matrix, matrix * 2.0);
  Session different = Session::create(compiled(square)).value();
  CHECK(restore_variables(different, path).message() ==
        "restore variables: 'sum' in '" + path +
            "' is f32[4], expected f32[2x2]; give a file that was saved by this program");
  CHECK(get(different) == Four{9, 9, 9, 9});
}

TEST_CASE("a session that was moved from neither replaces a saved state nor takes one") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/state.safetensors";
  Session session = Session::create(counter()).value();
  REQUIRE(save_variables(session, path).message() == "");
  Session moved = std::move(session);
  CHECK(session.is_moved_from());
  CHECK_FALSE(moved.is_moved_from());
  const Status saved = save_variables(session, path), restored = restore_variables(session, path);
  CHECK(saved.code() == StatusCode::kFailedPrecondition);
  CHECK(saved.message() == "save variables: the session was moved from; give the one that it was moved to");
  CHECK(restored.code() == StatusCode::kFailedPrecondition);
  CHECK(restored.message() == "restore variables: the session was moved from; give the one that it was moved to");
  CHECK(Safetensors::read(path).value().get("sum").value().type == kFour);
  CHECK(restore_variables(moved, path).message() == "");
}

TEST_CASE("a refused run changes no variable; after a failed one, the session continues") {
  for (const CompileOptions& options : test::every_way_to_compile()) {
    CAPTURE(test::to_text(options));
    GraphBuilder graph;
    const Tensor at = graph.input("at", DType::kI64, {1}), x = graph.input("x", DType::kF32, {1});
    const Tensor v = graph.variable("v", {DType::kF32, {4}}, 1);
    graph.update(v, scatter(v, at, x, 0));
    Session session = Session::create(compiled(graph, options)).value();
    const std::array<std::int64_t, 1> inside{2}, outside{4};
    const std::array<float, 1> value{9};
    REQUIRE(session.run({bind(inside), bind(value)}, {}).message() == "");
    CHECK(!session.run({bind(inside)}, {}).ok());
    CHECK(get(session, "v") == Four{1, 1, 9, 1});
    CHECK(session.run({bind(outside), bind(value)}, {}).message() ==
          "run: %3 = scatter: index 4 at [0] of operand 1, %at of i64[1], is outside axis 0 of operand 0, %v of "
          "f32[4]; give -4 to 3");
    REQUIRE(session.reset().message() == "");
    REQUIRE(session.run({bind(inside), bind(value)}, {}).message() == "");
    CHECK(get(session, "v") == Four{1, 1, 9, 1});
  }
}

TEST_CASE("runs that were submitted see each other's updates, and get waits for them") {
  for (const char* device : {"cpu", "cpu:threads=2", "sim:gfx1100"}) {
    CAPTURE(device);
    CompileOptions options;
    options.device = device;
    Session session = Session::create(counter(options)).value();
    const Four x{1, 1, 1, 1};
    std::array<Four, 5> before{};
    for (Four& each : before) {
      const TensorBinding inputs[] = {bind(x)}, outputs[] = {bind(each)};
      REQUIRE(session.submit(inputs, outputs).ok());
    }
    CHECK(get(session) == Four{6, 7, 8, 9});
    CHECK(before[4] == Four{5, 6, 7, 8});
  }
}

TEST_CASE("runs with variables allocate nothing" * CountsAllocations()) {
  Session session = Session::create(counter()).value();
  const Four x{1, 1, 1, 1};
  Four before{};
  const auto run = [&] { return session.run({bind(x)}, {bind(before)}); };
  REQUIRE(run().ok());
  const std::uint64_t first = num_allocations();
  REQUIRE(run().ok());
  CHECK(num_allocations() == first);
}

#ifndef MILLRACE_SANITIZED  // ASan ends the process that asks for so much
TEST_CASE("variables that no device can hold are an error that names the largest") {
  GraphBuilder graph;
  const Tensor large = graph.variable("large", {DType::kF64, {std::int64_t{1} << 47}});
  graph.output("first", slice(large, {0}, {1}));
  CHECK(Session::create(compiled(graph))
            .status()
            .message()
            .starts_with("variables, the largest large of 1125899906842624 bytes: "));
}
#endif

}  // namespace
}  // namespace millrace
