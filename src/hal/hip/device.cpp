// SPDX-License-Identifier: Apache-2.0
// The HIP device: memory, imports, loading and reading back. queue.cpp runs its submissions.
#include <algorithm>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guard_allocations.h"
#include "hal/checks/record.h"
#include "hal/device_errors.h"
#include "hal/hip/buffer.h"
#include "hal/hip/queue.h"
#include "hal/timepoints.h"
#include "millrace/hal/hip_device.h"

namespace millrace {
namespace hip {
namespace {

class DrivenDevice final : public HipDevice {
 public:
  DrivenDevice(const DeviceInfo& info, std::shared_ptr<Context> context, std::chrono::nanoseconds time_limit)
      : HipDevice(info, context->id()), context_(std::move(context)), time_limit_(time_limit) {}
  ~DrivenDevice() override {
    close_control();
    if (queue_ != nullptr) queue_->close();
  }

  Status open(const HipDeviceOptions& options) {
    const CurrentDevice current(*context_);
    MILLRACE_TRY(current.status());
    MILLRACE_TRY_ASSIGN(memory_, DeviceMemory::create(context_));
    MILLRACE_TRY_ASSIGN(std::unique_ptr<Channels> channels, Channels::create(context_, memory_, options));
    MILLRACE_TRY_ASSIGN(read_stream_, OwnedStream::create(context_));
    auto queue = std::make_shared<Queue>(std::move(channels), time_limit_);
    try {
      queue->start();
    } catch (const std::system_error& error) {
      return resource_exhausted(fmt::format("device '{}': its thread cannot be started: {}", name(), error.what()));
    }
    queue_ = std::move(queue);
    return {};
  }

  Result<std::shared_ptr<Buffer>> allocate(std::size_t size_bytes) override {
    return guard_allocations([&]() -> Result<std::shared_ptr<Buffer>> {
      MILLRACE_TRY(context_->lost());
      MILLRACE_TRY_ASSIGN(std::unique_ptr<DeviceBlock> block, DeviceBlock::allocate(memory_, size_bytes));
      return std::shared_ptr<Buffer>(std::make_shared<HipBuffer>(id(), std::move(block), size_bytes));
    });
  }

  Result<std::shared_ptr<Buffer>> import_host(void*, std::size_t, Buffer::Deleter) override {
    return unimplemented(
        fmt::format("import: device '{}' does not address host memory; upload to a buffer of the device", name()));
  }

  Result<std::shared_ptr<Buffer>> import_memory(void* address, std::size_t size_bytes,
                                                Buffer::Deleter deleter) override {
    return guard_allocations([&]() -> Result<std::shared_ptr<Buffer>> {
      MILLRACE_TRY(context_->lost());
      if (reinterpret_cast<std::uintptr_t>(address) % Buffer::kAlignment != 0 ||
          (address == nullptr && size_bytes > 0)) {
        return invalid_argument(fmt::format("import: address {} on device '{}', expected a multiple of {}",
                                            fmt::ptr(address), name(), Buffer::kAlignment));
      }
      return std::shared_ptr<Buffer>(std::make_shared<HipBuffer>(id(), address, size_bytes, std::move(deleter)));
    });
  }

  Result<std::shared_ptr<void>> pin_host(std::span<std::byte> memory) override {
    return guard_allocations([&] { return queue_->channels().pins->pin(memory); });
  }

  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial_value) override {
    return guard_allocations([&]() -> Result<std::shared_ptr<Semaphore>> {
      MILLRACE_TRY(context_->lost());
      return std::shared_ptr<Semaphore>(
          std::make_shared<HipSemaphore>(context_, std::min(initial_value, Semaphore::kMaxValue)));
    });
  }

  Result<std::shared_ptr<Executable>> load(std::span<const ExecutableImage> images) override {
    return guard_allocations([&]() -> Result<std::shared_ptr<Executable>> {
      MILLRACE_TRY_ASSIGN(std::shared_ptr<Executable> executable,
                          HipExecutable::load(context_, targets().front(), images));
      return executable;
    });
  }

  Result<std::shared_ptr<Recording>> record_straight(const CommandList& list,
                                                     std::shared_ptr<Executable> executable) override {
    if (executable != nullptr && executable->device() != id()) return foreign_executable(*this);
    MILLRACE_TRY(check_record(list, executable.get()));
    MILLRACE_TRY(context_->lost());
    MILLRACE_TRY(queue_->channels().events->reserve(EventPool::Kind::kOrder));
    MILLRACE_TRY_ASSIGN(std::shared_ptr<Recording> recording,
                        HipRecording::create(*this, {context_, memory_, queue_->channels().pinned}, list,
                                             std::static_pointer_cast<const HipExecutable>(std::move(executable))));
    return recording;
  }

  Status submit_straight(Recording& recording, const Submission& submission) override {
    if (recording.device() == id()) return queue_->submit(static_cast<HipRecording&>(recording), submission);
    return settle(submission.signal, guard_allocations([&] { return foreign_recording(name()); }));
  }

  Status read_back(const Buffer& buffer, std::size_t offset_bytes, std::span<std::byte> destination) override {
    return guard_allocations([&]() -> Status {
      MILLRACE_TRY(check_read_back(*this, buffer, offset_bytes, destination.size()));
      const CurrentDevice current(*context_);
      MILLRACE_TRY(current.status());
      const auto* source =
          reinterpret_cast<const std::byte*>(static_cast<const HipBuffer&>(buffer).address()) + offset_bytes;
      const std::size_t max_bytes = queue_->channels().staging_bytes;
      for (std::size_t done = 0; done < destination.size();) {
        const std::size_t size_bytes = std::min(max_bytes, destination.size() - done);
        MILLRACE_TRY(read_piece(source + done, destination.subspan(done, size_bytes)));
        done += size_bytes;
      }
      return {};
    });
  }

