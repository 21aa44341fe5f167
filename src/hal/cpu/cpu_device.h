// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "hal/cpu/code_symbols.h"
#include "millrace/hal/device.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

/// Ok if a host with these levels, and these features beyond the last level, can run code for `spec`. The host is a
/// parameter, so that a test can describe hosts other than its own.
Status check_host_executes(const TargetSpec& spec, std::span<const IsaLevel> levels, const CpuFeatures& features);

/// Like the public create_cpu_device(), and reports code to the tools of CodeSymbols. `is_usual`: the threads are the
/// same as those of the device "cpu" without options.
Result<std::shared_ptr<Device>> create_cpu_device(const TargetSpec& best, const CpuDeviceOptions&, const CodeSymbols&,
                                                  bool is_usual = false);

}  // namespace millrace
