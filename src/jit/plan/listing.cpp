// SPDX-License-Identifier: Apache-2.0
// The default implementation of KernelCompiler::listing: a refusal that says how to get a listing.
#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

std::string_view to_text(ListingKind kind) {
  constexpr std::string_view kNames[] = {"LLVM IR", "assembly", "object file"};
  return kNames[static_cast<std::size_t>(kind)];
}

Result<std::string> KernelCompiler::listing(const PlannedKernel& kernel, const TargetSpec& spec,
                                            ListingKind kind) const {
  return guard_allocations([&]() -> Result<std::string> {
    const std::string advice = spec.is_simulated() ? "lower the graph for amdgpu:" + spec.gfx
                                                   : "ask for another form of it, or force another generator";
    return unimplemented(
        fmt::format("kernel '{}': the generator {} makes no {}; {}", kernel.name, name(), to_text(kind), advice));
  });
}

}  // namespace millrace
