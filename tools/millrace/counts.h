// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "millrace/hal/sim_device.h"

namespace millrace::tool {

/// The simulated device of the name. Fails for any other: nobody counts there.
Result<std::shared_ptr<SimDevice>> counting_device(const std::string& name);

/// A table of what the kernels of one run did: a dispatch a line, and their sum.
std::string counts_text(std::span<const SimDispatch>);

}  // namespace millrace::tool
