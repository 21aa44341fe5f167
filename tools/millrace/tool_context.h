// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "millrace/graph/context.h"
#include "millrace/jit/target.h"

namespace millrace::tool {

/// The library's default context and the driver isa, which executes a GPU's machine code.
std::shared_ptr<const Context> make_context(const ContextOptions& = {});

/// Whether the spec names a device that executes a GPU's machine code.
bool executes_machine_code(const std::string& device);

/// The context for programs that run on the device of a spec. If that executes machine code, the code has line tables:
/// the device's findings then name the line of the kernel's text.
std::shared_ptr<const Context> make_context_for(const std::string& device);

/// The target that a spec names: a target's own spec, "amdgpu:gfx1100", or a device's, "isa:gfx1100", whose best target
/// it is.
Result<Target> find_target(const Context&, const std::string& spec);

/// Adds an option to the spec: "sim:gfx1100", 3 give "sim:gfx1100,seed=3". A wrapper passes the option on to the spec
/// inside it.
Result<std::string> with_seed(const std::string& device, std::uint64_t seed);

}  // namespace millrace::tool
