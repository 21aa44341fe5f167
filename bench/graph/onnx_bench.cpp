// SPDX-License-Identifier: Apache-2.0
// Imports ONNX models: generated ones of 100 to 10,000 nodes, whose import times must grow in proportion to the nodes,
// and those in the folder that MILLRACE_MODELS names. The latter are also compiled, without a cache and from one.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "millrace/graph/onnx.h"
#include "millrace/millrace.h"
#include "tests/graph/import/onnx/model_writer.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

std::string numbered(const char* name, std::int64_t i) { return name + std::to_string(i); }

/// A model from f32[n, 8] to f32[n, 8], with these nodes.
SharedBytes model_of(std::vector<TestNode> nodes) {
  const std::string last = nodes.back().outputs[0];
  return onnx_model({.nodes = std::move(nodes),
                     .inputs = {onnx_value("x", kOnnxFloat, {"n", 8})},
                     .outputs = {onnx_value(last, kOnnxFloat, {"n", 8})},
                     .initializers = {onnx_tensor("bias", {8}, std::vector<float>(8, 0.5f)),
                                      onnx_tensor("zero", {1}, std::vector<std::int64_t>{0}),
                                      onnx_tensor("two_four", {2}, std::vector<std::int64_t>{2, 4}),
                                      onnx_tensor("rest", {1}, std::vector<std::int64_t>{-1})}})
      .file();
}

/// A chain of elementwise nodes: each reads the result of the node before it. Layers of four repeat.
SharedBytes elementwise_chain(std::int64_t num_nodes) {
  constexpr const char* kOps[] = {"Add", "Relu", "Mul", "Tanh"};
  std::vector<TestNode> nodes;
  std::string from = "x";
  for (std::int64_t i = 0; i < num_nodes; ++i) {
    const char* op = kOps[i % 4];
    const std::string layer = "/layers." + std::to_string(i / 4) + "/";
    TestNode node{op, {from}, {layer + op + "_output_0"}, {}, layer + op};
    if (i % 2 == 0) node.inputs.emplace_back("bias");
    from = node.outputs[0];
    nodes.push_back(std::move(node));
  }
  return model_of(std::move(nodes));
}

/// The nodes that exporters write to reshape a tensor by its own sizes: Shape, Gather, Concat and Reshape.
SharedBytes shape_arithmetic(std::int64_t num_nodes) {
  std::vector<TestNode> nodes;
  std::string from = "x";
  for (std::int64_t i = 0; i < num_nodes / 4; ++i) {
    const std::string shape = numbered("shape", i), rows = numbered("rows", i), wanted = numbered("wanted", i);
    nodes.push_back({"Shape", {from}, {shape}});
    nodes.push_back({"Gather", {shape, "zero"}, {rows}});
    nodes.push_back({"Concat", {rows, i % 2 == 0 ? "two_four" : "rest"}, {wanted}, {onnx_int("axis", 0)}});
    nodes.push_back({"Reshape", {from, wanted}, {numbered("y", i)}});
    from = numbered("y", i);
  }
  return model_of(std::move(nodes));
}

/// Integers that are computed from an input: each is a candidate for folding, and none of them can be folded.
SharedBytes integer_chain(std::int64_t num_nodes) {
  std::vector<TestNode> nodes = {{"Cast", {"x"}, {"i0"}, {onnx_int("to", kOnnxInt64)}}};
  for (std::int64_t i = 1; i < num_nodes; ++i) {
    nodes.push_back({"Add", {numbered("i", i - 1), "rest"}, {numbered("i", i)}});
  }
  nodes.push_back({"Cast", {nodes.back().outputs[0]}, {"y"}, {onnx_int("to", kOnnxFloat)}});
  return model_of(std::move(nodes));
}

void import_made(benchmark::State& state, SharedBytes (*make)(std::int64_t)) {
  const SharedBytes bytes = make(state.range(0));
  for (auto _ : state) {
    const Result<OnnxModel> model = import_onnx("made", bytes);
    if (!model.ok()) return state.SkipWithError(model.status().message().c_str());
  }
  state.SetComplexityN(state.range(0));
  state.counters["per_node"] = benchmark::Counter(static_cast<double>(state.iterations() * state.range(0)),
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
#define MILLRACE_MADE(make) \
  BENCHMARK_CAPTURE(import_made, make, make)->Arg(100)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond)
MILLRACE_MADE(elementwise_chain);
MILLRACE_MADE(shape_arithmetic);
MILLRACE_MADE(integer_chain);
#undef MILLRACE_MADE

void import_file(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    const Result<OnnxModel> model = import_onnx(path);
    if (!model.ok()) return state.SkipWithError(model.status().message().c_str());
  }
}

/// Imports and compiles for two threads, in a new context, which has no kernels in memory yet.
Status load(const std::string& path, const std::string& cache) {
  ContextOptions context;
  context.cache_directory = cache;
  context.read_only_cache_directories.clear();
  const Result<OnnxModel> model = import_onnx(path);
  if (!model.ok()) return model.status();
  const Result<Program> program =
      compile(model->graph, {.device = "cpu:threads=2", .context = make_default_context(context)});
  return program.ok() ? Session::create(*program).status() : program.status();
}

/// `cache` is the folder of the kernel cache, empty for none.
void compile_file(benchmark::State& state, const std::string& path, const std::string& cache) {
  Status status = cache.empty() ? Status() : load(path, cache);
  for (auto _ : state) {
    if (status.ok()) status = load(path, cache);
    if (!status.ok()) return state.SkipWithError(status.message().c_str());
  }
}

/// The folder of the kernel cache, which is removed when the process ends.
struct CacheFolder {
  CacheFolder() {
    std::string name = (fs::temp_directory_path() / "millrace_onnx_bench_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  ~CacheFolder() {
    std::error_code error;
    if (!path.empty()) fs::remove_all(path, error);
  }
  std::string path;
};

const bool kAdded = [] {
  const char* folder = std::getenv("MILLRACE_MODELS");
  std::error_code error;
  if (folder == nullptr || !fs::is_directory(folder, error)) return false;
  static const CacheFolder cache;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    const std::string name = file.stem().string(), path = file.string();
    benchmark::RegisterBenchmark(("import/" + name).c_str(), import_file, path)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("compile/" + name).c_str(), compile_file, path, "")
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1)
        ->UseRealTime();
    benchmark::RegisterBenchmark(("compile_from_cache/" + name).c_str(), compile_file, path, cache.path)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace millrace
