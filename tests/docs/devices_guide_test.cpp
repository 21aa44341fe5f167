// SPDX-License-Identifier: Apache-2.0
// The programs of docs/devices.md, docs/gpus.md and docs/machine_code.md.
#include <stop_token>

#include <doctest/doctest.h>

#include "millrace/graph/program_variant.h"
#include "millrace/hal/transfer.h"
#include "millrace/interop/tbb.h"
#include "millrace/isa/driver.h"
#include "millrace/millrace.h"
#include "tests/hip_standin/standin.h"

namespace millrace {
namespace {

/// y is twice x, f32[rows, 8].
void double_rows(GraphBuilder& graph, const SizeExpr& rows) {
  graph.output("y", graph.input("x", DType::kF32, {rows, 8}) * 2);
}

TEST_CASE("devices.md: a program for several targets") {
  GraphBuilder graph("targets");
  double_rows(graph, 4);
  CompileOptions options;
  options.targets = {"cpu", "sim:gfx1100", "amdgpu:gfx90a"};
  const Program program = compile(graph.finish().value(), options).value();  // on the device "cpu"
  const Program simulated = program.on(make_default_context()->device("sim:gfx1100").value()).value();
  // To launch from elsewhere; ProgramVariant is in millrace/graph/program_variant.h.
  const std::vector<std::byte> object = make_code_object(program.variants()[2]).value();
  CHECK(object.size() > 1000);
  const std::vector<float> x(32, 3.f);
  std::vector<float> y(32);
  Session session = Session::create(simulated).value();
  session.run({bind("x", x)}, {bind("y", y)}).throw_if_error();
  CHECK(y == std::vector<float>(32, 6.f));
}

TEST_CASE("devices.md: memory of a device, and a run that does not wait") {
  const std::vector<float> values(32, 5.f), x(32, 3.f);
  const std::int64_t bytes = 32 * 4;
  std::vector<float> y(32);
  GraphBuilder graph("memory");
  graph.output("y", graph.input("x", DType::kF32, {32}) + graph.input("weights", DType::kF32, {32}));

  const std::shared_ptr<Device> device = make_default_context()->device("cpu").value();
  CompileOptions options;
  options.on_device = device;
  Session session = Session::create(compile(graph.finish().value(), options).value()).value();
  const std::shared_ptr<Buffer> weights = device->allocate(bytes).value();
  upload(*device, *weights, std::as_bytes(std::span(values))).throw_if_error();
  const Timepoint end = session.submit({bind("x", x), bind("weights", *weights)}, {bind("y", y)}).value();
  const Status status = end.wait();  // x and y stay valid until then
  CHECK(status.ok());
  CHECK(y == std::vector<float>(32, 8.f));
}

TEST_CASE("devices.md: threads, the application's own, and a run that is stopped") {
  GraphBuilder graph("threads");
  double_rows(graph, 4);
  const Graph built = graph.finish().value();
  CompileOptions options;
  options.device = "cpu:threads=4";  // or "cpu:avx2,threads=2,pinned=on"; one pool for all programs of options.context
  CHECK(compile(built, options).ok());
  const TargetSpec host = TargetSpec::parse("cpu").value();
  options.on_device = create_cpu_device(host, {.executor = std::make_shared<TbbExecutor>()}).value();
  Session session = Session::create(compile(built, options).value()).value();

  std::stop_source stop;
  stop.request_stop();
  const std::vector<float> x(32, 3.f);
  std::vector<float> y(32);
  const Status status = session.run({bind("x", x)}, {bind("y", y)}, {}, stop.get_token());
  CHECK(status.code() == StatusCode::kCancelled);
  session.run({bind("x", x)}, {bind("y", y)}).throw_if_error();
  CHECK(y == std::vector<float>(32, 6.f));
}

TEST_CASE("gpus.md: memory of the GPU that nothing moves through the host") {
  const HipStandin standin;
  {
    GraphBuilder builder("gpu");
    const std::int64_t rows = 4, bytes = rows * 8 * 4;
    double_rows(builder, rows);
    Graph graph = builder.finish().value();
    CompileOptions options;
    options.device = "hip";  // or "hip:1", "hip:arch=gfx1100,streams=2,time_limit_ms=5000"
    options.device = HipStandin::spec();
    const std::vector<float> in(32, 3.f);
    std::vector<float> out(32);
    const Program program = compile(std::move(graph), options).value();
    const std::shared_ptr<Buffer> x = program.device()->allocate(bytes).value();  // memory of the GPU
    const std::shared_ptr<Buffer> y = program.device()->allocate(bytes).value();
    Session session = Session::create(program).value();
    upload(*program.device(), *x, std::as_bytes(std::span(in))).throw_if_error();
    const Timepoint end = session.submit({bind("x", *x, {rows, 8})}, {bind("y", *y, {rows, 8})}).value();
    end.wait().throw_if_error();
    download(*program.device(), *y, std::as_writable_bytes(std::span(out))).throw_if_error();
    CHECK(out == std::vector<float>(32, 6.f));
  }
}

TEST_CASE("machine_code.md: an application adds the driver to its context") {
  Context context = *make_default_context();
  context.drivers.push_back(isa_driver());  // millrace/isa/driver.h
  const std::shared_ptr<Device> device = context.device("isa:gfx1100,seed=3").value();
  GraphBuilder graph("executed");
  double_rows(graph, 4);
  CompileOptions options;
  options.on_device = device;
  Session session = Session::create(compile(graph.finish().value(), options).value()).value();
  const std::vector<float> x(32, 3.f);
  std::vector<float> y(32);
  session.run({bind("x", x)}, {bind("y", y)}).throw_if_error();
  CHECK(y == std::vector<float>(32, 6.f));
}

}  // namespace
}  // namespace millrace
