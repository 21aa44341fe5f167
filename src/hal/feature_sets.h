// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/hal/target_spec.h"

namespace millrace {

/// The targets to compile for when the code is shipped to other machines: the target itself and, if it is a CPU level
/// without features, that level with every combination of the optional features that some of its CPUs have. Kernels can
/// differ between the combinations.
std::vector<TargetSpec> with_feature_sets(const TargetSpec&);

}  // namespace millrace
