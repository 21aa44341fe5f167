// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/hal/target_spec.h"

namespace millrace {

/// The targets to generate code for when it is shipped to other machines: the target itself and, if some cores of its
/// level have features beyond the level, the level with each set of these features. Kernels may differ from set to set.
std::vector<TargetSpec> with_feature_sets(const TargetSpec&);

}  // namespace millrace
