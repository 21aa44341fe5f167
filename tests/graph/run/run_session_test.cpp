// SPDX-License-Identifier: Apache-2.0
// The promises of a run in addition to its results: errors that name the node, no allocation, programs shared by
// threads.
#include <array>
#include <cmath>
#include <cstring>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/hal/device.h"
#include "tests/graph/misuse.h"
#include "tests/reference/evaluate.h"
#include "tests/support/allocation_count.h"
#include "tests/support/counts_allocations.h"
#include "tests/support/difference.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using test::every_way_to_compile;
using test::test_context;

Program compiled(GraphBuilder& builder, const CompileOptions& options) {
  Result<Program> program = compile(builder.finish().value(), options);
  REQUIRE(program.status().message() == "");
  return *program;
}

CompileOptions usual() {
  CompileOptions options;
  options.context = test_context();
  return options;
}

TEST_CASE("a gather index outside its axis is an error from run that names the node; the session continues") {
  for (const CompileOptions& options : every_way_to_compile()) {
    CAPTURE(test::to_text(options));
    GraphBuilder builder;
    Tensor x = f32(builder, {5});
    Tensor indexed = i32(builder, {3});
    builder.output("y", gather(x * 2.0, indexed, 0));
    const Program program = compiled(builder, options);
    Session session = Session::create(program).value();
    const std::array<float, 5> values{1, 2, 3, 4, 5};
    std::array<float, 3> y{};
    std::array<std::int32_t, 3> indices{0, -5, 4};
    const auto run = [&] { return session.run(std::array{bind(values), bind(indices)}, std::array{bind(y)}); };
    CHECK(run().message() == "");
    CHECK(y == std::array<float, 3>{2, 2, 10});
    for (const std::int32_t wrong : {5, -6, INT32_MAX, INT32_MIN}) {
      indices[1] = wrong;
      CHECK(run().message() ==
            "run: %5 = gather: index " + std::to_string(wrong) +
                " at [1] of operand 1, %i of i32[3], is outside axis 0 of operand 0, %4 of f32[5]; give -5 to 4");
      CHECK(run().code() == StatusCode::kOutOfRange);
    }
    indices[1] = 1;
    CHECK(run().ok());
    CHECK(y == std::array<float, 3>{2, 4, 10});
  }
}

/// What `used` (1: values, 2: indices) of topk gives.
std::vector<reference::Tensor> run_topk(const reference::Tensor& x, const TopKAttrs& attributes, unsigned used,
                                        const CompileOptions& options) {
  GraphBuilder builder;
  const ValuesAndIndices top = topk(builder.input("x", x.type.dtype, x.type.shape), attributes.k, attributes);
  if ((used & 1) != 0) builder.output("values", top.values);
  if ((used & 2) != 0) builder.output("indices", top.indices);
  const Program program = compiled(builder, options);
  CHECK(program.report().num_regions == 1);
  const Result<std::vector<reference::Tensor>> found = test::run_guarded(program, std::span(&x, 1));
  REQUIRE(found.status().message() == "");
  return *found;
}

TEST_CASE("topk gives each subset of its results, for few and for all") {
  reference::Tensor x = random_tensor({DType::kF32, {3, 40}}, -4, 4, 5);
  for (const std::int64_t i : {3, 17, 50}) reference::write_element(DType::kF32, std::nan(""), x.element(i));
  for (const std::int64_t i : {4, 9, 60}) reference::write_element(DType::kF32, 3.5, x.element(i));  // ties
  for (const CompileOptions& options : every_way_to_compile()) {
    CAPTURE(test::to_text(options));
    for (const std::int64_t k : {0, 1, 2, 31, 32, 33, 40}) {
      for (const bool largest : {true, false}) {
        const TopKAttrs attributes{.k = k, .axis = -1, .largest = largest};
        const std::vector<reference::Tensor> expected = reference::evaluate(Op::topk, attributes, std::span(&x, 1));
        for (const unsigned used : {1u, 2u, 3u}) {
          CAPTURE(k);
          CAPTURE(used);
          const std::vector<reference::Tensor> found = run_topk(x, attributes, used, options);
          for (std::size_t i = 0; i < found.size(); ++i) {
            const reference::Tensor& wanted = used == 2 ? expected[1] : expected[i];
            CHECK(test::find_difference(found[i], wanted, {.same_nan_bits = true}) == "");
          }
        }
      }
    }
  }
}

struct Swish {
  static auto emit(auto& b, auto x) {
    const auto one = b.constant_like(x[0], 1);
    return b.div(b.mul(x[0], x[1]), b.add(one, b.abs(x[0])));
  }
};

