// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cblas.h>
#include <memory>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/ops/peers/eigen_dot.h"
#include "hal/host/host_buffer.h"
#include "millrace/hal/device.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/loop_kernel_builder.h"

// f32 dot on one thread: ours, compiled by xbyak and run by the inline device, compared with Eigen and OpenBLAS in one
// process. Every run of a product uses different inputs, as in an application. Run with
// --benchmark_enable_random_interleaving=true --benchmark_repetitions=9 to get stable ratios on a noisy machine.

namespace millrace {
namespace {

struct DotShape {
  std::int64_t m, n, k;
  double flop() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

/// C[m, n] = sum over k of A[m, k] * B[k, n], row-major.
LoopKernel make_dot(const DotShape& shape) {
  LoopKernelBuilder kernel("dot");
  const AffineIndex m = kernel.parallel("m", shape.m), n = kernel.parallel("n", shape.n);
  const AffineIndex k = kernel.reduction("k", shape.k);
  BodyBuilder& term = kernel.term();
  const BodyValue a = kernel.load(term, kernel.operand("a", {DType::kF32, {shape.m, shape.k}}), {m, k});
  const BodyValue b = kernel.load(term, kernel.operand("b", {DType::kF32, {shape.k, shape.n}}), {k, n});
  const BodyValue sum = kernel.reduce(ReductionKind::kSum, term.mul(a, b));
  kernel.store("c", {DType::kF32, {shape.m, shape.n}}, {m, n}, sum);
  return kernel.finish().value();
}

/// Up to 16 sets of operands, with a total of at most 256 MiB, which exceeds every cache. Made on the first call of
/// next().
class Operands {
 public:
  explicit Operands(const DotShape& shape) : shape_(shape) {}

  struct Set {
    std::shared_ptr<Buffer> a, b, c;
  };
  const Set& next() {
    if (sets_.empty()) make_sets();
    return sets_[position_++ % sets_.size()];
  }

 private:
  void make_sets() {
    constexpr std::int64_t kMaxBytes = 256 << 20;
    const std::int64_t num_a = shape_.m * shape_.k, num_b = shape_.k * shape_.n, num_c = shape_.m * shape_.n;
    const std::int64_t count = std::clamp<std::int64_t>(kMaxBytes / ((num_a + num_b + num_c) * 4), 2, 16);
    for (std::int64_t i = 0; i < count; ++i) sets_.push_back({make(num_a), make(num_b), make(num_c)});
  }

  std::shared_ptr<Buffer> make(std::int64_t num_elements) {
    auto buffer = allocate_host_buffer(static_cast<std::size_t>(num_elements) * 4).value();
    std::uniform_real_distribution<float> distribution(-1, 1);
    for (std::int64_t i = 0; i < num_elements; ++i)
      static_cast<float*>(buffer->host_address())[i] = distribution(random_);
    return buffer;
  }

  DotShape shape_;
  std::mt19937 random_{1};
  std::vector<Set> sets_;
  std::size_t position_ = 0;
};

float* floats(const std::shared_ptr<Buffer>& buffer) { return static_cast<float*>(buffer->host_address()); }

/// Runs `dot` on one set of operands after another.
template <class Dot>
void measure(benchmark::State& state, Operands& operands, const DotShape& shape, Dot&& dot) {
  for (int i = 0; i < 16; ++i) dot(operands.next());
  for (auto _ : state) dot(operands.next());
  state.counters["GFLOP/s"] =
      benchmark::Counter(shape.flop() * static_cast<double>(state.iterations()) * 1e-9, benchmark::Counter::kIsRate);
}

/// Our kernel as one recorded dispatch.
class MillraceDot {
 public:
  MillraceDot(const DotShape& shape, const TargetSpec& spec) : device_(create_cpu_device(spec).value()) {
    const auto generator = make_xbyak_generator();
    const PlannedKernel planned = generator->plan(make_dot(shape), spec).value();
    const ExecutableImage image = generator->emit(planned, spec).value();
    CommandList list;
    DispatchCommand dispatch{.kernel = list.kernels.push_back(image.info),
                             .num_groups = list.add_size(planned.num_groups)};
    const SizeIndex zero = list.add_size(0);
    const std::int64_t bytes[] = {shape.m * shape.k * 4, shape.k * shape.n * 4, shape.m * shape.n * 4};
    for (std::size_t i = 0; i < 3; ++i) {
      const SizeIndex size = list.add_size(bytes[i]);
      const BindingKind kind = i < 2 ? BindingKind::kInput : BindingKind::kOutput;
      dispatch.buffers.push_back({list.bindings.push_back({.kind = kind, .size_bytes = size}), zero, size});
    }
    list.commands.emplace_back(dispatch);
    for (const SizeExpr& size : list.sizes) sizes_.push_back(size.constant());
    recording_ = device_->record(list, device_->load({&image, 1}).value()).value();
  }

