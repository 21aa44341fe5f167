// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// The line of each instruction in to_text(kernel), counted from 1. Instructions are in text order: a loop or branch
/// first, then its contents.
std::vector<std::uint32_t> instruction_lines(const MachineKernel&);

/// A line of to_text(kernel) without its indentation and without a block's opening brace.
std::string text_of_line(const MachineKernel&, std::uint32_t line);

}  // namespace millrace
