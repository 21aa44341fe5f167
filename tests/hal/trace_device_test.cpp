// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

auto append_to(std::vector<std::string>& log) {
  return [&log](std::string_view line) { log.emplace_back(line); };
}

std::shared_ptr<Device> cpu() { return create_cpu_device(TargetSpec::parse("cpu").value()).value(); }

}  // namespace

TEST_CASE("a trace has a line per recorded command with its expressions, and per submitted one with their values") {
  std::vector<std::string> log;
  const auto device = create_trace_device(cpu(), append_to(log));
  const std::vector<ExecutableImage> images = {scale_image()};
  const SizeExpr n = Dim("n");
  ListBuilder b;
  const BindingIndex x = b.input("x", n * 4);
  const BindingIndex y = b.output("y", n * 4);
  b.copy(b.range(x, 0, n * 4), b.range(y, 0, n * 4));
  b.barrier();
  b.dispatch(b.kernel(images[0].info), n, {b.range(x, 0, n * 4), b.range(y, 0, n * 4)}, {2});
  std::vector<std::uint32_t> in(3, 4);
  std::vector<std::uint32_t> out(3);
  TestedDevice tested(device);
  REQUIRE(run_once(tested, b, device->load(images).value(), {bind(in), bind(out)}, {{"n", 3}}).ok());
  CHECK(out == std::vector<std::uint32_t>{8, 8, 8});
  CHECK(log == std::vector<std::string>{"record copy x[0, 4*n) -> y[0, 4*n)", "record barrier",
                                        "record dispatch scale groups n: x[0, 4*n), write y[0, 4*n); sizes 2",
                                        "submit copy x[0, 12) -> y[0, 12)", "submit barrier",
                                        "submit dispatch scale groups 3: x[0, 12), write y[0, 12); sizes 2"});
}

TEST_CASE("a trace shows the failure after the commands") {
  std::vector<std::string> log;
  const auto device = create_trace_device(cpu(), append_to(log));
  ListBuilder b;
  const BindingIndex y = b.output("y", 4);
  b.fill(b.range(y, 0, 4), 1, 4);
  const auto recording = device->record(b.list, nullptr).value();
  CHECK(!device->submit(*recording, {}).ok());
  b.fill(b.range(y, 0, 4), 1, 3);
  CHECK(!device->record(b.list, nullptr).ok());
  REQUIRE(log.size() == 6);
  CHECK(log[1] == "submit fill y[0, 4) with 0x00000001");
  CHECK(log[2] == "submit failed: submit: 0 bindings, expected 1 like the command list");
  CHECK(log[4] == "record fill y[0, 4) with 0x000001");
  CHECK(log[5].starts_with("record failed: command 1 (fill): a pattern of 3 bytes, expected 1, 2, 4 or 8\n"));
}

TEST_CASE("a trace device is named after the device that it wraps, and may be wrapped") {
  std::vector<std::string> log;
  std::vector<std::string> outer_log;
  const auto inner = cpu();
  const auto device = create_trace_device(create_trace_device(inner, append_to(log)), append_to(outer_log));
  CHECK(device->name() == "trace(trace(cpu))");
  CHECK(device->info().targets == inner->info().targets);
  ListBuilder b;
  b.barrier();
  TestedDevice tested(device);
  CHECK(run_once(tested, b, nullptr, {}).ok());
  CHECK(log == std::vector<std::string>{"record barrier", "submit barrier"});
  CHECK(outer_log == log);
}

TEST_CASE("without a sink or a device there is nothing to trace") {
  std::vector<std::string> log;
  const auto inner = cpu();
  CHECK(create_trace_device(inner, {}) == inner);
  CHECK(create_trace_device(nullptr, append_to(log)) == nullptr);
}

}  // namespace millrace
