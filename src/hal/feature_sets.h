// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/hal/target_spec.h"

namespace millrace {

/// The targets of the machines that a target is said for: itself and, if it is a level that some cores have features
/// beyond, the level with each set of these. Its kernels may differ from set to set.
std::vector<TargetSpec> with_feature_sets(const TargetSpec&);

}  // namespace millrace