  Status run(const Operands::Set& set) {
    const BufferBinding bindings[] = {{set.a->host_address(), set.a->size_bytes()},
                                      {set.b->host_address(), set.b->size_bytes()},
                                      {set.c->host_address(), set.c->size_bytes()}};
    return device_->submit(*recording_, {.bindings = bindings, .sizes = sizes_});
  }

 private:
  std::shared_ptr<Device> device_;
  std::vector<std::int64_t> sizes_;
  std::shared_ptr<Recording> recording_;
};

void millrace_dot(benchmark::State& state, std::shared_ptr<Operands> operands, DotShape shape, TargetSpec spec) {
  MillraceDot dot(shape, spec);
  measure(state, *operands, shape, [&](const Operands::Set& set) {
    if (!dot.run(set).ok()) state.SkipWithError("submit failed");
  });
}

void openblas_dot(benchmark::State& state, std::shared_ptr<Operands> operands, DotShape shape) {
  const auto m = static_cast<int>(shape.m), n = static_cast<int>(shape.n), k = static_cast<int>(shape.k);
  measure(state, *operands, shape, [&](const Operands::Set& set) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, floats(set.a), k, floats(set.b), n, 0,
                floats(set.c), n);
  });
}

void eigen_dot(benchmark::State& state, std::shared_ptr<Operands> operands, DotShape shape) {
  measure(state, *operands, shape, [&](const Operands::Set& set) {
    peers::eigen_dot(floats(set.a), floats(set.b), floats(set.c), shape.m, shape.n, shape.k);
  });
}

/// From a LoopKernel to an image: the cost of the first compile of a shape, without mapping the code's pages.
void compile_dot(benchmark::State& state, DotShape shape, TargetSpec spec) {
  const auto generator = make_xbyak_generator();
  const LoopKernel kernel = make_dot(shape);
  for (auto _ : state) {
    const PlannedKernel planned = generator->plan(kernel, spec).value();
    benchmark::DoNotOptimize(generator->emit(planned, spec).value());
  }
}

void register_shape(const DotShape& shape) {
  const std::string suffix =
      "/" + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
  const auto operands = std::make_shared<Operands>(shape);
  for (const IsaLevel isa : host_isa_levels()) {
    const TargetSpec spec{"cpu", isa};
    if (!spec.has_fma()) continue;
    const std::string name(to_text(isa));
    benchmark::RegisterBenchmark(("millrace_" + name + suffix).c_str(), millrace_dot, operands, shape, spec);
    benchmark::RegisterBenchmark(("compile_" + name + suffix).c_str(), compile_dot, shape, spec);
  }
  benchmark::RegisterBenchmark(("openblas" + suffix).c_str(), openblas_dot, operands, shape);
  benchmark::RegisterBenchmark(("eigen" + suffix).c_str(), eigen_dot, operands, shape);
}

}  // namespace
}  // namespace millrace

extern "C" void openblas_set_num_threads(int);

int main(int argc, char** argv) {
  openblas_set_num_threads(1);
  for (const std::int64_t size : {16, 33, 64, 100, 128, 256, 512, 1024, 2048}) {
    millrace::register_shape({size, size, size});
  }
  for (const millrace::DotShape& shape : {millrace::DotShape{1, 3072, 768}, millrace::DotShape{8, 3072, 768},
                                          millrace::DotShape{128, 3072, 768}, millrace::DotShape{128, 768, 3072}}) {
    millrace::register_shape(shape);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
