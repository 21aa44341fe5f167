// SPDX-License-Identifier: Apache-2.0
// Compiles graphs of many small nodes without a cache, and times each phase: no phase may grow faster than the graph.
#include <benchmark/benchmark.h>

#include "millrace/graph/compile_report.h"
#include "millrace/hal/device.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

/// One concat of inputs of 1 to 5 rows.
Graph concat_inputs(std::int64_t count) {
  GraphBuilder graph("concat");
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    parts.push_back(graph.input("x" + std::to_string(i), DType::kF32, {1 + i % 5, 4}));
  }
  graph.output("y", concat(parts, 0));
  return graph.finish().value();
}

Graph concat_of(std::int64_t count, const Shape& shape) {
  GraphBuilder graph("concat");
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(graph.input("x" + std::to_string(i), DType::kF32, shape));
  graph.output("y", concat(parts, 0));
  return graph.finish().value();
}

Graph concat_symbolic_columns(std::int64_t count) { return concat_of(count, {3, Dim("m")}); }
Graph concat_symbolic_rows(std::int64_t count) { return concat_of(count, {Dim("n"), Dim("m")}); }

/// A symbol for each operand, so that the offset of the last one is a sum of all the others.
Graph concat_of_symbols(std::int64_t count) {
  GraphBuilder graph("concat");
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    parts.push_back(graph.input("x" + number, DType::kF32, {Dim("n" + number), Dim("m")}));
  }
  graph.output("y", concat(parts, 0));
  return graph.finish().value();
}

/// Outputs 0 to count - 1, all computed from one input.
template <class F>
Graph outputs_of(std::int64_t count, Shape shape, F&& output) {
  GraphBuilder graph("outputs");
  const Tensor x = graph.input("x", DType::kF32, std::move(shape));
  for (std::int64_t i = 0; i < count; ++i) graph.output("y" + std::to_string(i), output(x, i));
  return graph.finish().value();
}

Graph add_constants(std::int64_t count) {
  return outputs_of(count, {64}, [](Tensor x, std::int64_t i) { return x + static_cast<double>(i); });
}

Graph slices(std::int64_t count) {
  return outputs_of(count, {count + 16}, [](Tensor x, std::int64_t i) { return slice(x, {i}, {i + 16}); });
}

Graph symbolic_slices(std::int64_t count) {
  const Dim n = Dim("n").at_least(count);
  return outputs_of(count, {n, 7}, [&](Tensor x, std::int64_t i) { return exp(slice(x, {i, 0}, {n, 7})); });
}

Graph pads(std::int64_t count) {
  return outputs_of(count, {16},
                    [](Tensor x, std::int64_t i) { return pad(x, {i % 97}, {97 - i % 97}, 0.5 * double(i)); });
}

Graph symbolic_pads(std::int64_t count) {
  return outputs_of(count, {Dim("n"), 7}, [](Tensor x, std::int64_t i) {
    return pad(x, {i % 97 + 1, 0}, {97 - i % 97, 0}, 0.5 * double(i));
  });
}

Graph reductions(std::int64_t count) {
  return outputs_of(count, {count + 16},
                    [](Tensor x, std::int64_t i) { return reduce_sum(slice(x, {i}, {i + 16}), {0}); });
}

/// `count` matrix products, each of different rows, multiplied by a different number.
Graph products(std::int64_t count) {
  GraphBuilder graph("products");
  const Tensor x = graph.input("x", DType::kF32, {count + 16, 16}), y = graph.input("y", DType::kF32, {16, 16});
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor rows = slice(x, {i, 0}, {i + 16, 16});
    graph.output("y" + std::to_string(i), matmul(rows, y) * static_cast<double>(i + 1));
  }
  return graph.finish().value();
}

/// Values that each depend on the one before. Reshapes keep them from fusing into one kernel.
Graph chain(std::int64_t count) {
  GraphBuilder graph("chain");
  Tensor x = graph.input("x", DType::kF32, {16});
  for (std::int64_t i = 0; i < count; ++i) {
    x = reshape(x, i % 2 == 0 ? Shape{4, 4} : Shape{16}) + static_cast<double>(i % 1000);
  }
  graph.output("y", x);
  return graph.finish().value();
}

/// Values that all live until one sum reads them.
Graph fan(std::int64_t count) {
  GraphBuilder graph("fan");
  const Tensor x = graph.input("x", DType::kF32, {16});
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(exp(x + static_cast<double>(i)));
  graph.output("y", reduce_sum(concat(parts, 0), {0}));
  return graph.finish().value();
}

/// Like fan(), except that a run binds the extent, and that there is no sum.
Graph symbolic_fan(std::int64_t count) {
  GraphBuilder graph("symbolic_fan");
  const Tensor x = graph.input("x", DType::kF32, {Dim("rows").at_least(1).at_most(4096)});
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(exp(x + static_cast<double>(i)));
  graph.output("y", concat(parts, 0));
  return graph.finish().value();
}

void compiles(benchmark::State& state, Graph (*make)(std::int64_t)) {
  auto context = std::make_shared<Context>(*make_default_context());
  context->cache = nullptr;
  CompileReport last;
  std::chrono::nanoseconds second_session{};
  for (auto _ : state) {
    state.PauseTiming();
    Graph graph = make(state.range(0));
    state.ResumeTiming();
    const Result<Program> program = compile(std::move(graph), {.context = context});
    if (!program.ok()) return state.SkipWithError(program.status().message().c_str());
    const Result<Session> session = Session::create(*program);
    if (!session.ok()) return state.SkipWithError(session.status().message().c_str());
    state.PauseTiming();
    last = program->report();
    const auto begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(Session::create(*program));
    second_session = std::chrono::steady_clock::now() - begin;
    state.ResumeTiming();
  }
  const auto add = [&](const char* name, std::chrono::nanoseconds time) {
    state.counters[name] = std::chrono::duration<double, std::milli>(time).count();
  };
  add("ms_passes", last.passes);
  add("ms_forming", last.forming);
  add("ms_lowering", last.lowering);
  add("ms_scheduling", last.scheduling);
  add("ms_code", last.code);
  add("ms_load", last.load);
  add("ms_second_session", second_session);
  state.counters["kernels"] = static_cast<double>(last.num_kernels);
}

#define MILLRACE_MANY(make)               \
  BENCHMARK_CAPTURE(compiles, make, make) \
      ->Arg(1000)                         \
      ->Arg(5000)                         \
      ->Arg(10'000)                       \
      ->Arg(20'000)                       \
      ->Unit(benchmark::kMillisecond)     \
      ->Iterations(1)
MILLRACE_MANY(concat_inputs);
MILLRACE_MANY(concat_symbolic_columns);
MILLRACE_MANY(concat_symbolic_rows);
MILLRACE_MANY(add_constants);
MILLRACE_MANY(slices);
MILLRACE_MANY(symbolic_slices);
MILLRACE_MANY(pads);
MILLRACE_MANY(symbolic_pads);
MILLRACE_MANY(reductions);
MILLRACE_MANY(products);
MILLRACE_MANY(chain);
MILLRACE_MANY(fan);
MILLRACE_MANY(symbolic_fan);
#undef MILLRACE_MANY
// The compiler refuses a size that is a sum of 500 or more terms.
BENCHMARK_CAPTURE(compiles, concat_of_symbols, concat_of_symbols)
    ->Arg(100)
    ->Arg(200)
    ->Arg(400)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace millrace
