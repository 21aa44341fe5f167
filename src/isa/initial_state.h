// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "isa/workgroup.h"

namespace millrace::isa {

/// Adds the waves of a workgroup, with the initial registers that its kernel's descriptor requests.
void start_waves(Workgroup&);

}  // namespace millrace::isa
