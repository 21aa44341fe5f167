// SPDX-License-Identifier: Apache-2.0
// A wrapper that prints every command of a device, for `--device trace(...)`.
#include <mutex>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/command_text.h"
#include "hal/device_errors.h"
#include "hal/timepoints.h"
#include "millrace/hal/device.h"

namespace millrace {
namespace {

struct TraceRecording final : Recording {
  TraceRecording(DeviceId tracer, const CommandList& commands, std::shared_ptr<Recording> recording)
      : Recording(tracer), list(commands), inner(std::move(recording)) {}
  CommandList list;
  std::shared_ptr<Recording> inner;
};

DeviceInfo traced(DeviceInfo info) {
  info.name = fmt::format("trace({})", info.name);
  return info;
}

/// Prints recorded commands with sizes as expressions, and submitted commands with their values. A failure follows on a
/// line of its own. A failure after submit() has returned is not printed.
class TraceDevice final : public Device {
 public:
  TraceDevice(std::shared_ptr<Device> inner, Callback<std::string_view> sink)
      : Device(traced(inner->info()), inner->id()), inner_(std::move(inner)), sink_(std::move(sink)) {}

  ~TraceDevice() override { close_control(); }

  std::shared_ptr<Executor> executor() const override { return inner_->executor(); }
  Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) override { return inner_->allocate(size_bytes); }
  Result<std::shared_ptr<Buffer>> import_host(void* data, std::size_t size_bytes, Buffer::Deleter deleter) override {
    return inner_->import_host(data, size_bytes, std::move(deleter));
  }
  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial_value) override {
    return inner_->create_semaphore(initial_value);
  }
  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) override {
    return inner_->load(images);
  }
  Status read_back(const Buffer& buffer, std::size_t offset_bytes, std::span<std::byte> destination) override {
    return inner_->read_back(buffer, offset_bytes, destination);
  }

  Result<std::shared_ptr<Recording>> record_straight(const CommandList& list,
                                                     std::shared_ptr<Executable> executable) override {
    append_commands("record", list, {});
    Result<std::shared_ptr<Recording>> recording = inner_->record(list, std::move(executable));
    append_failure("record", recording.status());
    if (!recording.ok()) return recording.status();
    return std::shared_ptr<Recording>(std::make_shared<TraceRecording>(tracer_, list, *std::move(recording)));
  }

  Status submit_straight(Recording& recording, const Submission& submission) override {
    const Status traced = guard_allocations([&]() -> Status {
      if (recording.device() != tracer_) return foreign_recording(name());
      append_commands("submit", static_cast<TraceRecording&>(recording).list, submission.sizes);
      return {};
    });
    if (!traced.ok()) return settle(submission.signal, traced);
    const Status status = inner_->submit(*static_cast<TraceRecording&>(recording).inner, submission);
    return guard_allocations([&] {
      append_failure("submit", status);
      return status;
    });
  }

 private:
  void append_commands(std::string_view verb, const CommandList& list, std::span<const std::int64_t> values) {
    const SizeText size(list, values);
    const std::lock_guard lock(sink_mutex_);
    for (const Command& command : list.commands) sink_(fmt::format("{} {}", verb, to_text(list, command, size)));
  }

  void append_failure(std::string_view verb, const Status& status) {
    if (status.ok()) return;
    const std::lock_guard lock(sink_mutex_);
    sink_(fmt::format("{} failed: {}", verb, status.message()));
  }

  const DeviceId tracer_ = new_device_id();  // the id of recordings; everything else belongs to the inner device
  std::shared_ptr<Device> inner_;
  std::mutex sink_mutex_;
  Callback<std::string_view> sink_;
};

}  // namespace

std::shared_ptr<Device> create_trace_device(std::shared_ptr<Device> inner, Callback<std::string_view> sink) {
  if (inner == nullptr || !sink) return inner;
  return std::make_shared<TraceDevice>(std::move(inner), std::move(sink));
}

}  // namespace millrace