TEST_CASE("an application's kernel computes the values of its body, fused with the nodes around it") {
  const std::array<float, 5> x{-2, -1, 0, 1, 2}, z{1, 2, 3, 4, 5};
  for (const CompileOptions& options : every_way_to_compile()) {
    CAPTURE(test::to_text(options));
    GraphBuilder builder;
    Tensor a = f32(builder, {5}), b = builder.input("z", DType::kF32, {5});
    builder.output("y", -builder.kernel<Swish>("swish", a * 2.0, b));
    const Program program = compiled(builder, options);
    CHECK(program.report().num_kernels == 1);
    std::array<float, 5> y{};
    Session session = Session::create(program).value();
    REQUIRE(session.run(std::array{bind(x), bind(z)}, std::array{bind(y)}).ok());
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == -(2 * x[i] * z[i] / (1 + std::fabs(2 * x[i]))));
  }
}

/// Two dots, a softmax and a topk: several kernels, transients and a constant.
Program deep_program() {
  GraphBuilder builder;
  Tensor x = f32(builder, {16, 24}), w = builder.input("w", DType::kF32, {24, 24});
  Tensor y = softmax(matmul(relu(matmul(x, w) + 0.5), w));
  const ValuesAndIndices top = topk(y, 3);
  builder.output("values", top.values);
  builder.output("indices", top.indices);
  builder.output("sum", reduce_sum(y, {0}));
  return compiled(builder, usual());
}

/// Memory of one caller of deep_program().
struct DeepRun {
  std::vector<float> x, w, values = std::vector<float>(48), sum = std::vector<float>(24);
  std::vector<std::int64_t> indices = std::vector<std::int64_t>(48);
  std::array<TensorBinding, 2> inputs;
  std::array<TensorBinding, 3> outputs;
  Session session;

  DeepRun(const Program& program, int seed) : session(Session::create(program).value()) {
    for (int i = 0; i < 16 * 24; ++i) x.push_back(static_cast<float>((i * 7 + seed) % 13 - 6) / 8);
    for (int i = 0; i < 24 * 24; ++i) w.push_back(static_cast<float>((i * 5) % 11 - 5) / 8);
    inputs = {bind(x), bind(w)};
    outputs = {bind(values), bind(indices), bind(sum)};
  }
  Status run() { return session.run(inputs, outputs); }
};

TEST_CASE("run allocates nothing after the first call, in a session of several kernels" * CountsAllocations()) {
  DeepRun run(deep_program(), 1);
  REQUIRE(run.run().message() == "");
  const std::uint64_t before = num_allocations();
  bool all_ok = true;
  for (int i = 0; i < 10; ++i) all_ok &= run.run().ok();
  CHECK(num_allocations() == before);
  CHECK(all_ok);
}

TEST_CASE("run allocates nothing after the first call, with buffers of the device" * CountsAllocations()) {
  const Program program = deep_program();
  DeepRun run(program, 1);
  const auto device = test_context()->device("cpu").value();
  const Program there = program.on(device).value();
  run.session = Session::create(there).value();
  std::vector<std::shared_ptr<Buffer>> buffers;
  const auto move_to_device = [&](TensorBinding& binding) {
    buffers.push_back(device->allocate(binding.size_bytes).value());
    std::memcpy(buffers.back()->host_address(), binding.data, binding.size_bytes);
    binding = bind(*buffers.back());
  };
  for (TensorBinding& binding : run.inputs) move_to_device(binding);
  for (TensorBinding& binding : run.outputs) move_to_device(binding);
  REQUIRE(run.run().message() == "");
  const std::uint64_t before = num_allocations();
  bool all_ok = true;
  for (int i = 0; i < 10; ++i) all_ok &= run.run().ok();
  CHECK(num_allocations() == before);
  CHECK(all_ok);
}

TEST_CASE("inputs are the same bytes after runs") {
  DeepRun run(deep_program(), 2);
  const std::vector<float> x = run.x, w = run.w;
  REQUIRE(run.run().ok());
  REQUIRE(run.run().ok());
  CHECK(run.x == x);
  CHECK(run.w == w);
}

TEST_CASE("threads share a program, each with a session") {
  const Program program = deep_program();
  std::array<DeepRun, 3> expected{DeepRun(program, 1), DeepRun(program, 2), DeepRun(program, 3)};
  for (DeepRun& run : expected) REQUIRE(run.run().ok());
  std::array<bool, 3> is_equal{};
  std::array<std::thread, 3> threads;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    threads[t] = std::thread([&, t] {
      DeepRun run(program, static_cast<int>(t) + 1);
      bool equal = true;
      for (int i = 0; i < 200; ++i) {
        equal &= run.run().ok() && run.values == expected[t].values && run.indices == expected[t].indices &&
                 run.sum == expected[t].sum;
      }
      is_equal[t] = equal;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(is_equal == std::array{true, true, true});
}

TEST_CASE("two sessions of one program do not share memory") {
  const Program program = deep_program();
  DeepRun a(program, 1), b(program, 2);
  REQUIRE(a.run().ok());
  const std::vector<float> first = a.values;
  REQUIRE(b.run().ok());
  CHECK(b.values != first);
  REQUIRE(a.run().ok());
  CHECK(a.values == first);
}

}  // namespace
}  // namespace millrace
