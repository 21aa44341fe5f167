// SPDX-License-Identifier: Apache-2.0
// The contexts of the command line tool: the default one, and one with line tables for isa devices.
#include "tools/millrace/tool_context.h"

#include <algorithm>

#include <fmt/format.h>

#include "millrace/hal/device.h"
#include "millrace/isa/driver.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace::tool {

bool executes_machine_code(const std::string& device) {
  const Result<DeviceSpec> spec = DeviceSpec::parse(device);
  if (!spec.ok()) return false;
  return spec->inner.empty() ? spec->driver == isa_driver().name : executes_machine_code(spec->inner);
}

std::shared_ptr<const Context> make_context(const ContextOptions& options) {
  auto context = std::make_shared<Context>(*make_default_context(options));
  context->drivers.push_back(isa_driver());
  return context;
}

std::shared_ptr<const Context> make_context_for(const std::string& device) {
  return make_context({.llvm = {.line_tables = executes_machine_code(device)}});
}

Result<Target> find_target(const Context& context, const std::string& spec) {
  const Result<DeviceSpec> device = DeviceSpec::parse(spec);
  // A spec with options other than tune is not a target. Without them, it is a target if its family is known, even if
  // the rest is wrong: the error then lists the targets that exist.
  const auto is_of_device = [](const DeviceSpec::Option& option) { return option.key != "tune"; };
  const bool has_options = device.ok() && std::ranges::any_of(device->options, is_of_device);
  const bool is_target = !has_options && TargetSpec::parse(spec).status().code() != StatusCode::kNotFound;
  const bool is_device =
      device.ok() && std::ranges::find(context.drivers, device->driver, &Driver::name) != context.drivers.end();
  if (is_target || !is_device) return context.target(spec);
  MILLRACE_TRY_ASSIGN(const std::shared_ptr<Device> opened, context.device(spec));
  return context.target(opened->targets().front().to_text());
}

Result<std::string> with_seed(const std::string& device, std::uint64_t seed) {
  MILLRACE_TRY_ASSIGN(DeviceSpec spec, DeviceSpec::parse(device));
  if (spec.inner.empty()) {
    spec.options.push_back({"seed", fmt::format("{}", seed)});
  } else {
    MILLRACE_TRY_ASSIGN(spec.inner, with_seed(spec.inner, seed));
  }
  return spec.to_text();
}

}  // namespace millrace::tool
