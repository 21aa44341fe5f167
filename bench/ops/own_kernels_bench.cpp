// SPDX-License-Identifier: Apache-2.0
// The kernels of examples/own_kernels next to plain loops at -O3, for this processor and for AVX2 (x86-64-v3), and the
// example's norm next to the library's own.
#include <cstring>

#include "bench/ops/graph_case.h"
#include "examples/own_kernels/kernels.h"
#include "examples/own_kernels/plain.h"

namespace millrace::bench {
namespace {

using own::PlainLoops;

struct Operand {
  Sizes shape;
  DType dtype = DType::kF32;
};
using Inputs = std::vector<const void*>;
using Outputs = std::vector<void*>;

struct OwnCase {
  std::string name;
  std::vector<Operand> operands, results;
  std::function<std::vector<Tensor>(GraphBuilder&, const std::vector<Tensor>&)> build;
  void (*plain)(const PlainLoops&, const Inputs&, const Outputs&) = nullptr;  // null: not compared
};

const float* f32(const void* data) { return static_cast<const float*>(data); }
float* f32(void* data) { return static_cast<float*>(data); }

constexpr std::int64_t kVocabulary = 10000;

std::vector<OwnCase> cases() {
  using Tensors = std::vector<Tensor>;
  const Operand rows{{1024, 1024}}, row{{1024}}, picture{{1024, 1024}};
  std::vector<OwnCase> all;
  all.push_back({"rms_norm",
                 {rows, row},
                 {rows},
                 [](auto& g, const Tensors& x) { return Tensors{own::rms_norm(g, x[0], x[1])}; },
                 [](const PlainLoops& loops, const Inputs& in, const Outputs& out) {
                   loops.rms_norm(f32(in[0]), f32(in[1]), f32(out[0]), 1024, 1024);
                 }});
  all.push_back({"rms_norm_of_the_library", {rows, row}, {rows}, [](auto&, const Tensors& x) {
                   return Tensors{rms_norm(x[0], x[1])};
                 }});
  all.push_back({"median_filter",
                 {picture},
                 {{{1022, 1022}}},
                 [](auto& g, const Tensors& x) { return Tensors{own::median_filter(g, x[0])}; },
                 [](const PlainLoops& loops, const Inputs& in, const Outputs& out) {
                   loops.median_filter(f32(in[0]), f32(out[0]), 1024, 1024);
                 }});
  all.push_back({"diffuse",
                 {picture},
                 {picture},
                 [](auto& g, const Tensors& x) { return Tensors{own::diffuse(g, x[0], 0.1)}; },
                 [](const PlainLoops& loops, const Inputs& in, const Outputs& out) {
                   loops.diffuse(f32(in[0]), f32(out[0]), 1024, 1024, 0.1f);
                 }});
  all.push_back({"quantise",
                 {rows},
                 {{{1024, 1024}, DType::kI8}, {{1024, 32}}},
                 [](auto& g, const Tensors& x) {
                   const KernelResults results = own::quantise(g, x[0]);
                   return Tensors{results[0], results[1]};
                 },
                 [](const PlainLoops& loops, const Inputs& in, const Outputs& out) {
                   loops.quantise(f32(in[0]), static_cast<std::int8_t*>(out[0]), f32(out[1]), 1024, 1024);
                 }});
  all.push_back({"centroid",
                 {{{16, 256, 256}}},
                 {{{16}}, {{16}}},
                 [](auto& g, const Tensors& x) {
                   const KernelResults results = own::centroid(g, x[0]);
                   return Tensors{results[0], results[1]};
                 },
                 [](const PlainLoops& loops, const Inputs& in, const Outputs& out) {
                   loops.centroid(f32(in[0]), f32(out[0]), f32(out[1]), 16, 256, 256);
                 }});
  all.push_back({"embedding_bag",
                 {{{kVocabulary, 64}}, {{512, 16}, DType::kI64}},
                 {{{512, 64}}},
                 [](auto& g, const Tensors& x) { return Tensors{own::embedding_bag(g, x[0], x[1])}; },
                 [](const PlainLoops& loops, const Inputs& in, const Outputs& out) {
                   loops.embedding_bag(f32(in[0]), static_cast<const std::int64_t*>(in[1]), f32(out[0]), 512, 16, 64);
                 }});
  all.push_back({"nearest_centre",
                 {{{4096, 3}}, {{256, 3}}},
                 {{{4096}, DType::kI64}},
                 [](auto& g, const Tensors& x) { return Tensors{own::nearest_centre(g, x[0], x[1])}; },
                 [](const PlainLoops& loops, const Inputs& in, const Outputs& out) {
                   loops.nearest_centre(f32(in[0]), f32(in[1]), static_cast<std::int64_t*>(out[0]), 4096, 256);
                 }});
  return all;
}

/// The memory of the operands in each of kInputs runs, and of the results. Ids are below kVocabulary.
struct Memory {
  explicit Memory(const OwnCase& one) {
    for (const Operand& operand : one.operands) {
      operands.push_back(make_inputs(operand.shape, operand.dtype));
      if (operand.dtype != DType::kI64) continue;
      for (const Lines& lines : operands.back()) {
        for (std::int64_t i = 0; i < num_elements(operand.shape); ++i) {
          std::uint64_t id = 0;
          std::byte* const at = lines.get() + static_cast<std::size_t>(i) * sizeof id;
          std::memcpy(&id, at, sizeof id);
          id %= static_cast<std::uint64_t>(kVocabulary);
          std::memcpy(at, &id, sizeof id);
        }
      }
    }
    for (const Operand& result : one.results) results.push_back(allocate(bytes_of(result.shape, result.dtype)));
  }
  std::vector<std::vector<Lines>> operands;
  std::vector<Lines> results;
};

void run_ours(benchmark::State& state, const OwnCase& one, const std::string& device) {
  GraphBuilder graph("own");
  std::vector<Tensor> inputs;
  for (const Operand& operand : one.operands) {
    const Shape shape(std::vector<SizeExpr>(operand.shape.begin(), operand.shape.end()));
    inputs.push_back(graph.input("x" + std::to_string(inputs.size()), operand.dtype, shape));
  }
  const std::vector<Tensor> outputs = one.build(graph, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) graph.output("y" + std::to_string(i), outputs[i]);
  const Result<Program> program = compile(graph.finish().value(), {.device = device});
  if (!program.ok()) return state.SkipWithError(program.status().message().c_str());
  Session session = Session::create(*program).value();
  const Memory memory(one);
  std::size_t iteration = 0;
  std::vector<TensorBinding> in(one.operands.size()), out;
  for (std::size_t i = 0; i < one.results.size(); ++i) {
    out.push_back({memory.results[i].get(), bytes_of(one.results[i].shape, one.results[i].dtype)});
  }
  for (auto _ : state) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Operand& operand = one.operands[i];
      in[i] = {memory.operands[i][iteration % kInputs].get(), bytes_of(operand.shape, operand.dtype)};
    }
    ++iteration;
    if (const Status status = session.run(in, out); !status.ok()) return state.SkipWithError(status.message().c_str());
  }
}

void run_plain(benchmark::State& state, const OwnCase& one, const PlainLoops& loops) {
  const Memory memory(one);
  std::size_t iteration = 0;
  Inputs in(one.operands.size());
  Outputs out;
  for (const Lines& result : memory.results) out.push_back(result.get());
  for (auto _ : state) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = memory.operands[i][iteration % kInputs].get();
    ++iteration;
    one.plain(loops, in, out);
    benchmark::ClobberMemory();
  }
}

const int kRegistered = [] {
  for (const OwnCase& one : cases()) {
    for (const char* device : {"cpu:threads=1", "cpu:avx2,threads=1"}) {
      benchmark::RegisterBenchmark((one.name + "/" + device).c_str(),
                                   [one, device](benchmark::State& state) { run_ours(state, one, device); });
    }
    if (one.plain == nullptr) continue;
    for (const auto& [name, loops] :
         {std::pair{"/plain_native", &own::kNativeLoops}, {"/plain_avx2", &own::kAvx2Loops}}) {
      benchmark::RegisterBenchmark((one.name + name).c_str(),
                                   [one, loops = loops](benchmark::State& state) { run_plain(state, one, *loops); });
    }
  }
  return 0;
}();

}  // namespace
}  // namespace millrace::bench
