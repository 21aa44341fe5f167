// SPDX-License-Identifier: Apache-2.0
// Part of the library millrace_isa, which only those link who ask for it.
#pragma once

#include <memory>

#include "millrace/hal/driver.h"
#include "millrace/hal/isa_device.h"

namespace millrace {

/// "isa:gfx1100", "isa:gfx1100,seed=3": a GPU whose machine code is executed in the host's memory, see IsaDevice. The
/// options are IsaDeviceOptions': "seed=3", and "checks=off" to find no mistakes. Needs the LLVM module, whose
/// disassembler takes the code apart. Add it to the drivers of a Context.
Driver isa_driver();

/// Opens a spec of isa_driver().
Result<std::shared_ptr<IsaDevice>> open_isa_device(const DeviceSpec&);

}  // namespace millrace
