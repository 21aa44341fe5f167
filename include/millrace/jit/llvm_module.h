// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/status.h"

namespace millrace {

/// Opens the LLVM module. Ok if the module exists and belongs to this build; otherwise says why it cannot generate new
/// code. Cached kernels run in either case.
Status check_llvm_module();

}  // namespace millrace
