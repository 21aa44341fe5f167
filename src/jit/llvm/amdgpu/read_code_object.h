// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "millrace/jit/code_object.h"

namespace millrace {

/// Implements read_code_object inside the module.
Result<CodeObjectInfo> read_llvm_code_object(std::span<const std::byte>);

}  // namespace millrace
