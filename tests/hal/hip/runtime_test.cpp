// SPDX-License-Identifier: Apache-2.0
// Which HIP runtime is opened, and what the message says if none is usable.
#include <dlfcn.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "millrace/hal/driver.h"
#include "tests/hip_standin/standin.h"

namespace millrace {
namespace {

Status open(const std::string& spec) { return open_hip_device(DeviceSpec::parse(spec).value()).status(); }

void expect(const Status& status, StatusCode code, const std::string& message) {
  CHECK(status.code() == code);
  CHECK(status.message() == message);
}

}  // namespace

TEST_CASE("hip: a library that does not exist is named, with the loader's reason") {
  expect(open("hip:library=/nowhere/libamdhip64.so"), StatusCode::kUnavailable,
         "hip: /nowhere/libamdhip64.so cannot be opened (/nowhere/libamdhip64.so: cannot open shared object file: No "
         "such file or directory); give the path of a HIP runtime");
}

TEST_CASE("hip: an entry point that the runtime lacks is named") {
  expect(open(std::string("hip:library=") + hip_standin::kLackingLibrary), StatusCode::kUnavailable,
         std::string("hip: ") + hip_standin::kLackingLibrary +
             " has no hipModuleLaunchKernel, hipGetDeviceProperties; install a newer HIP runtime, 5.2 or later");
}

TEST_CASE("hip: Debian's own runtime reports by the error's name that there is no device") {
  // Where a test's machine has it, and no GPU.
  if (dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL) == nullptr || access("/dev/kfd", F_OK) == 0) return;
  const std::string end =
      ", expected an AMD GPU; check that the kernel driver amdgpu is loaded, and that this user may open /dev/kfd and "
      "/dev/dri (groups render and video)";
  const Status status = open("hip:library=libamdhip64.so.5");
  CHECK(status.code() == StatusCode::kUnavailable);
  CAPTURE(status.message());
  CHECK((status.message() == "hip: hipInit of libamdhip64.so.5 reports hipErrorInvalidDevice" + end ||
         status.message() == "hip: hipGetDeviceCount of libamdhip64.so.5 reports hipErrorNoDevice" + end));
}

TEST_CASE("hip: a runtime without devices gives no device, and the error is named") {
  const HipStandin standin;
  const std::string end =
      ", expected an AMD GPU; check that the kernel driver amdgpu is loaded, and that this user may open /dev/kfd and "
      "/dev/dri (groups render and video)";
  standin.control.fail_calls("hipInit", 1, hip::Error::kInvalidDevice);
  expect(open(HipStandin::spec()), StatusCode::kUnavailable,
         "hip: hipInit of " + HipStandin::library() + " reports hipErrorInvalidDevice" + end);
  standin.control.fail_calls("hipGetDeviceCount", 1, hip::Error::kNoDevice);
  expect(open(HipStandin::spec()), StatusCode::kUnavailable,
         "hip: hipGetDeviceCount of " + HipStandin::library() + " reports hipErrorNoDevice" + end);
}

TEST_CASE("hip: devices are listed with name, architecture, memory and the runtime's version") {
  for (const int version : {50'221'153, 60'342'131}) {
    const HipStandin standin({.devices = {{.name = "First GPU", .architecture = "gfx1100"},
                                          {.name = "Second GPU",
                                           .architecture = "gfx90a:sramecc+:xnack-",
                                           .memory_bytes = std::uint64_t{8} << 20},
                                          {.name = "Old GPU", .architecture = "gfx803"}},
                              .version = version});
    const std::vector<DeviceInfo> devices = enumerate_hip_devices(HipStandin::library()).value();
    REQUIRE(devices.size() == 3);
    const std::string hip = version == 50'221'153 ? "HIP 5.2.21153" : "HIP 6.3.42131";
    CHECK(devices[0].name == "hip:0");
    CHECK(devices[0].description == "First GPU, gfx1100, " + hip);
    CHECK(devices[1].name == "hip:1");
    CHECK(devices[1].description == "Second GPU, gfx90a:sramecc+:xnack-, " + hip);
    CHECK(devices[1].memory_bytes == std::uint64_t{8} << 20);
    CHECK(devices[1].targets == std::vector<TargetSpec>{{.family = "amdgpu", .gfx = "gfx90a"}});
    CHECK(devices[2].targets.front().gfx == "gfx803");
    CHECK_FALSE(devices[0].addresses_host_memory);
    CHECK_FALSE(devices[0].is_synchronous);
    CHECK_FALSE(devices[0].skips_work_after_failure);
    expect(open(HipStandin::spec(",arch=gfx803")), StatusCode::kUnimplemented,
           "device 'hip:2': architecture is gfx803, expected one of gfx90a, gfx942, gfx1030, gfx1100, gfx1151, "
           "gfx1201; use another device");
  }
}

