// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/guard_allocations.h"
#include "hal/checks/record.h"
#include "hal/device_errors.h"
#include "hal/host/host_buffer.h"
#include "hal/host/inline_queue.h"
#include "hal/timepoints.h"
#include "millrace/hal/device.h"

namespace millrace {

/// A device that works in the host's memory and finishes each submission before submit() returns. Derived classes load
/// executables and make recordings that run kernels. `Interface` is Device, or an interface derived from it.
template <class Interface>
class InlineDevice : public Interface {
 public:
  ~InlineDevice() override {
    this->close_control();
    queue_->close();
  }

  Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) override {
    return allocate_host_buffer(size_bytes, this->id());
  }

  Result<std::shared_ptr<Buffer>> import_host(void* data, std::size_t size_bytes, Buffer::Deleter deleter) override {
    return guard_allocations([&]() -> Result<std::shared_ptr<Buffer>> {
      return import_host_buffer(data, size_bytes, std::move(deleter), this->id());
    });
  }

  Result<std::shared_ptr<Recording>> record_straight(const CommandList& list,
                                                     std::shared_ptr<Executable> executable) override {
    if (executable != nullptr && executable->device() != this->id()) return foreign_executable(*this);
    MILLRACE_TRY(check_record(list, executable.get()));
    MILLRACE_TRY_ASSIGN(std::shared_ptr<Recording> recording, make_recording(list, std::move(executable)));
    return recording;
  }

  Status submit_straight(Recording& recording, const Submission& submission) override {
    if (recording.device() == this->id()) {
      return queue_->submit(static_cast<const InlineRecording&>(recording), submission);
    }
    return settle(submission.signal, guard_allocations([&] { return foreign_recording(this->name()); }));
  }

 protected:
  explicit InlineDevice(DeviceInfo info) : Interface(std::move(info)) {}

 private:
  /// Precondition: check_record(list, executable) is ok, and the executable is the device's own or null.
  virtual Result<std::shared_ptr<InlineRecording>> make_recording(const CommandList&,
                                                                  std::shared_ptr<Executable>) const = 0;

  std::shared_ptr<InlineQueue> queue_ = std::make_shared<InlineQueue>();
};

}  // namespace millrace
