// SPDX-License-Identifier: Apache-2.0
// update_slice against plain loops: its values and places, and the errors for a start outside.
#include <array>
#include <cstring>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using reference::Extents;

CompileOptions on(const std::string& device) {
  CompileOptions options;
  options.context = test::test_context();
  options.device = device;
  return options;
}

std::vector<CompileOptions> every_way() {
  std::vector<CompileOptions> ways = test::every_way_to_compile();
  ways.push_back(on("sim:gfx1100"));
  return ways;
}

Program compiled(GraphBuilder& builder, const CompileOptions& options) {
  Result<Graph> graph = builder.finish();
  REQUIRE(graph.status().message() == "");
  Result<Program> program = compile(*std::move(graph), options);
  REQUIRE(program.status().message() == "");
  return *program;
}

/// Counts up from `first`, modulo the range of the dtype.
reference::Tensor counting(DType dtype, const Extents& extents, std::int64_t first) {
  std::vector<double> numbers(static_cast<std::size_t>(reference::count(extents)));
  std::iota(numbers.begin(), numbers.end(), static_cast<double>(first));
  reference::Tensor tensor(dtype, extents);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::byte* const element = tensor.element(static_cast<std::int64_t>(i));
    if (is_float(dtype)) {
      reference::write_element(dtype, numbers[i], element);
    } else {
      reference::write_element(dtype, static_cast<reference::Int128>(numbers[i]), element);
    }
  }
  return tensor;
}

reference::Tensor scalar(DType dtype, std::int64_t value) {
  return reference::make_tensor(dtype, {}, std::vector<reference::Int128>{value});
}

reference::Tensor updated(reference::Tensor x, const reference::Tensor& update, std::size_t axis, std::int64_t start) {
  const Extents strides = reference::row_major_strides(x.extents());
  const std::size_t size = size_bytes(x.type.dtype);
  std::int64_t i = 0;
  reference::for_each_index(update.extents(), [&](Extents index) {
    index[axis] += start < 0 ? start + x.extents()[axis] : start;
    std::memcpy(x.element(reference::offset_of(index, strides)), update.element(i++), size);
  });
  return x;
}

struct Problem {
  Extents x, update;
  std::size_t axis;
};
const Problem kProblems[] = {{{7}, {3}, 0},
                             {{7}, {7}, 0},
                             {{7}, {0}, 0},
                             {{0, 3}, {0, 3}, 0},
                             {{5, 33}, {2, 33}, 0},
                             {{5, 33}, {5, 20}, 1},
                             {{2, 6, 16}, {2, 1, 16}, 1},
                             {{3, 4, 5}, {3, 4, 2}, 2},
                             {{4, 0, 5}, {2, 0, 5}, 0}};

Shape static_shape(const Extents& extents) { return Shape(std::vector<SizeExpr>(extents.begin(), extents.end())); }

TEST_CASE("a slice is replaced from a start that is a number, along any axis, counted from either end") {
  for (const CompileOptions& way : every_way()) {
    CAPTURE(test::to_text(way));
    for (const Problem& problem : kProblems) {
      const std::size_t axis = problem.axis;
      const reference::Tensor x = counting(DType::kF32, problem.x, 1), u = counting(DType::kF32, problem.update, 1000);
      const std::int64_t rest = problem.x[axis] - problem.update[axis];
      GraphBuilder graph;
      const Tensor old = graph.input("x", DType::kF32, static_shape(problem.x));
      const Tensor update = graph.input("u", DType::kF32, static_shape(problem.update));
      std::vector<std::int64_t> starts = {0, rest};
      if (problem.x[axis] > 0) starts.insert(starts.end(), {-problem.x[axis], rest - problem.x[axis]});
      for (std::size_t i = 0; i < starts.size(); ++i) {
        const auto along =
            static_cast<std::int64_t>(axis) - (i % 2 == 0 ? 0 : static_cast<std::int64_t>(x.extents().size()));
        graph.output(std::to_string(i), update_slice(old, update, along, starts[i]));
      }
      const auto found = test::run_guarded(compiled(graph, way), std::array{x, u});
      REQUIRE(found.status().message() == "");
      for (std::size_t i = 0; i < starts.size(); ++i) {
        CAPTURE(starts[i]);
        const std::int64_t start = starts[i] == problem.x[axis] ? 0 : starts[i];
        CHECK((found->at(i).bytes == updated(x, u, axis, start).bytes));
      }
    }
  }
}

TEST_CASE("a slice is replaced from a start that the run gives, in every dtype, at sizes that it binds") {
  const SizeExpr n = Dim("n"), m = Dim("m");
  for (const CompileOptions& way : {on("cpu"), on("sim:gfx1100")}) {
    for (const DType dtype : kAllDTypes) {
      CAPTURE(to_text(dtype));
      for (const DType index : {DType::kI32, DType::kI64}) {
        GraphBuilder graph;
        const Tensor x = graph.input("x", dtype, {3, n, 4}), update = graph.input("u", dtype, {3, m, 4});
        graph.output("y", update_slice(x, update, 1, graph.input("start", index, {})));
        const Program program = compiled(graph, way);
        for (const auto& [extent, count] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {9, 4}, {9, 0}, {5, 5}}) {
          const reference::Tensor before = counting(dtype, {3, extent, 4}, 1);
          const reference::Tensor change = counting(dtype, {3, count, 4}, 500);
          for (std::int64_t start = -extent; start <= extent - count; ++start) {
            if (start < 0 && start + count > 0) continue;
            const auto found = test::run_guarded(program, std::array{before, change, scalar(index, start)});
            REQUIRE(found.status().message() == "");
            CHECK((found->at(0).bytes == updated(before, change, 1, start).bytes));
          }
        }
      }
    }
  }
}

