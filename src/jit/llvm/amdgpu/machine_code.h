// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "millrace/base/status.h"
#include "millrace/hal/machine_code.h"

namespace millrace {

/// Implements decode_code_object inside the module.
Result<MachineCode> decode_llvm_code_object(std::span<const std::byte>);

}  // namespace millrace
