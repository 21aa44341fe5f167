// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "millrace/hal/target_spec.h"

namespace millrace {

/// Ok if a host that executes `levels` can be a device for `spec`. A function of its own, so that a test can ask about
/// hosts that it does not run on.
Status check_host_executes(const TargetSpec& spec, std::span<const IsaLevel> levels);

}  // namespace millrace
