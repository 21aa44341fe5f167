// SPDX-License-Identifier: Apache-2.0
#include "hal/cpu/cpu_device.h"

#include <xmmintrin.h>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/test_kernels.h"

namespace millrace {
namespace {

constexpr IsaLevel kUpToAvx2[] = {IsaLevel::kBaseline, IsaLevel::kAvx2};

TargetSpec cpu(IsaLevel isa) { return {.family = "cpu", .isa = isa}; }

}  // namespace

TEST_CASE("the cpu driver is available and makes a device of the spec") {
  const Driver driver = cpu_driver();
  CHECK(driver.name == "cpu");
  CHECK(driver.available().ok());
  const auto device = driver.open(DeviceSpec::parse("cpu:baseline").value()).value();
  CHECK(device->name() == "cpu");
  CHECK(device->targets().size() == 1);
  CHECK(device->targets().front() == cpu(IsaLevel::kBaseline));
}

TEST_CASE("every level of the host has a device") {
  for (IsaLevel level : host_isa_levels()) CHECK(create_cpu_device(cpu(level)).value()->targets().front().isa == level);
}

TEST_CASE("a level that the host lacks has no device, and the message lists the host's levels") {
  CHECK(check_host_executes(cpu(IsaLevel::kBaseline), kUpToAvx2, {}).ok());
  CHECK(check_host_executes(cpu(IsaLevel::kAvx2), kUpToAvx2, {}).ok());
  const Status status = check_host_executes(cpu(IsaLevel::kAvx512), kUpToAvx2, {});
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message() ==
        "device 'cpu': target is cpu:avx512, but this host executes cpu:baseline, cpu:avx2; say one of these");
  CHECK(check_host_executes(cpu(IsaLevel::kBaseline), {}, {}).message() ==
        "device 'cpu': target is cpu:baseline, but this host executes none; say one of these");
}

TEST_CASE("a device needs each feature of its target") {
  constexpr IsaLevel kAll[] = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};
  const TargetSpec both = TargetSpec::parse("cpu:avx512+vbmi2+vpopcntdq").value();
  CHECK(check_host_executes(both, kAll, both.features).ok());
  CHECK(check_host_executes({.isa = IsaLevel::kAvx2, .features = both.features}, kAll, both.features).message() ==
        "device 'cpu': target is cpu:avx2+vbmi2+vpopcntdq, but this host executes cpu:baseline, cpu:avx2, cpu:avx512, "
        "cpu:avx512+vbmi2+vpopcntdq; say one of these");
  CHECK(check_host_executes(both.plain(), kAll, {}).ok());
  CHECK(check_host_executes(both, kAll, {}).message() ==
        "device 'cpu': target is cpu:avx512+vbmi2+vpopcntdq, but this host executes cpu:baseline, cpu:avx2, "
        "cpu:avx512; say one of these");
  CHECK(check_host_executes(both, kAll, {.vbmi2 = true}).message() ==
        "device 'cpu': target is cpu:avx512+vbmi2+vpopcntdq, but this host executes cpu:baseline, cpu:avx2, "
        "cpu:avx512, cpu:avx512+vbmi2; say one of these");
}

TEST_CASE("an image that needs a feature is refused by a device without it") {
  if (host_isa_levels().back() != IsaLevel::kAvx512) return;
  const auto device = create_cpu_device(cpu(IsaLevel::kAvx512)).value();
  std::vector<ExecutableImage> images = {store_ids_image()};
  images[0].target = "cpu:avx512+vbmi2";
  CHECK(device->load(images).status().message() ==
        "kernel '" + images[0].info.name +
            "': its image is for 'cpu:avx512+vbmi2', expected 'cpu:avx512' or one that it covers; compile for the "
            "device's target");
}

TEST_CASE("a target of another family has no cpu device") {
  const auto device = create_cpu_device(TargetSpec{.family = "amdgpu"});
  REQUIRE(!device.ok());
  CHECK(device.status().code() == StatusCode::kInvalidArgument);
  CHECK(device.status().message() ==
        "device 'cpu': target is amdgpu, expected a level of cpu; open a device of the target's family");
}

TEST_CASE("groups cannot be distributed in runs of 0") {
  CHECK(create_cpu_device(cpu(IsaLevel::kBaseline), {.max_groups_per_call = 0}).status().message() ==
        "device 'cpu': max_groups_per_call is 0, expected at least 1");
}

