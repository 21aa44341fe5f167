// SPDX-License-Identifier: Apache-2.0
#include "millrace/graph/context.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/hal/device.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {
namespace {

std::string_view family_of(std::string_view spec) { return spec.substr(0, spec.find(':')); }

/// What there is, for a message.
std::string built_in(const Context& context) {
  std::string drivers, generators;
  for (const Driver& driver : context.drivers) drivers += (drivers.empty() ? "" : ", ") + driver.name;
  for (const auto& generator : context.generators) {
    generators += fmt::format("{}{}", generators.empty() ? "" : ", ", generator ? generator->name() : "(null)");
  }
  return fmt::format("devices built in: {}; code generators built in: {}", drivers.empty() ? "none" : drivers,
                     generators.empty() ? "none" : generators);
}

Result<const Driver*> find_driver(const Context& context, std::string_view spec) {
  for (const Driver& driver : context.drivers) {
    if (driver.name != family_of(spec)) continue;
    if (driver.available != nullptr && driver.create != nullptr) return &driver;
    return invalid_argument(
        fmt::format("device '{}': driver '{}' lacks available or create; give both", spec, driver.name));
  }
  return not_found(fmt::format("device '{}' is not known; {}; say 'cpu' for this host", spec, built_in(context)));
}

/// A message of the layer below, with the device in front.
Status about(std::string_view spec, const Status& status) {
  return {status.code(), fmt::format("device '{}': {}", spec, status.message())};
}

}  // namespace

Result<Target> Context::target(std::string_view spec) const {
  return guard_allocations(
      [&] { return fmt::format("device '{}'", spec); },
      [&]() -> Result<Target> {
        Result<TargetSpec> parsed = TargetSpec::parse(spec);
        if (!parsed.ok()) {
          const bool is_family = parsed.status().code() != StatusCode::kNotFound;
          if (!is_family) MILLRACE_TRY(find_driver(*this, spec).status());
          return about(spec, parsed.status());
        }
        Result<Target> target = Target::create(*parsed, generators);
        if (!target.ok()) {
          return Status(target.status().code(),
                        fmt::format("device '{}': {}; {}", spec, target.status().message(), built_in(*this)));
        }
        return target;
      });
}

Result<std::shared_ptr<Device>> Context::device(std::string_view spec) const {
  return guard_allocations(
      [&] { return fmt::format("device '{}'", spec); },
      [&]() -> Result<std::shared_ptr<Device>> {
        const Result<const Driver*> found = find_driver(*this, spec);
        if (found.status().code() == StatusCode::kNotFound && target(spec).ok()) {
          const TargetSpec known = TargetSpec::parse(spec).value();
          const std::string advice = find_driver(*this, "sim").ok() && known.is_gpu()
                                         ? fmt::format("say sim:{} to simulate it; ", known.gfx)
                                         : "";
          return not_found(fmt::format("device '{}': code can be generated for it, but no driver here runs it; {}{}",
                                       spec, advice, built_in(*this)));
        }
        MILLRACE_TRY_ASSIGN(const Driver* driver, found);
        const Status available = driver->available();
        if (!available.ok()) return about(spec, available);
        Result<TargetSpec> parsed = TargetSpec::parse(spec);
        if (!parsed.ok()) return about(spec, parsed.status());
        Result<std::shared_ptr<Device>> device = driver->create(*parsed);
        if (device.ok() && *device == nullptr) {
          return internal_error(
              fmt::format("device '{}': driver '{}' gave no device and no error", spec, driver->name));
        }
        return device;
      });
}

}  // namespace millrace