TEST_CASE("hip: a device whose properties cannot be read does not hide the others") {
  HipStandin standin({.devices = {{.architecture = "gfx1100"}, {.architecture = "gfx90a:sramecc+:xnack-"}}});
  const auto fail_first = [&] {
    standin.control.fail_calls("hipGetDevicePropertiesR0600", 1, hip::Error::kInvalidDevice);
  };
  const std::string problem =
      "device 'hip:0': hipGetDevicePropertiesR0600 failed with hipErrorInvalidDevice; list the devices with millrace "
      "devices";
  fail_first();
  const std::vector<DeviceInfo> devices = enumerate_hip_devices(HipStandin::library()).value();
  REQUIRE(devices.size() == 2);
  CHECK(devices[0] == DeviceInfo{.name = "hip:0", .problem = problem});
  CHECK(devices[1].problem == "");
  CHECK(devices[1].targets == std::vector<TargetSpec>{{.family = "amdgpu", .gfx = "gfx90a"}});
  fail_first();
  CHECK(open_hip_device(DeviceSpec::parse(HipStandin::spec(",arch=gfx90a")).value()).value()->name() == "hip:1");
  fail_first();
  CHECK(open(HipStandin::spec(",arch=gfx942")).message() == "device '" + HipStandin::spec(",arch=gfx942") +
                                                                "': no device is a gfx942; found hip:0 (" + problem +
                                                                "), hip:1 (gfx90a:sramecc+:xnack-); use one of them");
}

TEST_CASE("hip: a spec names a device by its number or its architecture") {
  const HipStandin standin({.devices = {{.architecture = "gfx1100"}, {.architecture = "gfx90a:sramecc+:xnack-"}}});
  const auto opened = [](const std::string& rest) {
    const Result<std::shared_ptr<HipDevice>> device =
        open_hip_device(DeviceSpec::parse("hip:" + rest + "library=" + HipStandin::library()).value());
    return device.ok() ? (*device)->name() + " " + (*device)->targets().front().to_text() : device.status().message();
  };
  const std::string end = ",library=" + HipStandin::library();
  CHECK(opened("") == "hip:0 amdgpu:gfx1100");
  CHECK(opened("1,") == "hip:1 amdgpu:gfx90a");
  CHECK(opened("arch=gfx90a,") == "hip:1 amdgpu:gfx90a");
  CHECK(opened("arch=gfx90a:sramecc+:xnack-,") == "hip:1 amdgpu:gfx90a");
  CHECK(opened("streams=1,time_limit_ms=none,staging_kib=4,") == "hip:0 amdgpu:gfx1100");
  CHECK(opened("2,") == "device 'hip:2': there are 2 AMD GPUs, counted from 0");
  CHECK(opened("arch=gfx942,") ==
        "device 'hip:arch=gfx942" + end +
            "': no device is a gfx942; found hip:0 (gfx1100), hip:1 (gfx90a:sramecc+:xnack-); use one of them");
  CHECK(opened("arch=gfx90a:xnack+,").find("': no device is a gfx90a:xnack+; found hip:0 (gfx1100), ") !=
        std::string::npos);
  CHECK(opened("fast,") == "device 'hip:fast" + end +
                               "': word 'fast' is not known; hip takes the ordinal of a device, as in hip:0, or its "
                               "architecture, as in hip:arch=gfx1100");
  CHECK(opened("1,arch=gfx90a,") ==
        "device 'hip:1,arch=gfx90a" + end + "': names an ordinal and an architecture, expected one; leave one out");
  CHECK(opened("seed=1,") == "device 'hip:seed=1" + end +
                                 "': option 'seed' is not known; hip takes arch, library, time_limit_ms, streams and "
                                 "staging_kib");
  CHECK(opened("streams=17,") == "device 'hip:streams=17" + end + "': streams is '17', expected a number from 1 to 16");
  CHECK(opened("time_limit_ms=0,") == "device 'hip:time_limit_ms=0" + end +
                                          "': time_limit_ms is '0', expected a number from 1 to 1000000000, or none");
}

TEST_CASE("hip: the driver opens a spec, and leaves the thread's current device as it was") {
  const HipStandin standin({.devices = {{}, {.architecture = "gfx90a"}}});
  const Driver driver = hip_driver();
  CHECK(driver.name == "hip");
  auto device = driver.open(DeviceSpec::parse("hip:1,library=" + HipStandin::library()).value()).value();
  CHECK(device->name() == "hip:1");
  const auto buffer = device->allocate(64).value();
  const std::vector<hip_standin::Call> calls = standin.control.calls();
  int last = -1;
  for (const hip_standin::Call& call : calls) {
    if (call.entry == "hipSetDevice" && call.thread == calls.front().thread) last = call.device;
  }
  CHECK(last == 0);
}

}  // namespace millrace
