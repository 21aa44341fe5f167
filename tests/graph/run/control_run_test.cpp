// SPDX-License-Identifier: Apache-2.0
// Programs with loops and conditions, on every kind of device.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <stop_token>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/schedule_statistics.h"
#include "millrace/millrace.h"
#include "tests/graph/run/far_programs.h"
#include "tests/support/allocation_count.h"
#include "tests/support/counts_allocations.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using Tensors = std::vector<Tensor>;
using State = std::span<const Tensor>;

/// Each of these calls is one device with one way to compile.
void on_every_device(const std::function<void(const CompileOptions&)>& check) {
  test::on_near_and_far(check);
  for (const CompileOptions& options : test::every_way_to_compile()) check(options);
  for (const char* gfx : {"isa:gfx1100", "isa:gfx90a"}) {
    CAPTURE(gfx);
    CompileOptions options;
    options.context = test::isa_context();
    options.device = gfx;
    check(options);
  }
}

Session session_of(const Graph& graph, const CompileOptions& options) {
  const Result<Program> program = compile(graph, options);
  REQUIRE(program.status().message() == "");
  return Session::create(*program).value();
}

/// The steps of Euclid's algorithm, with how many there are: small whole numbers, in both of the states.
Graph euclid() {
  GraphBuilder graph("euclid");
  const Tensor a = graph.input("a", DType::kI64, {}), b = graph.input("b", DType::kI64, {});
  const Tensors last = graph.while_loop(
      {a, b, graph.fill(DType::kI64, {}, 0)}, [](State s) { return not_equal(s[1], 0); },
      [](State s) { return Tensors{s[1], rem(s[0], s[1]), s[2] + 1}; });
  graph.output("gcd", last[0]);
  graph.output("steps", last[2]);
  return graph.finish().value();
}

TEST_CASE("loops: Euclid's algorithm exchanges its states until the remainder is 0") {
  const Graph graph = euclid();
  on_every_device([&](const CompileOptions& options) {
    Session session = session_of(graph, options);
    for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{1071, 462}, {7, 0}, {0, 5}, {89, 55}, {6, 3}}) {
      std::int64_t gcd = -1, steps = -1, x = a, y = b, expected_steps = 0;
      for (; y != 0; ++expected_steps) x = std::exchange(y, x % y);
      REQUIRE(session.run({bind(a), bind(b)}, {bind(gcd), bind(steps)}).message() == "");
      CHECK(gcd == std::gcd(a, b));
      CHECK(steps == expected_steps);
    }
  });
}

/// x, or its running sums over and over, until the sum of all is `minimum` or more; then the larger half is negated if
/// the last sum is odd.
Graph growing(const SizeExpr& n) {
  GraphBuilder graph("growing");
  const Tensor x = graph.input("x", DType::kF32, {n}), minimum = graph.input("minimum", DType::kF32, {});
  const Tensors grown = graph.while_loop(
      {x}, [&](State s) { return less(reduce_sum(s[0], {0}), minimum); },
      [&](State s) { return Tensors{cumulative_sum(s[0]) + x}; });
  const Tensor total = reduce_sum(grown[0], {0});
  const Tensor odd = not_equal(rem(total, 2), 0);
  const Tensors y = graph.if_else(
      odd, [&] { return Tensors{-grown[0], total}; }, [&] { return Tensors{grown[0] * 2 + x, total + 1}; });
  graph.output("y", y[0]);
  graph.output("total", y[1]);
  return graph.finish().value();
}

struct Grown {
  std::vector<float> y;
  float total = 0;
};

Grown grow(const std::vector<float>& x, float minimum) {
  Grown result{x};
  const auto total = [&] { return std::accumulate(result.y.begin(), result.y.end(), 0.f); };
  while (total() < minimum) {
    std::partial_sum(result.y.begin(), result.y.end(), result.y.begin());
    for (std::size_t i = 0; i < x.size(); ++i) result.y[i] += x[i];
  }
  result.total = total();
  const bool is_odd = std::fmod(result.total, 2.f) != 0;
  for (std::size_t i = 0; i < x.size(); ++i) result.y[i] = is_odd ? -result.y[i] : result.y[i] * 2 + x[i];
  if (!is_odd) result.total += 1;
  return result;
}

void check_growing(Session& session, std::size_t n) {
  std::vector<float> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>((i * 7 + 3) % 4);
  const Extents extents{static_cast<std::int64_t>(n)};
  for (const float minimum : {0.f, 10.f, 11.f, 500.f, 4000.f}) {
    CAPTURE(n);
    CAPTURE(minimum);
    float total = 0;
    REQUIRE(session.run({bind(x, extents), bind(minimum)}, {bind(y, extents), bind(total)}).message() == "");
    const Grown expected = grow(x, minimum);
    CHECK(y == expected.y);
    CHECK(total == expected.total);
  }
}

