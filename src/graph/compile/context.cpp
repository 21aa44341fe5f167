// SPDX-License-Identifier: Apache-2.0
// Finds the driver and the generators for a device or target that the caller names. If the name is unknown, the message
// lists what is built in.
#include "millrace/graph/context.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/base/printable.h"
#include "millrace/hal/device.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {
namespace {

/// Lists the drivers and generators for a message.
std::string built_in(const Context& context) {
  std::string drivers, generators;
  for (const Driver& driver : context.drivers) drivers += (drivers.empty() ? "" : ", ") + driver.name;
  for (const auto& generator : context.generators) {
    generators += fmt::format("{}{}", generators.empty() ? "" : ", ", generator ? generator->name() : "(null)");
  }
  return fmt::format("devices built in: {}; code generators built in: {}", drivers.empty() ? "none" : drivers,
                     generators.empty() ? "none" : generators);
}

Result<const Driver*> find_driver(const Context& context, std::string_view name, std::string_view spec) {
  for (const Driver& driver : context.drivers) {
    if (driver.name != name) continue;
    if (driver.available != nullptr && driver.enumerate != nullptr && driver.open != nullptr) return &driver;
    return invalid_argument(fmt::format("device '{}': driver '{}' lacks available, enumerate or open; give all three",
                                        printable(spec), driver.name));
  }
  return not_found(
      fmt::format("device '{}' is not known; {}; say 'cpu' for this host", printable(spec), built_in(context)));
}

/// The status of the layer below, with the device's name in front.
Status with_device(std::string_view spec, const Status& status) {
  return {status.code(), fmt::format("device '{}': {}", printable(spec), status.message())};
}

/// The error for a target that code can be generated for, but that no driver here can run.
Status no_driver(const Context& context, std::string_view spec, const TargetSpec& target) {
  const auto advice = [&](std::string_view driver, std::string_view device, std::string_view verb) {
    const bool is_here = std::ranges::find(context.drivers, driver, &Driver::name) != context.drivers.end();
    return target.is_gpu() && is_here ? fmt::format("say {}{} to {} it; ", device, target.gfx, verb) : "";
  };
  return not_found(fmt::format("device '{}': code can be generated for it, but no device has this name; {}{}{}{}",
                               printable(spec), advice("hip", "hip:arch=", "run"), advice("sim", "sim:", "simulate"),
                               advice("isa", "isa:", "execute"), built_in(context)));
}

Result<std::shared_ptr<Device>> open_device(const Context& context, const DeviceSpec& spec, std::string_view text) {
  const Result<const Driver*> driver = find_driver(context, spec.driver, text);
  if (driver.status().code() == StatusCode::kNotFound) {
    const Result<TargetSpec> target = unguarded(TargetSpec::parse(text));
    if (target.ok() && context.target(text).ok()) return no_driver(context, text, *target);
    const bool is_family = target.status().code() != StatusCode::kNotFound;
    if (!target.ok() && is_family) return with_device(text, target.status());
  }
  MILLRACE_TRY(driver.status());
  Result<std::shared_ptr<Device>> device = (*driver)->open(spec);
  if (device.ok() && *device != nullptr) return device;
  // Call available(), which gives the reason, only after opening failed: a spec may supply what the system lacks, such
  // as a library's path.
  if (device.status().code() == StatusCode::kUnavailable) return with_device(text, device.status());
  if (!device.ok()) return device.status();
  if (const Status available = (*driver)->available(); !available.ok()) return with_device(text, available);
  return internal_error(
      fmt::format("device '{}': driver '{}' gave no device and no error", printable(text), spec.driver));
}

void write_trace(std::string_view line) {
  const std::string text = fmt::format("{}\n", line);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

Result<Target> Context::target(std::string_view spec) const {
  const auto where = [&] { return fmt::format("device '{}'", printable(spec)); };
  return guard_allocations(where, [&]() -> Result<Target> {
    Result<TargetSpec> parsed = unguarded(TargetSpec::parse(spec));
    if (!parsed.ok()) {
      const bool is_family = parsed.status().code() != StatusCode::kNotFound;
      if (!is_family) MILLRACE_TRY(find_driver(*this, spec.substr(0, spec.find(':')), spec).status());
      return with_device(spec, parsed.status());
    }
    Result<Target> target = unguarded(Target::create(*parsed, generators));
    if (!target.ok()) {
      return Status(target.status().code(),
                    fmt::format("device '{}': {}; {}", printable(spec), target.status().message(), built_in(*this)));
    }
    return target;
  });
}

Result<std::shared_ptr<Device>> Context::device(std::string_view spec) const {
  const auto where = [&] { return fmt::format("device '{}'", printable(spec)); };
  return guard_allocations(where, [&]() -> Result<std::shared_ptr<Device>> {
    MILLRACE_TRY_ASSIGN(const DeviceSpec parsed, DeviceSpec::parse(spec));
    if (parsed.driver != "trace" || parsed.inner.empty()) return open_device(*this, parsed, spec);
    MILLRACE_TRY_ASSIGN(std::shared_ptr<Device> inner, device(parsed.inner));
    return create_trace_device(std::move(inner), write_trace);
  });
}

}  // namespace millrace
