// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "millrace/hal/device.h"
#include "tests/hal/list_builder.h"

// The conformance suite: what every device must do, run on every row of the table. A driver enters with one row.

namespace millrace {

struct DeviceCase {
  const char* name;
  Result<std::shared_ptr<Device>> (*create)();
};
std::span<const DeviceCase> conformance_devices();

/// Calls `test` with a fresh device of each row; a failure in it names the row.
void on_every_device(const std::function<void(Device&)>& test);
/// Only those rows whose devices run machine code of the host.
void on_every_host_code_device(const std::function<void(Device&)>& test);

/// Names memory of the test's own.
template <class T>
BufferBinding bind(std::vector<T>& values) {
  return {.data = values.data(), .size_bytes = values.size() * sizeof(T)};
}

/// Records the list and submits it once.
Status run_once(Device&, const ListBuilder&, std::shared_ptr<Executable>, std::vector<BufferBinding>,
                const SymbolValues& = {});

}  // namespace millrace
