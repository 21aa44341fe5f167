// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "hal/cpu/code_symbols.h"
#include "millrace/hal/device.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

/// Ok if a host that executes `levels`, and `features` beyond the last level, can be a device for `spec`. A separate
/// function, so that a test can ask about hosts other than its own.
Status check_host_executes(const TargetSpec& spec, std::span<const IsaLevel> levels, const CpuFeatures& features);

/// Like create_cpu_device, with tools to which code is reported. `is_usual`: the threads are the ones of "cpu" without
/// options.
Result<std::shared_ptr<Device>> create_cpu_device(const TargetSpec& best, const CpuDeviceOptions&, const CodeSymbols&,
                                                  bool is_usual = false);

}  // namespace millrace
