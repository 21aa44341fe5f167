// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// Checks the types, immediates and memory of one instruction. Returns one message per broken rule, without the place.
/// Preconditions: ids are in range, and the numbers of operands, results and blocks are right.
std::vector<std::string> check_machine_types(const MachineKernel&, const MachineInstruction&);

}  // namespace millrace