TEST_CASE("a start that is a size counts from the end of a symbolic extent, and from its beginning") {
  const SizeExpr n = Dim("n"), k = Dim("k").at_most(99);
  for (const SizeExpr& start : {SizeExpr(-3), n - 3, k}) {
    CAPTURE(start.to_text());
    GraphBuilder graph;
    const Tensor x = graph.input("x", DType::kI32, {n}), update = graph.input("u", DType::kI32, {2});
    graph.output("y", update_slice(x, update, 0, start));
    const Program program = compiled(graph, on("cpu"));
    for (const std::int64_t extent : {3, 8}) {
      const reference::Tensor before = counting(DType::kI32, {extent}, 1), change = counting(DType::kI32, {2}, 100);
      const DimBinding dims[] = {{"k", extent - 3}};
      const auto found =
          test::run_guarded(program, std::array{before, change}, std::span(dims).first(start == k ? 1 : 0));
      REQUIRE(found.status().message() == "");
      CHECK((found->at(0).bytes == updated(before, change, 0, extent - 3).bytes));
    }
  }
}

TEST_CASE("a start outside that the run gives is reported, on each device, and never wraps a part of the update") {
  for (const char* device : {"cpu", "sim:gfx1100"}) {
    GraphBuilder graph;
    const Tensor x = graph.input("x", DType::kF32, {4}), update = graph.input("u", DType::kF32, {2});
    graph.output("y", update_slice(x, update, 0, graph.input("start", DType::kI64, {})));
    const Program program = compiled(graph, on(device));
    const reference::Tensor before = counting(DType::kF32, {4}, 1), change = counting(DType::kF32, {2}, 9);
    const auto failure = [&](std::int64_t start) {
      return test::run_guarded(program, std::array{before, change, scalar(DType::kI64, start)}).status().message();
    };
    const std::string message =
        "run: update_slice: start, operand 2, is outside for f32[2] along axis 0 of operand 0, f32[4], expected 0 to "
        "2, "
        "or -4 to -2 to count from the end; choose one of these";
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t start :
         {std::int64_t{3}, std::int64_t{4}, std::int64_t{-1}, std::int64_t{-5}, kMax, -kMax - 1}) {
      CAPTURE(start);
      CHECK(failure(start) == message);
    }
    CHECK(failure(2) == "");
  }
}

/// A step of a cache of keys or values: [heads, positions, size], one position per run.
GraphBuilder& cached(GraphBuilder& graph) {
  const Tensor cache = graph.variable("cache", {DType::kF32, {2, 6, 3}});
  const Tensor row = graph.input("row", DType::kF32, {2, 1, 3}), at = graph.input("at", DType::kI64, {});
  const Tensor next = update_slice(cache, row, 1, at);
  graph.update(cache, next);
  graph.output("sum", reduce_sum(next, {1}));
  return graph;
}

TEST_CASE("a cache is updated in place: one kernel finds the places, one stores the rows, and nothing is copied") {
  GraphBuilder graph;
  const LoweredGraph lowered =
      lower_graph(cached(graph).finish().value(), on("cpu").context->target("cpu").value()).value();
  CHECK(lowered.dispatch.in_place.size() == 1);
  CHECK(lowered.dispatch.copied_updates.empty());
  std::string names;
  for (const Step& step : lowered.schedule.steps) {
    CHECK(step.copy_reason == "");
    names += step.name + " ";
  }
  CHECK(names == "add_less_greater_equal_logical_and_and_3_0 scatter_1 reduce_sum_2 ");
}

TEST_CASE("a cache keeps the rows of all runs") {
  for (const CompileOptions& way : every_way()) {
    CAPTURE(test::to_text(way));
    GraphBuilder graph;
    Session session = Session::create(compiled(cached(graph), way)).value();
    std::array<float, 36> cache{}, found{};
    std::array<float, 6> row{}, sum{};
    for (const std::int64_t at : {0, 1, 4, -1, 1}) {
      for (float& element : row) element += 1.5f;
      const std::size_t position = static_cast<std::size_t>(at < 0 ? at + 6 : at);
      for (std::size_t head = 0; head < 2; ++head) {
        for (std::size_t i = 0; i < 3; ++i) cache[(head * 6 + position) * 3 + i] = row[head * 3 + i];
      }
      REQUIRE(session.run({bind(row), bind(std::span(&at, 1), {})}, {bind(sum)}).message() == "");
      REQUIRE(session.get("cache", bind(found)).message() == "");
      CHECK(found == cache);
      float expected = 0;
      for (std::size_t p = 0; p < 6; ++p) expected += cache[p * 3];
      CHECK(sum[0] == expected);
    }
  }
}

}  // namespace
}  // namespace millrace
