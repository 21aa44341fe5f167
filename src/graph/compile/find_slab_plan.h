// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "graph/run/slab_plan.h"
#include "millrace/graph/schedule.h"

namespace millrace {

/// Extracts the plan; null if the slab is one binding, whose parts never move. Precondition: verify(Schedule).
std::shared_ptr<const SlabPlan> find_slab_plan(const Schedule&);

}  // namespace millrace
