// SPDX-License-Identifier: Apache-2.0
// An application's kernel whose body is too long becomes several kernels, which compute the same as the body.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/graph/code_object.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/algorithm.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "millrace/ops/bodies.h"
#include "tests/reference/tensor.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

/// 4,000 instructions, one after the other.
struct Polynomial {
  static auto emit(auto& b, auto x) {
    auto sum = x[0];
    for (int i = 0; i < 2000; ++i) sum = b.add(b.mul(sum, b.constant_like(x[0], 0.5)), x[1]);
    return sum;
  }
};

struct Sines {
  static auto emit(auto& b, auto x) {
    auto value = x[0];
    for (int i = 0; i < 40; ++i) value = math::sin(b, value);
    return b.add(value, x[1]);
  }
};

/// Values of several dtypes. Each is read again only after all of them are computed.
struct Fan {
  static auto emit(auto& b, auto x) {
    using V = std::decay_t<decltype(x[0])>;
    std::vector<V> halves, bits, numbers;
    for (int i = 0; i < 60; ++i) {
      const V scaled = b.mul_add(x[0], b.constant_like(x[0], 0.25 * i), x[1]);
      halves.push_back(b.convert(i % 2 == 0 ? DType::kF16 : DType::kBF16, scaled));
      bits.push_back(b.lt(scaled, b.constant_like(x[0], 3)));
      numbers.push_back(b.convert(DType::kI64, scaled));
    }
    V sum = x[1];
    for (int i = 59; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      const V number = b.convert(x[0].dtype, b.mul(numbers[at], numbers[at]));
      sum = b.add(sum, b.select(bits[at], b.convert(x[0].dtype, halves[at]), number));
    }
    return sum;
  }
};

template <class Body>
Graph graph_of(DType dtype, const Shape& shape) {
  GraphBuilder builder("long");
  const Tensor x = builder.input("x", dtype, shape), y = builder.input("y", dtype, shape);
  builder.output("z", builder.kernel<Body>("mine", x, y) + 1.0);
  return builder.finish().value();
}

reference::Tensor numbers(DType dtype, std::int64_t count, double factor) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = factor * (static_cast<double>(i) - 11);
  return reference::make_tensor(dtype, {count}, values);
}

template <class Body>
std::vector<double> computed_on_host(const reference::Tensor& x, const reference::Tensor& y) {
  const std::vector<double> left = reference::read_all<double>(x), right = reference::read_all<double>(y);
  std::vector<double> values;
  const DType dtype = x.type.dtype;
  for (std::size_t i = 0; i < left.size(); ++i) {
    HostEval host;
    const Scalar operands[] = {Scalar::from_double(dtype, left[i]), Scalar::from_double(dtype, right[i])};
    const Scalar value = Body::emit(host, BodyOperands<HostEval>(host, operands));
    values.push_back(host.add(value, host.constant(dtype, 1)).to_double());
  }
  return values;
}

template <class Body>
void check_values(DType dtype, std::size_t min_dispatches) {
  CAPTURE(to_text(dtype));
  const reference::Tensor inputs[] = {numbers(dtype, 37, 0.75), numbers(dtype, 37, -0.125)};
  const std::vector<double> expected = computed_on_host<Body>(inputs[0], inputs[1]);
  for (const Shape& shape : {Shape{37}, Shape{Dim("n")}}) {
    const Graph graph = graph_of<Body>(dtype, shape);
    for (const CompileOptions& options : test::every_way_to_compile()) {
      CAPTURE(test::to_text(options));
      const Program program = compile(graph, options).value();
      CHECK(program.report().num_dispatches >= min_dispatches);
      const auto found = test::run_guarded(program, inputs);
      REQUIRE(found.status().message() == "");
      CHECK(reference::read_all<double>((*found)[0]) == expected);
    }
  }
}

TEST_CASE("a long body becomes several kernels, which compute its values bit for bit" * test::Sliced()) {
  check_values<Polynomial>(DType::kF32, 5);
  check_values<Fan>(DType::kF32, 3);
  check_values<Fan>(DType::kF64, 3);
  check_values<Sines>(DType::kF64, 5);
}

template <class Body>
void check_lengths(const char* target_name, DType dtype, std::size_t max_kernels) {
  CAPTURE(target_name);
  const Target target = make_default_context()->target(target_name).value();
  const LoweredGraph lowered = lower_graph(graph_of<Body>(dtype, {4000}), target).value();
  CHECK(lowered.schedule.kernels.size() <= max_kernels);
  for (const PlannedKernel& kernel : lowered.schedule.kernels) {
    const auto image = target.find_generator(kernel.generator)->emit(kernel, target.spec());
    REQUIRE(image.status().message() == "");
    CHECK((target.spec().is_gpu() ? image->bytes.size() : image->code_bytes) <= 64 << 10);
  }
}

TEST_CASE("no kernel of a long body has more than 64 KiB of code, and a body has no more kernels than it needs") {
  for (const char* target : {"cpu:baseline", "cpu:avx2", "cpu:avx512", "amdgpu:gfx1100"}) {
    check_lengths<Polynomial>(target, DType::kF32, 8);
    check_lengths<Sines>(target, DType::kF64, 12);
  }
}

}  // namespace
}  // namespace millrace
