// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/status.h"

namespace millrace {

/// Ok if the LLVM module is there and of this build, or why new code cannot be generated with it; what is cached runs
/// all the same. Opens the module.
Status check_llvm_module();

}  // namespace millrace
