// SPDX-License-Identifier: Apache-2.0
// Tries a target's generators in order until one plans the kernel, and collects the refusals.
#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "jit/plan/plan_verified.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

std::string reasons(const std::vector<Refusal>& refusals) {
  std::string text;
  for (const Refusal& refusal : refusals) text += fmt::format("\n  {}: {}", refusal.who, refusal.reason);
  return text;
}

}  // namespace

const std::string& name_of(const Kernel& kernel) {
  return std::visit([](const auto& form) -> const std::string& { return form.name; }, kernel);
}

Result<PlanOutcome> plan_kernel(const Kernel& kernel, const Target& target, const CompileKernelOptions& options) {
  return guard_allocations([&]() -> Result<PlanOutcome> {
    if (const auto* nest = std::get_if<LoopKernel>(&kernel)) MILLRACE_TRY(verify(*nest));
    return plan_verified(kernel, target, options);
  });
}

Result<PlanOutcome> plan_verified(const Kernel& kernel, const Target& target, const CompileKernelOptions& options) {
  PlanOutcome outcome;
  bool has_real_generator = false;
  for (const auto& generator : target.generators()) {
    const std::string name(generator->name());
    has_real_generator |= !generator->is_reference();
    if (!options.force_generator.empty() && options.force_generator != name) continue;
    if (generator->is_reference() && has_real_generator && !options.allow_reference &&
        options.force_generator.empty()) {
      outcome.refusals.push_back(
          {name, "it is the slow reference; set CompileKernelOptions::allow_reference to use it"});
      continue;
    }
    Result<PlannedKernel> planned = unguarded(generator->plan(kernel, target.spec()));
    if (planned.ok()) {
      outcome.kernel = *std::move(planned);
      if (const auto* loop = std::get_if<LoopKernel>(&kernel)) outcome.kernel.flops = count_flops(*loop);
      return outcome;
    }
    outcome.refusals.push_back({name, planned.status().message()});
  }
  if (outcome.refusals.empty()) {
    std::string known;
    for (const auto& generator : target.generators())
      known += fmt::format("{}{}", known.empty() ? "" : ", ", generator->name());
    return not_found(
        fmt::format("kernel {}: generator '{}' does not support {}; there are {}; force one of these, or choose a "
                    "target that it supports",
                    name_of(kernel), printable(options.force_generator), target.to_text(), known));
  }
  return unimplemented(fmt::format("kernel {}: no generator of {} supports it:{}", name_of(kernel), target.to_text(),
                                   reasons(outcome.refusals)));
}

}  // namespace millrace