  HipLosses losses() const override { return context_->losses(); }

 private:
  /// Reads on a stream of its own, so that the read waits for no submission.
  Status read_piece(const std::byte* source, std::span<std::byte> destination) {
    const Runtime& hip = context_->hip();
    const Channels& channels = queue_->channels();
    MILLRACE_TRY_ASSIGN(const std::shared_ptr<std::byte> block, channels.pinned->allocate(destination.size()));
    MILLRACE_TRY_ASSIGN(const SharedEvent end, channels.events->take(EventPool::Kind::kOrder));
    Status recorded;
    {
      const std::lock_guard lock(read_mutex_);
      MILLRACE_TRY(memory_->order_after_allocations(read_stream_->get(), read_seen_allocations_));
      const Error error =
          hip.hipMemcpyAsync(block.get(), source, destination.size(), CopyKind::kDeviceToHost, read_stream_->get());
      MILLRACE_TRY(context_->check("read back", "hipMemcpyAsync", error));
      // From here on, the copy may write to the block at any time, so nothing else may use the block before the copy
      // ends.
      recorded = retry_once(*context_, [&] {
        return context_->check("read back", "hipEventRecord", hip.hipEventRecord(end.get(), read_stream_->get()));
      });
    }
    MILLRACE_TRY(context_->lost());
    MILLRACE_TRY(retry_once(*context_, [&] { return wait_for_event(*context_, "read back", end.get(), time_limit_); }));
    MILLRACE_TRY(recorded);
    std::memcpy(destination.data(), block.get(), destination.size());
    return {};
  }

  std::shared_ptr<Context> context_;
  std::chrono::nanoseconds time_limit_;
  std::shared_ptr<DeviceMemory> memory_;
  std::mutex read_mutex_;
  std::shared_ptr<OwnedStream> read_stream_;
  std::uint64_t read_seen_allocations_ = 0;
  std::shared_ptr<Queue> queue_;
};

Status check_options(const HipDeviceOptions& options) {
  if (options.num_streams < 1 || options.num_streams > 16) {
    return invalid_argument(
        fmt::format("device 'hip': {} streams, expected 1 to 16; give num_streams", options.num_streams));
  }
  if (options.staging_bytes < 4096) {
    return invalid_argument(
        fmt::format("device 'hip': {} bytes of staging, expected at least 4096", options.staging_bytes));
  }
  return {};
}

Result<std::shared_ptr<HipDevice>> open_device(std::shared_ptr<const Runtime> runtime, DeviceFacts facts,
                                               const HipDeviceOptions& options) {
  const DeviceInfo info = facts.info(*runtime);
  if (info.targets.front().gfx_target() == nullptr) {
    std::vector<std::string_view> known;
    for (const GfxTarget& target : gfx_targets()) known.push_back(target.name);
    return unimplemented(fmt::format("device '{}': architecture is {}, expected one of {}; use another device",
                                     info.name, facts.gfx(), fmt::join(known, ", ")));
  }
  auto context = std::make_shared<Context>(std::move(runtime), std::move(facts), new_device_id());
  auto device = std::make_shared<DrivenDevice>(info, std::move(context), options.time_limit);
  MILLRACE_TRY(device->open(options));
  return std::shared_ptr<HipDevice>(std::move(device));
}

}  // namespace
}  // namespace hip

Result<std::shared_ptr<HipDevice>> create_hip_device(const HipDeviceOptions& options) {
  return guard_allocations([&]() -> Result<std::shared_ptr<HipDevice>> {
    MILLRACE_TRY(hip::check_options(options));
    MILLRACE_TRY_ASSIGN(std::shared_ptr<const hip::Runtime> runtime, hip::Runtime::open(options.library));
    const auto num_devices = static_cast<std::uint32_t>(runtime->num_devices());
    if (options.ordinal >= num_devices) {
      return not_found(fmt::format("device 'hip:{}': there {} {} AMD GPU{}, counted from 0", options.ordinal,
                                   num_devices == 1 ? "is" : "are", num_devices, num_devices == 1 ? "" : "s"));
    }
    MILLRACE_TRY_ASSIGN(hip::DeviceFacts facts, hip::find_facts(*runtime, static_cast<int>(options.ordinal)));
    return hip::open_device(std::move(runtime), std::move(facts), options);
  });
}

Result<std::vector<DeviceInfo>> enumerate_hip_devices(std::string_view library) {
  return guard_allocations([&]() -> Result<std::vector<DeviceInfo>> {
    MILLRACE_TRY_ASSIGN(const std::shared_ptr<const hip::Runtime> runtime, hip::Runtime::open(library));
    std::vector<DeviceInfo> devices;
    for (int ordinal = 0; ordinal < runtime->num_devices(); ++ordinal) {
      const Result<hip::DeviceFacts> facts = hip::find_facts(*runtime, ordinal);
      devices.push_back(facts.ok()
                            ? facts->info(*runtime)
                            : DeviceInfo{.name = hip::device_name(ordinal), .problem = facts.status().message()});
    }
    return devices;
  });
}

}  // namespace millrace
