// SPDX-License-Identifier: Apache-2.0
// Counts the instructions that the machine code of important kernels executes, per kernel and per element of the
// graph's input. Run this program before and after a change of emitted code, and compare. The rows "run" and
// "run_unchecked" time the executor itself: their items_per_second are wave instructions.
#include <memory>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "millrace/isa/driver.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

using Build = void (*)(GraphBuilder&);

Tensor input(GraphBuilder& graph, const char* name, DType dtype, std::int64_t rows, std::int64_t n) {
  return graph.input(name, dtype, {rows, n});
}

void topk_50(GraphBuilder& graph) {
  const auto [values, indices] = topk(input(graph, "x", DType::kF32, 1, 32000), 50);
  graph.output("values", values);
  graph.output("indices", indices);
}
void topk_8(GraphBuilder& graph) {
  const auto [values, indices] = topk(input(graph, "x", DType::kF32, 64, 256), 8);
  graph.output("values", values);
  graph.output("indices", indices);
}
void sort_4x4096(GraphBuilder& graph) { graph.output("values", sort(input(graph, "x", DType::kF32, 4, 4096)).values); }
void sort_100k(GraphBuilder& graph) { graph.output("values", sort(input(graph, "x", DType::kF32, 1, 100'000)).values); }
void softmax_256x1000(GraphBuilder& graph) { graph.output("y", softmax(input(graph, "x", DType::kF32, 256, 1000), 1)); }
void dot_128(GraphBuilder& graph) {
  const Tensor x = input(graph, "x", DType::kF16, 128, 128), y = input(graph, "y", DType::kF16, 128, 128);
  graph.output("z", matmul(x, y));
}

struct Case {
  const char* name;
  Build build;
};
constexpr Case kCases[] = {{"topk_50/1x32000", topk_50},           {"topk_8/64x256", topk_8},
                           {"sort/4x4096", sort_4x4096},           {"sort/1x100000", sort_100k},
                           {"softmax/256x1000", softmax_256x1000}, {"dot_f16/128x128x128", dot_128}};

/// A graph on a device, with its inputs and outputs.
class Run {
 public:
  Run(const Case& row, const std::string& device) {
    device_ = open_isa_device(DeviceSpec::parse(device).value()).value();
    GraphBuilder builder("counted");
    row.build(builder);
    CompileOptions options;
    options.on_device = device_;
    program_ = std::make_unique<Program>(compile(builder.finish().value(), options).value());
    session_ = std::make_unique<Session>(Session::create(*program_).value());
    std::mt19937 random(7);
    for (const Argument& argument : program_->inputs()) {
      inputs_.push_back(reserve(argument));
      // Floats of moderate size without NaN: each word is one f32 or two f16.
      for (std::size_t i = 0; i + 1 < memory_.back().size(); i += 2) {
        memory_.back()[i] = static_cast<std::byte>(random() & 0xff);
        memory_.back()[i + 1] = static_cast<std::byte>(0x38 + (random() & 0x83));
      }
    }
    for (const Argument& argument : program_->outputs()) outputs_.push_back(reserve(argument));
    num_elements_ = static_cast<double>(program_->inputs()[0].type.shape.num_elements().constant());
  }

  Status run() { return session_->run(inputs_, outputs_); }
  std::vector<IsaDispatch> dispatches() const { return device_->dispatches(); }
  double num_elements() const { return num_elements_; }

 private:
  TensorBinding reserve(const Argument& argument) {
    const auto elements = static_cast<std::size_t>(argument.type.shape.num_elements().constant());
    memory_.emplace_back(elements * size_bytes(argument.type.dtype));
    return {memory_.back().data(), memory_.back().size()};
  }

  std::shared_ptr<IsaDevice> device_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Session> session_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<TensorBinding> inputs_, outputs_;
  double num_elements_ = 1;
};

void report(benchmark::State& state, const IsaCounts& counts, double num_elements) {
  for (auto _ : state) benchmark::DoNotOptimize(counts);
  const auto per_element = [&](const char* name, std::uint64_t count) {
    state.counters[name] = static_cast<double>(count) / num_elements;
  };
  per_element("lanes", counts.lane_instructions);
  per_element("vector", counts.vector_instructions);
  per_element("scalar", counts.scalar_instructions + counts.scalar_loads);
  per_element("global", counts.global_instructions);
  per_element("local", counts.local_instructions);
  per_element("waits", counts.waits);
  per_element("branches", counts.branches);
  per_element("bytes", counts.global_bytes_read + counts.global_bytes_written);
  per_element("local_bytes", counts.local_bytes_read + counts.local_bytes_written);
  per_element("conflicts", counts.bank_conflicts);
  state.counters["barriers"] = static_cast<double>(counts.barriers);
}

void execute(benchmark::State& state, Run& run) {
  std::uint64_t num_instructions = 0;
  for (auto _ : state) {
    if (const Status status = run.run(); !status.ok()) state.SkipWithError(status.message().c_str());
    for (const IsaDispatch& dispatch : run.dispatches()) num_instructions += dispatch.counts.wave_instructions();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(num_instructions));
}

void add_case(const Case& row, const std::string& gfx) {
  const auto checked = std::make_shared<Run>(row, "isa:" + gfx);
  const auto unchecked = std::make_shared<Run>(row, "isa:" + gfx + ",checks=off");
  const std::string title = fmt::format("{}/{}", row.name, gfx);
  if (const Status status = checked->run(); !status.ok()) {
    fmt::print(stderr, "{}: {}\n", title, status.message());
    return;
  }
  std::size_t number = 0;
  for (const IsaDispatch& dispatch : checked->dispatches()) {
    const std::string name = fmt::format("{}/{}:{}", title, number++, dispatch.kernel);
    benchmark::RegisterBenchmark(name.c_str(), [counts = dispatch.counts, checked](benchmark::State& state) {
      report(state, counts, checked->num_elements());
    })->Iterations(1);
  }
  benchmark::RegisterBenchmark((title + "/run").c_str(), [checked](benchmark::State& state) {
    execute(state, *checked);
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark((title + "/run_unchecked").c_str(), [unchecked](benchmark::State& state) {
    execute(state, *unchecked);
  })->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const millrace::Case& row : millrace::kCases) {
    for (const char* gfx : {"gfx1100", "gfx90a"}) millrace::add_case(row, gfx);
  }
  benchmark::RunSpecifiedBenchmarks();
}
