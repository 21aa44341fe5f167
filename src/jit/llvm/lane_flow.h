// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>

#include "millrace/hal/gfx_target.h"

namespace millrace {

/// The instructions of a kernel that take values from other lanes where a lane may be off, each as
/// "v_permlanex16_b32 v2, v1, s2, s3 at byte 132": those that are reachable after an instruction narrowed EXEC, and
/// before another restored it. Workgroups are whole subgroups, so a kernel begins with every lane on; from there all
/// paths are followed, with what is known of the masks in scalar registers, and in lanes of vector registers that they
/// are spilled to (LaneMasks).
///
/// Meant are V_PERMLANE*, DS_PERMUTE, DS_BPERMUTE, DS_SWIZZLE and whatever has a DPP control: a lane that is off gives
/// them no value. V_READLANE reads a register's lane whether that is on or off, and LLVM itself uses it, and
/// V_READFIRSTLANE, within branches. A ballot cannot be told from a compare.
/// What can be reached but is no instruction, or leaves the kernel, is listed too.
std::vector<std::string> find_partial_exchanges(llvm::ArrayRef<std::uint8_t> code, const GfxTarget&);

}  // namespace millrace
