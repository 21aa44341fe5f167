// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "isa/instruction.h"
#include "isa/text.h"

namespace millrace::isa {

/// Whether a modifier belongs to a DPP control.
bool is_lane_control(std::string_view modifier);
/// The DPP control of an instruction; null if it has none. Fails, and names the part, if one is not modelled.
Result<std::shared_ptr<const LaneControl>> decode_lane_control(const InstructionText&, const Machine&);

}  // namespace millrace::isa
