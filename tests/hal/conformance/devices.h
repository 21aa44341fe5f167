// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "millrace/hal/device.h"
#include "tests/hal/conformance/bind.h"
#include "tests/hal/list_builder.h"

// The conformance suite: what every device must do, run on every row of the table. A driver joins with one row.

namespace millrace {

struct DeviceCase {
  const char* name;
  Result<std::shared_ptr<Device>> (*create)();
};
/// Without the devices that execute a GPU's machine code if the build has no LLVM to generate it.
std::span<const DeviceCase> conformance_devices();

/// A device as most of the suite uses it: a submission waits for its end, and host memory may be bound. If the device
/// does not address it, its bytes are copied to buffers of the device and back, those outside of the ranges too.
class TestedDevice {
 public:
  explicit TestedDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  Device& raw() const { return *device_; }
  const TargetSpec& target() const { return device_->targets().front(); }
  const std::string& name() const { return device_->name(); }
  Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) { return device_->allocate(size_bytes); }
  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) { return device_->load(images); }
  Result<std::shared_ptr<Recording>> record(const CommandList&, std::shared_ptr<Executable>);
  /// The submission's status at its end.
  Status submit(Recording&, const Submission&);

 private:
  Result<std::vector<std::shared_ptr<Buffer>>> stage(Recording&, std::vector<BufferBinding>& bindings);

  std::shared_ptr<Device> device_;
  std::map<const Recording*, std::vector<BindingPlace>> places_;
};

/// Calls `test` with a fresh device of each row; a failure in it names the row.
void on_every_device(const std::function<void(TestedDevice&)>& test);
/// Only those rows whose devices run machine code of the host.
void on_every_host_code_device(const std::function<void(TestedDevice&)>& test);
/// Only those rows whose devices run kernels that are C++ (test_kernels.h).
void on_every_host_kernel_device(const std::function<void(TestedDevice&)>& test);
/// Only those rows whose devices use host memory in place.
void on_every_host_memory_device(const std::function<void(TestedDevice&)>& test);

/// Records the list and submits it once.
Status run_once(TestedDevice&, const ListBuilder&, std::shared_ptr<Executable>, std::vector<BufferBinding>,
                const SymbolValues& = {});

}  // namespace millrace
