// SPDX-License-Identifier: Apache-2.0
// Extracts from a schedule what a run needs to place transients whose sizes it binds.
#include "graph/compile/find_slab_plan.h"

#include <algorithm>
#include <map>

#include "millrace/base/saturating.h"

namespace millrace {

std::shared_ptr<const SlabPlan> find_slab_plan(const Schedule& schedule) {
  if (!schedule.is_placed_by_runs()) return nullptr;
  auto plan = std::make_shared<SlabPlan>();
  std::map<SizeExpr, std::uint32_t, decltype(&form_less)> slots(&form_less);  // keyed by offset
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != Lifetime::kTransient) continue;
    SlabPlan::Transient transient{.life = {resource.first_timepoint, resource.last_timepoint}};
    if (resource.size_bytes.is_constant()) {
      transient.offset_bytes = resource.offset_bytes.constant();
      const std::int64_t end = saturating::add(transient.offset_bytes, resource.size_bytes.constant());
      plan->fixed_bytes = std::max(plan->fixed_bytes, align_slab_bytes(end));
    } else {
      transient.slot = slots.try_emplace(resource.offset_bytes, static_cast<std::uint32_t>(slots.size())).first->second;
    }
    plan->transients.push_back(transient);
  }
  plan->num_slots = static_cast<std::uint32_t>(slots.size());
  return plan;
}

}  // namespace millrace
