// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// Checks types, immediates and memory of one instruction whose ids are in range and whose operands, results and
/// blocks have the right number. Gives what is wrong, one item a broken rule, without saying where.
std::vector<std::string> check_machine_types(const MachineKernel&, const MachineInstruction&);

}  // namespace millrace
