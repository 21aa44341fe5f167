// SPDX-License-Identifier: Apache-2.0
// The driver "isa": opens devices that execute AMD GPU machine code on the host, and parses their options.
#include "millrace/isa/driver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guard_allocations.h"
#include "hal/device_errors.h"
#include "hal/device_options.h"
#include "jit/llvm_client/open_module.h"
#include "millrace/hal/device.h"
#include "millrace/jit/code_object.h"

namespace millrace {
namespace {

Status is_llvm_here() { return find_llvm_module().status(); }

Result<std::shared_ptr<IsaDevice>> create(const TargetSpec& target, const IsaDeviceOptions& options = {}) {
  return create_isa_device(target, decode_code_object, options);
}

Result<std::vector<DeviceInfo>> enumerate_isa() {
  std::vector<DeviceInfo> devices;
  for (const GfxTarget& gfx : gfx_targets()) {
    MILLRACE_TRY_ASSIGN(const auto device, create({.family = "amdgpu", .gfx = std::string(gfx.name)}));
    devices.push_back(device->info());
  }
  return devices;
}

Result<bool> parse_checks(const DeviceSpec& spec, const DeviceSpec::Option& option) {
  if (option.value == "on" || option.value == "off") return option.value == "on";
  return invalid_argument(fmt::format("device '{}': checks is '{}', expected on or off", spec.to_text(), option.value));
}

Result<IsaDeviceOptions> parse_options(const DeviceSpec& spec) {
  IsaDeviceOptions options;
  for (const DeviceSpec::Option& option : spec.options) {
    if (option.key == "seed") {
      MILLRACE_TRY_ASSIGN(options.seed, parse_seed(spec, option));
    } else if (option.key == "checks") {
      MILLRACE_TRY_ASSIGN(options.finds_mistakes, parse_checks(spec, option));
    } else {
      return invalid_argument(
          fmt::format("device '{}': option '{}' is not known; isa takes seed and checks", spec.to_text(), option.key));
    }
  }
  return options;
}

Status which_gpu(const DeviceSpec& spec) {
  std::vector<std::string_view> names;
  for (const GfxTarget& gfx : gfx_targets()) names.push_back(gfx.name);
  return invalid_argument(fmt::format("device '{}': no GPU is named, expected one of: {}; say isa:{}", spec.to_text(),
                                      fmt::join(names, ", "), names.front()));
}

Result<std::shared_ptr<Device>> open_any(const DeviceSpec& spec) {
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> device, open_isa_device(spec));
  return device;
}

}  // namespace

Result<std::shared_ptr<IsaDevice>> open_isa_device(const DeviceSpec& spec) {
  return guard_allocations([&]() -> Result<std::shared_ptr<IsaDevice>> {
    MILLRACE_TRY_ASSIGN(const IsaDeviceOptions options, parse_options(spec));
    if (spec.words.empty()) return which_gpu(spec);
    const DeviceSpec as_target{.driver = "amdgpu", .words = spec.words};
    const Result<TargetSpec> target = TargetSpec::parse(as_target.to_text());
    if (!target.ok()) return about_device(spec.to_text(), target.status());
    return create(*target, options);
  });
}

Driver isa_driver() { return {.name = "isa", .available = is_llvm_here, .enumerate = enumerate_isa, .open = open_any}; }

}  // namespace millrace
