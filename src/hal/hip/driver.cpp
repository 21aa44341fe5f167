// SPDX-License-Identifier: Apache-2.0
// The driver "hip": parses device specs and finds the ordinal of the device that a spec names.
#include "millrace/hal/driver.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guard_allocations.h"
#include "hal/device_errors.h"
#include "hal/device_options.h"
#include "hal/hip/facts.h"
#include "millrace/hal/hip_device.h"

namespace millrace {
namespace {

constexpr std::uint32_t kMaxStreams = 16;
constexpr std::uint32_t kMaxStagingKib = 1 << 20;
constexpr std::uint32_t kMaxMilliseconds = 1'000'000'000;

Status add_word(const DeviceSpec& spec, const std::string& word, HipDeviceOptions& options) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), options.ordinal);
  if (error == std::errc() && end == word.data() + word.size()) return {};
  return invalid_argument(
      fmt::format("device '{}': word '{}' is not known; hip takes the ordinal of a device, as in "
                  "hip:0, or its architecture, as in hip:arch=gfx1100",
                  spec.to_text(), word));
}

Status add_option(const DeviceSpec& spec, const DeviceSpec::Option& option, HipDeviceOptions& options,
                  std::string& architecture) {
  if (option.key == "library") {
    options.library = option.value;
  } else if (option.key == "arch") {
    architecture = option.value;
  } else if (option.key == "time_limit_ms") {
    if (option.value == "none") {
      options.time_limit = std::chrono::milliseconds(0);
    } else {
      MILLRACE_TRY_ASSIGN(const std::uint32_t limit, parse_count(spec, option, kMaxMilliseconds, "or none"));
      options.time_limit = std::chrono::milliseconds(limit);
    }
  } else if (option.key == "streams") {
    MILLRACE_TRY_ASSIGN(options.num_streams, parse_count(spec, option, kMaxStreams, ""));
  } else if (option.key == "staging_kib") {
    MILLRACE_TRY_ASSIGN(const std::uint32_t kib, parse_count(spec, option, kMaxStagingKib, ""));
    options.staging_bytes = std::max<std::size_t>(std::size_t{kib} * 1024, 4096);
  } else {
    return invalid_argument(
        fmt::format("device '{}': option '{}' is not known; hip takes arch, library, time_limit_ms, streams and "
                    "staging_kib",
                    spec.to_text(), option.key));
  }
  return {};
}

/// The ordinal of the first device with this architecture, which may include the settings that the device list shows.
Result<std::uint32_t> find_architecture(const std::string& library, const std::string& architecture) {
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<const hip::Runtime> runtime, hip::Runtime::open(library));
  std::vector<std::string> found;
  for (int i = 0; i < runtime->num_devices(); ++i) {
    const Result<hip::DeviceFacts> facts = hip::find_facts(*runtime, i);
    if (facts.ok() && (architecture == facts->gfx() || architecture == facts->architecture)) {
      return static_cast<std::uint32_t>(i);
    }
    found.push_back(
        fmt::format("{} ({})", hip::device_name(i), facts.ok() ? facts->architecture : facts.status().message()));
  }
  return not_found(fmt::format("no device is a {}; found {}; use one of them", architecture, fmt::join(found, ", ")));
}

Result<std::shared_ptr<Device>> open_any(const DeviceSpec& spec) {
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device, open_hip_device(spec));
  return device;
}

Status is_hip_available() {
  MILLRACE_TRY_ASSIGN(const std::vector<DeviceInfo> devices, enumerate_hip_devices());
  if (std::ranges::any_of(devices, &std::string::empty, &DeviceInfo::problem)) return {};
  return unavailable(devices.front().problem);
}
Result<std::vector<DeviceInfo>> enumerate() { return enumerate_hip_devices(); }

}  // namespace

Result<std::shared_ptr<HipDevice>> open_hip_device(const DeviceSpec& spec) {
  return guard_allocations([&]() -> Result<std::shared_ptr<HipDevice>> {
    HipDeviceOptions options;
    std::string architecture;
    for (const std::string& word : spec.words) MILLRACE_TRY(add_word(spec, word, options));
    for (const DeviceSpec::Option& option : spec.options) {
      MILLRACE_TRY(add_option(spec, option, options, architecture));
    }
    if (!architecture.empty()) {
      if (!spec.words.empty()) {
        return invalid_argument(fmt::format(
            "device '{}': names an ordinal and an architecture, expected one; leave one out", spec.to_text()));
      }
      const Result<std::uint32_t> ordinal = find_architecture(options.library, architecture);
      if (!ordinal.ok()) return about_device(spec.to_text(), ordinal.status());
      options.ordinal = *ordinal;
    }
    return create_hip_device(options);
  });
}

Driver hip_driver() { return {.name = "hip", .available = is_hip_available, .enumerate = enumerate, .open = open_any}; }

}  // namespace millrace
