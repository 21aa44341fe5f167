// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "graph/run/slab_plan.h"
#include "millrace/graph/schedule.h"

namespace millrace {

/// Extracts the plan. Null if the slab is one binding, in which every transient has a fixed place. Precondition:
/// verify(Schedule).
std::shared_ptr<const SlabPlan> find_slab_plan(const Schedule&);

}  // namespace millrace
