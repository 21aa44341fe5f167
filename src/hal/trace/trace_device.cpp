// SPDX-License-Identifier: Apache-2.0
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
  TraceRecording(const CommandList& commands, std::unique_ptr<Recording> recording)
      : list(commands), inner(std::move(recording)) {}
  CommandList list;
  std::unique_ptr<Recording> inner;
};

/// Recorded commands show expressions, submitted ones their values. A failure is a line of its own after them.
class TraceDevice final : public Device {
 public:
  TraceDevice(std::shared_ptr<Device> inner, std::vector<std::string>* log)
      : inner_(std::move(inner)), name_(fmt::format("trace({})", inner_->name())), log_(log) {}

  std::string_view name() const override { return name_; }
  const TargetSpec& target() const override { return inner_->target(); }
  Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) override { return inner_->allocate(size_bytes); }
  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) override {
    return inner_->load(images);
  }

  Result<std::unique_ptr<Recording>> record(const CommandList& list, std::shared_ptr<Executable> executable) override {
    return guard_allocations("record", [&]() -> Result<std::unique_ptr<Recording>> {
      append_commands("record", list, {});
      Result<std::unique_ptr<Recording>> recording = inner_->record(list, std::move(executable));
      append_failure("record", recording.status());
      if (!recording.ok()) return recording.status();
      return std::unique_ptr<Recording>(std::make_unique<TraceRecording>(list, *std::move(recording)));
    });
  }

  Status submit(Recording& recording, const Submission& submission) override {
    auto* ours = dynamic_cast<TraceRecording*>(&recording);
    const Status traced = guard_allocations("submit", [&]() -> Status {
      if (ours == nullptr) return foreign_recording(name_);
      append_commands("submit", ours->list, submission.sizes);
      return {};
    });
    if (!traced.ok()) return settle(submission.signal, traced);
    const Status status = inner_->submit(*ours->inner, submission);
    return guard_allocations("submit", [&] {
      append_failure("submit", status);
      return status;
    });
  }

 private:
  void append_commands(std::string_view verb, const CommandList& list, std::span<const std::int64_t> values) {
    const SizeText size(list, values);
    const std::lock_guard lock(log_mutex_);
    for (const Command& command : list.commands)
      log_->push_back(fmt::format("{} {}", verb, to_text(list, command, size)));
  }

  void append_failure(std::string_view verb, const Status& status) {
    if (status.ok()) return;
    const std::lock_guard lock(log_mutex_);
    log_->push_back(fmt::format("{} failed: {}", verb, status.message()));
  }

  std::shared_ptr<Device> inner_;
  std::string name_;
  std::mutex log_mutex_;
  std::vector<std::string>* log_;
};

}  // namespace

std::shared_ptr<Device> create_trace_device(std::shared_ptr<Device> inner, std::vector<std::string>* log) {
  if (inner == nullptr || log == nullptr) return inner;
  return std::make_shared<TraceDevice>(std::move(inner), log);
}

}  // namespace millrace
