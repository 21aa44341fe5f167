// SPDX-License-Identifier: Apache-2.0
// A device without a back end must be impossible; here at the level of a Context.
#include "millrace/graph/context.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "hal/host/cpu_set.h"
#include "millrace/hal/device.h"
#include "millrace/hal/sim_device.h"
#include "millrace/jit/kernel_compiler.h"
#include "tests/support/kernels/fake_generator.h"

namespace millrace {
namespace {

Status available() { return {}; }
Status no_runtime() { return unavailable("libfake.so is not installed; install it"); }
Result<std::vector<DeviceInfo>> enumerate_nothing() { return std::vector<DeviceInfo>(); }
Result<std::shared_ptr<Device>> open_nothing(const DeviceSpec&) { return std::shared_ptr<Device>(); }

std::string target_error(const Context& context, std::string_view spec) {
  return context.target(spec).status().message();
}
std::string device_error(const Context& context, std::string_view spec) {
  return context.device(spec).status().message();
}

const Context kUsual{{cpu_driver()}, {fake_generator("llvm", "cpu"), fake_generator("interpreter", "cpu")}, nullptr};
constexpr std::string_view kWhatThereIs =
    "devices built in: cpu; code generators built in: llvm, interpreter; say 'cpu' for this host";

TEST_CASE("plain cpu works without further options") {
  CHECK(kUsual.target("cpu").value().generators().size() == 2);
  const auto device = kUsual.device("cpu").value();
  CHECK(device->name() == "cpu");
  const std::uint32_t num_cores = num_physical_cores();
  CHECK((device->executor() == nullptr ? 1 : device->executor()->concurrency()) == num_cores);
  CHECK(device->info().description.ends_with(fmt::format(", {} threads", num_cores)) == (num_cores > 1));
  CHECK(kUsual.device("cpu:threads=1").value()->executor() == nullptr);
  CHECK(kUsual.device("cpu:threads=3").value()->name() == "cpu:threads=3");
}

TEST_CASE("an unknown device is named, with the known ones") {
  for (const std::string spec : {"local", "cuda", "hip:gfx1100", "CPU", "cpu "}) {
    const std::string message = "device '" + spec + "' is not known; " + std::string(kWhatThereIs);
    CHECK(target_error(kUsual, spec) == message);
    CHECK(device_error(kUsual, spec) == message);
  }
  CHECK(kUsual.target("local").status().code() == StatusCode::kNotFound);
  for (const std::string spec : {"", "trace(cpu)"}) {  // not targets; as devices, an unknown driver and a wrapper
    CHECK(target_error(kUsual, spec) == "device '" + spec + "' is not known; " + std::string(kWhatThereIs));
  }
  CHECK(device_error(kUsual, "") ==
        "device '': it has no driver; say a driver and its options, such as cpu, cpu:avx2 or trace(cpu)");
}

TEST_CASE("a wrapper is opened around any device that can be opened") {
  CHECK(kUsual.device("trace(cpu)").value()->name() == "trace(cpu)");
  CHECK(kUsual.device("trace(trace(cpu:baseline))").value()->name() == "trace(trace(cpu))");
}

TEST_CASE("an error inside a wrapper is reported for the device inside") {
  CHECK(device_error(kUsual, "trace(local)") == "device 'local' is not known; " + std::string(kWhatThereIs));
  CHECK(device_error(kUsual, "trace(cpu:threads=0)") ==
        "device 'cpu:threads=0': threads is '0', expected a number from 1 to 1024");
  CHECK(device_error(kUsual, "trace(trace())") ==
        "device 'trace()': nothing is between '(' and ')'; say a driver and its options, such as cpu, cpu:avx2 or "
        "trace(cpu)");
  CHECK(device_error(kUsual, "trace") == "device 'trace' is not known; " + std::string(kWhatThereIs));
  CHECK(device_error(kUsual, "follow(cpu)") == "device 'follow(cpu)' is not known; " + std::string(kWhatThereIs));
}

TEST_CASE("an unknown level is named, with the known ones") {
  for (const std::string level : {"avx9", "avx2:avx2", "AVX2"}) {
    const std::string message = "device 'cpu:" + level + "': target 'cpu:" + level + "': cpu level '" + level +
                                "' is not known, expected baseline, avx2 or avx512; say cpu for the host's best";
    CHECK(target_error(kUsual, "cpu:" + level) == message);
    CHECK(device_error(kUsual, "cpu:" + level) == message);
  }
}

TEST_CASE("a device without a code generator is refused, and the missing part is named") {
  const Context none{{cpu_driver()}, {}, nullptr};
  CHECK(target_error(none, "cpu:baseline") ==
        "device 'cpu:baseline': target 'cpu:baseline' has no code generator; built in: none; give one that makes code "
        "for it; devices built in: cpu; code generators built in: none");
  const Context other{{cpu_driver()}, {fake_generator("gpu", "amdgpu")}, nullptr};
  CHECK(
      target_error(other, "cpu:baseline") ==
      "device 'cpu:baseline': target 'cpu:baseline' has no code generator; built in: gpu (makes code for amdgpu "
      "only); give one that makes code for it, or choose another target; devices built in: cpu; code generators built "
      "in: gpu");
  CHECK(other.target("cpu:baseline").status().code() == StatusCode::kUnimplemented);
}

TEST_CASE("a context without drivers says that it has none") {
  const Context context{{}, {fake_generator("llvm", "cpu")}, nullptr};
  const std::string message =
      "device 'cpu': code can be generated for it, but no device has this name; devices built in: none; code "
      "generators "
      "built in: llvm";
  CHECK(device_error(context, "cpu") == message);
  CHECK(device_error({}, "cpu") ==
        "device 'cpu' is not known; devices built in: none; code generators built in: none; say 'cpu' for this host");
}

TEST_CASE("a target needs a generator, not a device") {
  const Context context{{}, {fake_generator("llvm", "cpu"), fake_generator("gpu", "amdgpu")}, nullptr};
  CHECK(context.target("cpu:baseline").value().generators().size() == 1);
  CHECK(context.target("amdgpu:gfx1100").value().to_text() == "amdgpu:gfx1100");
  CHECK(device_error(context, "amdgpu:gfx1100") ==
        "device 'amdgpu:gfx1100': code can be generated for it, but no device has this name; devices built in: none; "
        "code generators built in: llvm, gpu");
  CHECK(device_error({{sim_driver()}, context.generators, nullptr}, "amdgpu:gfx1100") ==
        "device 'amdgpu:gfx1100': code can be generated for it, but no device has this name; say sim:gfx1100 to "
        "simulate it; devices built in: sim; code generators built in: llvm, gpu");
  CHECK(target_error(kUsual, "amdgpu:gfx1100") ==
        "device 'amdgpu:gfx1100': target 'amdgpu:gfx1100' has no code generator; built in: llvm (makes code for cpu "
        "only), interpreter (makes code for cpu only); give one that makes code for it, or choose another target; "
        "devices "
        "built in: cpu; code generators built in: llvm, interpreter");
}

TEST_CASE("a null generator is refused, not followed") {
  const Context context{{cpu_driver()}, {nullptr, fake_generator("llvm", "cpu")}, nullptr};
  CHECK(target_error(context, "cpu:avx2") ==
        "device 'cpu:avx2': target 'cpu:avx2': code generator 0 of 2 is null; give a generator or leave it out; "
        "devices built in: cpu; code generators built in: (null), llvm");
}

TEST_CASE("a driver that cannot give a device says why") {
  Context context = kUsual;
  context.drivers = {{"cpu", no_runtime, enumerate_nothing, open_nothing}};
  CHECK(device_error(context, "cpu") == "device 'cpu': libfake.so is not installed; install it");
  context.drivers = {{"cpu", available, enumerate_nothing, open_nothing}};
  CHECK(device_error(context, "cpu") == "device 'cpu': driver 'cpu' gave no device and no error");
  context.drivers = {{"cpu", available, enumerate_nothing, nullptr}};
  CHECK(device_error(context, "cpu") ==
        "device 'cpu': driver 'cpu' lacks available, enumerate or open; give all three");
  context.drivers = {{"cpu", nullptr, enumerate_nothing, open_nothing}};
  CHECK(device_error(context, "cpu") ==
        "device 'cpu': driver 'cpu' lacks available, enumerate or open; give all three");
  context.drivers = {{"vulkan", available, enumerate_nothing, open_nothing}};
  CHECK(target_error(context, "vulkan") ==
        "device 'vulkan': target 'vulkan': family 'vulkan' is not known, expected one of: cpu, amdgpu, sim; say cpu "
        "for the host");
  CHECK(device_error(context, "vulkan:1") == "device 'vulkan:1': driver 'vulkan' gave no device and no error");
}

TEST_CASE(
    "every subset of drivers and generators gives a device with a generator, or an error that names the request") {
  const std::vector<Driver> drivers = {cpu_driver(),
                                       {"vulkan", available, enumerate_nothing, open_nothing},
                                       {"amdgpu", no_runtime, enumerate_nothing, open_nothing},
                                       {"", available, enumerate_nothing, open_nothing},
                                       {"local", nullptr, nullptr, nullptr}};
  const std::vector<std::shared_ptr<const KernelCompiler>> generators = {
      fake_generator("xbyak", "cpu"), fake_generator("gpu", "amdgpu"), fake_generator("", ""), nullptr,
      fake_generator("llvm", "cpu")};
  for (unsigned subset = 0; subset < 1u << (drivers.size() + generators.size()); ++subset) {
    CAPTURE(subset);
    Context context;
    for (std::size_t i = 0; i < drivers.size(); ++i) {
      if ((subset >> i & 1) != 0) context.drivers.push_back(drivers[i]);
    }
    for (std::size_t i = 0; i < generators.size(); ++i) {
      if ((subset >> (drivers.size() + i) & 1) != 0) context.generators.push_back(generators[i]);
    }
    for (const std::string spec : {"", "cpu", "cpu:baseline", "cpu:avx9", "local", "vulkan", "amdgpu:gfx1100"}) {
      CAPTURE(spec);
      const Result<Target> target = context.target(spec);
      if (target.ok()) {
        CHECK(!target->generators().empty());
      } else {
        CHECK(target_error(context, spec).starts_with("device '" + spec + "'"));
      }
      const bool has_cpu = (subset & 1) != 0;
      CHECK(context.device(spec).ok() == (has_cpu && (spec == "cpu" || spec == "cpu:baseline")));
      if (!context.device(spec).ok()) CHECK(device_error(context, spec).starts_with("device '" + spec + "'"));
    }
  }
}

}  // namespace
}  // namespace millrace
