// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/hal/target_spec.h"

namespace millrace {

/// All targets that a target stands for when code is generated for other machines: itself and, for a level beyond which
/// some cores have features, the level with each set of these features. Kernels may differ from set to set.
std::vector<TargetSpec> with_feature_sets(const TargetSpec&);

}  // namespace millrace
