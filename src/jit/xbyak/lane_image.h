// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <functional>
#include <string_view>

#include "jit/xbyak/emit_lanes.h"
#include "millrace/base/status.h"
#include "millrace/hal/executable.h"

namespace millrace {

/// Emits a function at an aligned position, which it returns.
std::int64_t append_lanes(LaneAssembler&, const LaneFunction&);

/// A call of a routine whose parameters are a struct of i64.
template <class Parameters>
RoutineCall call_of(std::string_view name, std::uint32_t abi_version, const Parameters& parameters) {
  RoutineCall call = {std::string(name), abi_version, {}};
  call.parameters.resize(sizeof(parameters) / sizeof(std::int64_t));
  std::memcpy(call.parameters.data(), &parameters, sizeof(parameters));
  return call;
}

/// The image with the functions that `emit` appends, for the routine whose call it returns.
Result<ExecutableImage> emit_lane_image(const std::function<RoutineCall(LaneAssembler&)>& emit);

}  // namespace millrace