TEST_CASE("loops and conditions: of a constant size") {
  const Graph graph = growing(9);
  on_every_device([&](const CompileOptions& options) {
    Session session = session_of(graph, options);
    check_growing(session, 9);
  });
}

TEST_CASE("loops and conditions: of a size that each run binds") {
  const Graph graph = growing(Dim("n").at_least(1).at_most(300));
  on_every_device([&](const CompileOptions& options) {
    Session session = session_of(graph, options);
    for (const std::size_t n : {5, 17, 200, 3}) check_growing(session, n);
  });
}

TEST_CASE("loops: nested, with conditions, constants and outer values") {
  // Sums the digits of all numbers below n, in base 7, where digits above 5 count twice.
  GraphBuilder graph("digits");
  const Tensor n = graph.input("n", DType::kI64, {});
  const std::array<std::int64_t, 7> weights = {0, 1, 2, 3, 4, 5, 6};
  const Tensor zero = graph.fill(DType::kI64, {}, 0);
  const Tensors last = graph.while_loop(
      {zero, zero}, [&](State s) { return less(s[0], n); },
      [&](State s) {
        const Tensors digits = graph.while_loop(
            {s[0], zero}, [](State t) { return greater(t[0], 0); },
            [&](State t) {
              const Tensor digit = gather(graph.constant({7}, weights), rem(t[0], 7), 0);
              const Tensors counted =
                  graph.if_else(greater(digit, 5), [&] { return Tensors{digit * 2}; }, [&] { return Tensors{digit}; });
              return Tensors{t[0] / 7, t[1] + counted[0]};
            });
        return Tensors{s[0] + 1, s[1] + digits[1]};
      });
  graph.output("sum", last[1]);
  const Graph built = graph.finish().value();
  const auto expected = [](std::int64_t count) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t left = i; left > 0; left /= 7) sum += left % 7 > 5 ? left % 7 * 2 : left % 7;
    }
    return sum;
  };
  on_every_device([&](const CompileOptions& options) {
    Session session = session_of(built, options);
    for (const std::int64_t count : {0, 1, 8, 20}) {
      std::int64_t sum = -1;
      REQUIRE(session.run({bind(count)}, {bind(sum)}).message() == "");
      CHECK(sum == expected(count));
    }
  });
}

TEST_CASE("loops change variables, and a variable that a loop continues is changed in place") {
  GraphBuilder graph("steps");
  const Tensor rounds = graph.input("rounds", DType::kI64, {});
  const Tensor state = graph.variable("state", {DType::kI64, {5}}, 1);
  const Tensor count = graph.variable("count", {DType::kI64, {}}, 0);
  const Tensors last = graph.while_loop(
      {state, graph.fill(DType::kI64, {}, 0)}, [&](State s) { return less(s[1], rounds); },
      [&](State s) { return Tensors{cumulative_sum(s[0]), s[1] + 1}; });
  graph.update(state, last[0]);
  graph.update(count, count + last[1]);
  const Graph built = graph.finish().value();
  on_every_device([&](const CompileOptions& options) {
    Session session = session_of(built, options);
    std::array<std::int64_t, 5> expected, found{};
    expected.fill(1);
    std::int64_t total = 0, counted = -1;
    for (const std::int64_t given : {3, 0, 1}) {
      REQUIRE(session.run({bind(given)}, {}).message() == "");
      for (std::int64_t i = 0; i < given; ++i) std::partial_sum(expected.begin(), expected.end(), expected.begin());
      total += given;
      REQUIRE(session.get("state", bind(found)).message() == "");
      REQUIRE(session.get("count", bind(counted)).message() == "");
      CHECK(found == expected);
      CHECK(counted == total);
    }
  });
  const LoweredGraph lowered = lower_graph(built, make_default_context()->target("cpu").value()).value();
  for (const Step& step : lowered.schedule.steps) CHECK(step.name != "copy to state");
}

