// SPDX-License-Identifier: Apache-2.0
// A target with the generators that support it.
#include "millrace/jit/target.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {
namespace {

std::string reasons_of_refusal(const TargetSpec& spec, const KernelCompilerList& generators) {
  std::string reasons;
  for (const auto& generator : generators) {
    reasons +=
        fmt::format("{}{} ({})", reasons.empty() ? "" : ", ", generator->name(), generator->supports(spec).message());
  }
  return reasons;
}

}  // namespace

Result<Target> Target::create(TargetSpec spec, const KernelCompilerList& generators) {
  return guard_allocations([&]() -> Result<Target> {
    if (generators.empty()) {
      return failed_precondition(
          fmt::format("target '{}' has no code generator; built in: none; give one that makes code "
                      "for it",
                      spec.to_text()));
    }
    const auto null = std::find(generators.begin(), generators.end(), nullptr);
    if (null != generators.end()) {
      return invalid_argument(
          fmt::format("target '{}': code generator {} of {} is null; give a generator or leave it out", spec.to_text(),
                      null - generators.begin(), generators.size()));
    }
    KernelCompilerList serving;
    for (const auto& generator : generators) {
      if (generator->supports(spec).ok()) serving.push_back(generator);
    }
    if (serving.empty()) {
      return unimplemented(
          fmt::format("target '{}' has no code generator; built in: {}; give one that makes code for it, "
                      "or choose another target",
                      spec.to_text(), reasons_of_refusal(spec, generators)));
    }
    return Target(std::move(spec), std::move(serving));
  });
}

const KernelCompiler* Target::find_generator(std::string_view name) const {
  const auto found =
      std::ranges::find_if(generators_, [&](const auto& generator) { return generator->name() == name; });
  return found == generators_.end() ? nullptr : found->get();
}

}  // namespace millrace
