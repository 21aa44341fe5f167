// SPDX-License-Identifier: Apache-2.0
// Counts the work of sorts, TopK and scans on a simulated GPU; ignore the times. "reads" and "writes" are buffer bytes
// per byte of the input; conflicts and instructions are per element of the input.
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "millrace/hal/device.h"
#include "millrace/hal/sim_device.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

using Build = void (*)(GraphBuilder&, Tensor x);

void topk_50(GraphBuilder& graph, Tensor x) {
  const auto [values, indices] = topk(x, 50);
  graph.output("values", values);
  graph.output("indices", indices);
}
void topk_50_values(GraphBuilder& graph, Tensor x) { graph.output("values", topk(x, 50).values); }
void topk_5000(GraphBuilder& graph, Tensor x) {
  const auto [values, indices] = topk(x, 5000);
  graph.output("values", values);
  graph.output("indices", indices);
}
void topk_8(GraphBuilder& graph, Tensor x) {
  const auto [values, indices] = topk(x, 8);
  graph.output("values", values);
  graph.output("indices", indices);
}
void sort_values(GraphBuilder& graph, Tensor x) { graph.output("values", sort(x).values); }
void argsort(GraphBuilder& graph, Tensor x) { graph.output("indices", sort(x).indices); }
void scan(GraphBuilder& graph, Tensor x) { graph.output("sums", cumulative_sum(x)); }
void largest(GraphBuilder& graph, Tensor x) { graph.output("largest", reduce_max(x, {1})); }

/// Counts one run of the graph on rows x n random elements.
void count(benchmark::State& state, Build build, const char* target, DType dtype) {
  const std::int64_t rows = state.range(0), n = state.range(1);
  GraphBuilder builder("counted");
  build(builder, builder.input("x", dtype, {rows, n}));
  const auto device = create_sim_device(TargetSpec::parse(target).value()).value();
  CompileOptions options;
  options.on_device = device;
  const Program program = compile(builder.finish().value(), options).value();
  Session session = Session::create(program).value();
  std::mt19937 random(7);
  std::vector<std::uint32_t> x(static_cast<std::size_t>(rows * n));
  for (std::uint32_t& bits : x) bits = random() >> 3;  // no NaN if the bits are floats
  std::vector<std::vector<std::byte>> outputs;
  std::vector<TensorBinding> bindings;
  for (const Argument& output : program.outputs()) {
    const auto elements = static_cast<std::size_t>(output.type.shape.num_elements().constant());
    outputs.emplace_back(elements * size_bytes(output.type.dtype));
    bindings.push_back(TensorBinding{outputs.back().data(), outputs.back().size()});
  }
  const TensorBinding inputs[] = {{x.data(), x.size() * sizeof x[0]}};
  for (auto _ : state) {
    if (const Status status = session.run(inputs, bindings); !status.ok())
      state.SkipWithError(status.message().c_str());
  }
  SimCounts all;
  for (const SimDispatch& dispatch : device->dispatches()) all += dispatch.counts;
  const auto elements = static_cast<double>(x.size());
  const double bytes = elements * sizeof x[0];
  state.counters["dispatches"] = static_cast<double>(device->dispatches().size());
  state.counters["reads"] = static_cast<double>(all.buffer_bytes_read) / bytes;
  state.counters["writes"] = static_cast<double>(all.buffer_bytes_written) / bytes;
  state.counters["conflicts"] = static_cast<double>(all.bank_conflicts) / elements;
  state.counters["barriers"] = static_cast<double>(all.barriers);
  state.counters["instructions"] = static_cast<double>(all.lane_instructions) / elements;
}

void add(const char* name, Build build, DType dtype, std::int64_t rows, std::int64_t n) {
  for (const char* target : {"sim:gfx1100", "sim:gfx90a"}) {
    const std::string title = std::string(name) + "/" + std::string(to_text(dtype)) + "/" + target;
    benchmark::RegisterBenchmark(title.c_str(), count, build, target, dtype)
        ->Args({rows, n})
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
}

const bool kAdded = [] {
  add("topk_50", topk_50, DType::kF32, 1, 32000);
  add("topk_50_values", topk_50_values, DType::kF32, 1, 32000);
  add("topk_50", topk_50, DType::kF32, 1, 131072);
  add("topk_5000", topk_5000, DType::kF32, 1, 1 << 20);
  add("topk_8", topk_8, DType::kF32, 4096, 256);
  add("sort", sort_values, DType::kF32, 64, 1024);
  add("sort", sort_values, DType::kU32, 1, 1 << 20);
  add("sort", sort_values, DType::kF32, 1, 1 << 20);
  add("argsort", argsort, DType::kF32, 1, 1 << 20);
  add("scan", scan, DType::kF32, 1, 1 << 20);
  add("scan", scan, DType::kF32, 512, 1000);
  add("reduce_max", largest, DType::kF32, 64, 16384);
  return true;
}();

}  // namespace
}  // namespace millrace
