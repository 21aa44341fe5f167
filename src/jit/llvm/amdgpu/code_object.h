// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Object/ELF.h>

#include "jit/llvm/amdgpu/read_code_object.h"
#include "millrace/hal/gfx_target.h"

namespace millrace {

using CodeObjectElf = llvm::object::ELFFile<llvm::object::ELF64LE>;

/// The part of read_code_object that needs no disassembly: everything except inactive_lane_reads.
llvm::Expected<CodeObjectInfo> read_tables(const CodeObjectElf&);

/// The GPU that the object is for; null if it is not in gfx_targets().
const GfxTarget* gfx_target_of(const CodeObjectInfo&);

}  // namespace millrace
