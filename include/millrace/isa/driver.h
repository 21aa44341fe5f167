// SPDX-License-Identifier: Apache-2.0
// Part of the library millrace_isa, which an application must link explicitly.
#pragma once

#include <memory>

#include "millrace/hal/driver.h"
#include "millrace/isa/device.h"

namespace millrace {

/// The driver of devices such as "isa:gfx1100" or "isa:gfx1100,seed=3": a GPU whose machine code is executed on the
/// host, see IsaDevice. The options "seed=3" and "checks=off" set IsaDeviceOptions::seed and turn finds_mistakes off.
/// Needs the LLVM module, which disassembles the code. Add the driver to Context::drivers.
Driver isa_driver();

/// Opens a spec of isa_driver().
Result<std::shared_ptr<IsaDevice>> open_isa_device(const DeviceSpec&);

}  // namespace millrace
