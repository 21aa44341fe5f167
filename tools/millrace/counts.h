// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "millrace/graph/context.h"
#include "millrace/hal/device.h"

namespace millrace::tool {

/// A device that counts what kernels do.
struct CountingDevice {
  std::shared_ptr<Device> device;
  /// A table of what the kernels of the last run did: one dispatch per line, and their sum.
  std::function<std::string()> counts_text;
};

/// Opens a sim or isa device. Fails for any other device, because other devices do not count.
Result<CountingDevice> open_counting_device(const Context&, const std::string& spec);

}  // namespace millrace::tool
