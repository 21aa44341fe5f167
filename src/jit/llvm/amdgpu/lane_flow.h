// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>

#include "millrace/hal/gfx_target.h"

namespace millrace {

/// Finds the instructions of a kernel that read values from other lanes while a lane may be off, that is, after an
/// instruction has narrowed EXEC and before another has restored it. Lists each as "v_permlanex16_b32 v2, v1, s2, s3 at
/// byte 132". Workgroups consist of whole subgroups, so a kernel begins with every lane on. The analysis follows all
/// paths from there. LaneMasks holds the facts about masks in scalar registers, and in lanes of vector registers that
/// hold spilled scalars.
///
/// Covers V_PERMLANE*, DS_PERMUTE, DS_BPERMUTE, DS_SWIZZLE and every instruction with a DPP control: these get no value
/// from a lane that is off. Does not cover V_READLANE, which also reads lanes that are off (LLVM itself uses it and
/// V_READFIRSTLANE within branches). Does not cover ballots, which look like compares. Also lists reachable bytes that
/// are not an instruction, and paths that leave the kernel.
std::vector<std::string> find_inactive_lane_reads(llvm::ArrayRef<std::uint8_t> code, const GfxTarget&);

}  // namespace millrace