TEST_CASE("an executable loaded for one level is not recorded on a device of another") {
  if (host_isa_levels().size() < 2) return;
  const auto higher = create_cpu_device(cpu(IsaLevel::kAvx2)).value();
  const auto lower = create_cpu_device(cpu(IsaLevel::kBaseline)).value();
  CHECK(lower->record(CommandList(), higher->load({}).value()).status().message() ==
        "record: the executable was loaded by another device; load it on device 'cpu'");
}

TEST_CASE("a device runs host code of its level and of those below") {
  for (IsaLevel device_level : host_isa_levels()) {
    const auto device = create_cpu_device(cpu(device_level)).value();
    for (IsaLevel image_level : {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512}) {
      std::vector<ExecutableImage> images = {store_ids_image()};
      images[0].target = cpu(image_level).to_text();
      CHECK(device->load(images).ok() == (image_level <= device_level));
    }
  }
}

TEST_CASE("the maximum number of groups runs, in several calls") {
  for (std::uint32_t per_call : {0xffff'ffffu, 0x8000'0001u, 0x4000'0000u}) {
    std::uint64_t count = 0;
    const std::vector<ExecutableImage> images = {host_kernel_image(
        {.name = "count"}, [&](const KernelArgs&, std::uint32_t first_group, std::uint32_t end_group) -> Status {
          count += end_group - first_group;
          return {};
        })};
    const auto device = create_cpu_device(cpu(IsaLevel::kBaseline), {.max_groups_per_call = per_call}).value();
    ListBuilder b;
    b.dispatch(b.kernel(images[0].info), 4294967295, {});
    TestedDevice tested(device);
    CHECK(run_once(tested, b, device->load(images).value(), {}).ok());
    CHECK(count == 4294967295);
  }
}

TEST_CASE("a kernel's stores bypass the caches if it writes enough bytes, all to aligned buffers") {
  std::vector<std::uint64_t> seen;
  const std::vector<ExecutableImage> images = {
      host_kernel_image({.name = "look", .num_buffers = 3, .buffer_is_written = {false, true, true}},
                        [&](const KernelArgs& args, std::uint32_t, std::uint32_t) -> Status {
                          seen.push_back(args.streams);
                          return {};
                        })};
  struct Case {
    std::int64_t bytes_read, first_written, bytes_written;
    std::uint64_t streams;
  };
  constexpr Case kCases[] = {{4096, 0, 448, 0}, {0, 0, 448, 0}, {0, 0, 512, 1}, {0, 64, 512, 1}, {0, 32, 576, 0}};
  const auto device = create_cpu_device(cpu(IsaLevel::kBaseline), {.stream_from_bytes = 1024}).value();
  const auto executable = device->load(images).value();
  for (const Case& c : kCases) {
    CAPTURE(c.bytes_written);
    CAPTURE(c.first_written);
    ListBuilder b;
    const BindingIndex read = b.input("x", 4096), first = b.output("y", 512), second = b.output("z", 1024);
    b.dispatch(
        b.kernel(images[0].info), 1,
        {b.range(read, 0, c.bytes_read), b.range(first, 0, 512), b.range(second, c.first_written, c.bytes_written)});
    TestedDevice tested(device);
    const auto x = tested.allocate(4096).value(), y = tested.allocate(512).value(), z = tested.allocate(1024).value();
    seen.clear();
    CHECK(run_once(tested, b, executable, {x->binding(), y->binding(), z->binding()}).message() == "");
    CHECK(seen == std::vector{c.streams});
  }
}

TEST_CASE("kernels run with the default float environment, and the caller's comes back") {
  constexpr unsigned kFlushRoundUpTrapInvalid = 0x1f80 | 0x8040 | 0x4000;
  unsigned seen = 0;
  const std::vector<ExecutableImage> images = {
      host_kernel_image({.name = "look"}, [&](const KernelArgs&, std::uint32_t, std::uint32_t) -> Status {
        seen = _mm_getcsr();
        return {};
      })};
  const auto device = create_cpu_device(cpu(IsaLevel::kBaseline)).value();
  ListBuilder b;
  b.dispatch(b.kernel(images[0].info), 1, {});
  const auto executable = device->load(images).value();
  const unsigned before = _mm_getcsr();
  _mm_setcsr(kFlushRoundUpTrapInvalid);
  TestedDevice tested(device);
  const Status status = run_once(tested, b, executable, {});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(status.ok());
  CHECK((seen & ~0x3fu) == 0x1f80);
  CHECK(after == kFlushRoundUpTrapInvalid);
}

}  // namespace millrace
