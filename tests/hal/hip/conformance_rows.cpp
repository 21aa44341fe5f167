// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "hal/hip/runtime.h"
#include "millrace/hal/hip_device.h"
#include "tests/hal/conformance/hip_devices.h"
#include "tests/hip_standin/standin.h"

namespace millrace {
namespace {

/// The seed of the order that the stand-in chooses where streams and events leave it open. MILLRACE_HIP_SEED sets
/// another, and then the suite runs on these devices alone.
std::uint64_t seed() {
  const char* text = std::getenv("MILLRACE_HIP_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

/// A stand-in with a GPU of each architecture, made anew whenever no device uses it.
void prepare_standin() {
  hip_standin::Control& control = hip_standin::open_control(hip_standin::kLibrary);
  CHECK(control.findings() == std::vector<std::string>{});
  if (!control.live_objects().empty()) return;
  control.reset(two_architectures(seed()));
  hip::Runtime::forget_hung_devices();
}

Result<std::shared_ptr<Device>> open(std::uint32_t ordinal) {
  prepare_standin();
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device,
                      create_hip_device({.library = HipStandin::library(), .ordinal = ordinal}));
  return device;
}

constexpr DeviceCase kDevices[] = {{"hip:gfx1100", [] { return open(0); }}, {"hip:gfx90a", [] { return open(1); }}};

}  // namespace

std::span<const DeviceCase> conformance_hip_devices() { return kDevices; }

}  // namespace millrace
