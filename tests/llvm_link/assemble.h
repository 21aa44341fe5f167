// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/hal/gfx_target.h"

namespace millrace::test {

/// What the assembler makes of a line.
struct AssembledLine {
  std::vector<std::byte> bytes = {};
  std::string error = {};  // why it is not an instruction
};

/// LLVM's assembler on lines of one instruction each, for a processor and a size of its waves.
std::vector<AssembledLine> assemble(std::span<const std::string> lines, const GfxTarget&, std::uint32_t subgroup_size);

}  // namespace millrace::test
