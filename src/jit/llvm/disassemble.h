// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "millrace/hal/target_spec.h"

namespace millrace {

/// One instruction per line with its offset: "  1c:  vfmadd231ps ...". Bytes that are not an instruction become
/// ".byte". Precondition: LLVM's targets are initialised.
std::string disassemble(std::span<const std::byte> code, const TargetSpec&);

}  // namespace millrace
