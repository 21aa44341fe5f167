// SPDX-License-Identifier: Apache-2.0
#include "millrace/graph/context.h"

#include <fmt/format.h>

namespace millrace {
namespace {

std::string_view family_of(std::string_view spec) { return spec.substr(0, spec.find(':')); }

const Driver* find_driver(const Context& context, std::string_view family) {
  for (const Driver& driver : context.drivers) {
    if (driver.name == family) return &driver;
  }
  return nullptr;
}

/// What there is, for a message.
std::string built_in(const Context& context) {
  std::string drivers, generators;
  for (const Driver& driver : context.drivers) drivers += (drivers.empty() ? "" : ", ") + driver.name;
  for (const auto& generator : context.generators) {
    generators += fmt::format("{}{}", generators.empty() ? "" : ", ", generator->name());
  }
  return fmt::format("devices built in: {}; code generators built in: {}", drivers.empty() ? "none" : drivers,
                     generators.empty() ? "none" : generators);
}

}  // namespace

Result<Target> Context::target(std::string_view spec) const {
  const Driver* driver = find_driver(*this, family_of(spec));
  if (driver == nullptr) {
    return not_found(fmt::format("device '{}' is not known; {}; say 'cpu' for this host", spec, built_in(*this)));
  }
  Result<TargetSpec> parsed = TargetSpec::parse(spec);
  if (!parsed.ok()) return parsed.status();
  Result<Target> target = Target::create(*parsed, CodeGeneratorList(generators.begin(), generators.end()));
  if (!target.ok()) {
    return Status(target.status().code(),
                  fmt::format("device '{}': {}; {}", spec, target.status().message(), built_in(*this)));
  }
  return target;
}

Result<std::shared_ptr<Device>> Context::device(std::string_view spec) const {
  const Driver* driver = find_driver(*this, family_of(spec));
  if (driver == nullptr) {
    return not_found(fmt::format("device '{}' is not known; {}; say 'cpu' for this host", spec, built_in(*this)));
  }
  MILLRACE_TRY(driver->available());
  Result<TargetSpec> parsed = TargetSpec::parse(spec);
  if (!parsed.ok()) return parsed.status();
  return driver->create(*parsed);
}

std::shared_ptr<const Context> make_default_context(const ContextOptions& options) {
  auto context = std::make_shared<Context>();
  context->drivers = {cpu_driver()};
  context->generators = {make_xbyak_generator(), make_llvm_generator(), make_interpreter_generator()};
  context->cache = std::make_shared<KernelCache>(KernelCache::Options{.directory = options.cache_directory});
  return context;
}

}  // namespace millrace
