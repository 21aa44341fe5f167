// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "millrace/graph/context.h"
#include "millrace/jit/target.h"

namespace millrace::tool {

/// The library's default context with the driver isa added, which executes a GPU's machine code.
std::shared_ptr<const Context> make_context(const ContextOptions& = {});

/// Whether the spec names a device that executes a GPU's machine code.
bool executes_machine_code(const std::string& device);

/// The context for programs that run on the device of a spec. If the device executes machine code, the code has line
/// tables, so that the device's errors name the line of the kernel's text.
std::shared_ptr<const Context> make_context_for(const std::string& device);

/// The target for a spec. A target's spec, such as "amdgpu:gfx1100", names the target; a device's spec, such as
/// "isa:gfx1100", gives the device's best target.
Result<Target> find_target(const Context&, const std::string& spec);

/// Adds an option to the spec: "sim:gfx1100", 3 give "sim:gfx1100,seed=3". For a wrapper device, adds the option to the
/// spec inside it.
Result<std::string> with_seed(const std::string& device, std::uint64_t seed);

}  // namespace millrace::tool