TEST_CASE("a loop's first state is copied only where it is needed, and says why") {
  GraphBuilder graph("copies");
  const Tensor x = graph.input("x", DType::kF32, {64}), n = graph.input("n", DType::kF32, {});
  const Tensor own = x * 2, kept = x * 3;
  const Tensors last = graph.while_loop(
      {own, kept, x}, [&](State s) { return less(reduce_max(s[0], {0}), n); },
      [](State s) { return Tensors{s[0] + 1, s[1] * 2, s[2] - 1}; });
  graph.output("kept", kept);
  for (std::size_t i = 0; i < 3; ++i) graph.output("y" + std::to_string(i), last[i]);
  const LoweredGraph lowered =
      lower_graph(graph.finish().value(), make_default_context()->target("cpu").value()).value();
  std::vector<std::string> reasons;
  for (const Step& step : lowered.schedule.steps) {
    if (step.is_copy()) reasons.push_back(step.copy_reason);
  }
  std::ranges::sort(reasons);
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0] == "%7 is an output, too");
  CHECK(reasons[1] == "%x is an input");
  const Step* loop = nullptr;
  for (const Step& step : lowered.schedule.steps) loop = step.control != nullptr ? &step : loop;
  REQUIRE(loop != nullptr);
  // In the rounds, everything happens in place.
  for (const Step& step : loop->control->bodies[0].schedule->steps) CHECK(step.copy_reason == "");
  CHECK(measure_schedule(lowered.schedule).num_copies == 2);
}

TEST_CASE("an index out of range in a loop is an error of the run, and names the node") {
  GraphBuilder graph("picks");
  const Tensor x = graph.input("x", DType::kF32, {4}), first = graph.input("first", DType::kI64, {});
  const Tensors last = graph.while_loop(
      {first, graph.fill(DType::kF32, {}, 0)}, [](State s) { return less(s[0], 7); },
      [&](State s) { return Tensors{s[0] + 1, s[1] + gather(x, s[0], 0)}; });
  graph.output("y", last[1]);
  const Graph built = graph.finish().value();
  on_every_device([&](const CompileOptions& options) {
    Session session = session_of(built, options);
    const std::array<float, 4> values = {1, 2, 3, 4};
    float y = 0;
    const Status status = session.run({bind(values), bind(std::int64_t{1})}, {bind(y)});
    CHECK(status.code() == StatusCode::kOutOfRange);
    CHECK(status.message().starts_with("run: %"));
    CHECK(status.message().find(" = while: %") != std::string::npos);
    CHECK(status.message().find(" = gather: an index of operand 1") != std::string::npos);
    REQUIRE(session.run({bind(values), bind(std::int64_t{7})}, {bind(y)}).message() == "");
    CHECK(y == 0);
  });
}

TEST_CASE("a run is stopped in an endless loop, and the session runs again") {
  GraphBuilder graph("endless");
  const Tensor x = graph.input("x", DType::kF32, {});
  const Tensors last =
      graph.while_loop({x}, [](State s) { return greater(s[0], 0); }, [](State s) { return Tensors{s[0] + 0}; });
  graph.output("y", last[0]);
  const Graph built = graph.finish().value();
  test::on_near_and_far([&](const CompileOptions& options) {
    Session session = session_of(built, options);
    float y = -1;
    std::stop_source stop;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      stop.request_stop();
    });
    CHECK(session.run({bind(1.f)}, {bind(y)}, {}, stop.get_token()).code() == StatusCode::kCancelled);
    stopper.join();
    REQUIRE(session.run({bind(-3.f)}, {bind(y)}).message() == "");
    CHECK(y == -3);
  });
}

TEST_CASE("runs with loops allocate nothing after the first" * CountsAllocations()) {
  Session session = session_of(growing(9), {});
  const std::array<float, 9> x = {1, 2, 3, 0, 1, 2, 3, 0, 1};
  std::array<float, 9> y{};
  float total = 0;
  const std::array inputs{bind(x), bind(500.f)};
  const std::array outputs{bind(y), bind(total)};
  REQUIRE(session.run(inputs, outputs).message() == "");
  const std::uint64_t before = num_allocations();
  const Status status = session.run(inputs, outputs);
  CHECK(num_allocations() == before);
  CHECK(status.message() == "");
}

TEST_CASE("checks for a body are made before anything runs") {
  const Dim n = Dim("n").at_least(1).at_most(50);
  GraphBuilder graph("checks");
  const Tensor x = graph.input("x", DType::kF32, {n});
  const Tensors last = graph.while_loop(
      {x}, [](State s) { return less(reduce_max(s[0], {0}), 4); },
      [](State s) { return Tensors{s[0] + reduce_sum(topk(s[0], 3).values, {0})}; });
  graph.output("y", last[0]);
  Session session = session_of(graph.finish().value(), {});
  std::array<float, 2> two{}, y{};
  const Status status = session.run({bind(two, Extents{2})}, {bind(y, Extents{2})});
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(status.message().find("while") != std::string::npos);
}

}  // namespace
}  // namespace millrace
