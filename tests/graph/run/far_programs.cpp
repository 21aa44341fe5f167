// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/run/far_programs.h"

#include <doctest/doctest.h>

#include "millrace/hal/transfer.h"
#include "millrace/millrace.h"
#include "tests/hip_standin/standin.h"
#include "tests/support/gpu/far_device.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace::test {
namespace {

CompileOptions on(const std::string& device) {
  CompileOptions options;
  options.context = test_context();
  options.device = device;
  options.on_device = options.context->device(device).value();
  return options;
}

void run(const std::function<void(const CompileOptions&)>& test, const CompileOptions& options) {
  const std::string device = options.on_device->name();
  CAPTURE(device);
  test(options);
}

}  // namespace

CompileOptions on_far(const std::string& inner) {
  CompileOptions options = on(inner);
  options.on_device = create_far_device(options.on_device);
  return options;
}

void on_near_and_far(const std::function<void(const CompileOptions&)>& test) {
  run(test, on("cpu"));
  on_every_far(test);
}

void on_every_far(const std::function<void(const CompileOptions&)>& test) {
  for (const char* inner : {"cpu", "sim:gfx1100"}) run(test, on_far(inner));
  const HipStandin standin({.seed = 5, .eagerness = hip_standin::Eagerness::kMixed});
  run(test, on(HipStandin::spec()));
}

std::shared_ptr<Buffer> to_device(Device& device, std::span<const float> values) {
  auto buffer = device.allocate(values.size_bytes()).value();
  REQUIRE(upload(device, *buffer, std::as_bytes(values)).ok());
  return buffer;
}

std::vector<float> from_device(Device& device, const Buffer& buffer) {
  std::vector<float> values(buffer.size_bytes() / sizeof(float));
  REQUIRE(download(device, buffer, std::as_writable_bytes(std::span(values))).ok());
  return values;
}

namespace {
Program compiled(GraphBuilder& builder, const CompileOptions& options) {
  Result<Program> program = compile(builder.finish().value(), options);
  REQUIRE(program.status().message() == "");
  return *program;
}
}  // namespace

Program affine(const CompileOptions& options) {
  GraphBuilder builder;
  Tensor x = builder.input("x", DType::kF32, {2});
  builder.output("y", x * 2.0 + builder.input("w", DType::kF32, {2}));
  return compiled(builder, options);
}

Program ranked_sum(const CompileOptions& options) {
  GraphBuilder builder;
  builder.output("y", cumulative_sum(sort(builder.input("x", DType::kF32, {Dim("n")})).values));
  return compiled(builder, options);
}

std::vector<float> counting_down(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(n - i);
  return x;
}

std::vector<float> sums_up_to(std::size_t n) {
  std::vector<float> y(n);
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>((i + 1) * (i + 2) / 2);
  return y;
}

Extents extents_of(const std::vector<float>& values) { return {static_cast<std::int64_t>(values.size())}; }

Program picked(const CompileOptions& options) {
  GraphBuilder builder;
  Tensor x = builder.input("x", DType::kF32, {4}), i = builder.input("i", DType::kI64, {1});
  builder.output("y", gather(x, i, 0));
  return compiled(builder, options);
}

}  // namespace millrace::test
