// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/base/status.h"
#include "millrace/hal/device_spec.h"

// Parses the values of options that several drivers accept.

namespace millrace {

// If a value is wrong, the error names the device, the option and the value.

/// "seed=3".
Result<std::uint64_t> parse_seed(const DeviceSpec&, const DeviceSpec::Option&);
/// "threads=4": a number from 1 to `max_count`. `or_else` names the other accepted values, for the message.
Result<std::uint32_t> parse_count(const DeviceSpec&, const DeviceSpec::Option&, std::uint32_t max_count,
                                  std::string_view or_else);
/// "pinned=on", "pinned=off".
Result<bool> parse_switch(const DeviceSpec&, const DeviceSpec::Option&);

}  // namespace millrace
