// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "hal/hip/job.h"
#include "hal/hip/pins.h"
#include "hal/hip/semaphore.h"

namespace millrace::hip {

/// The streams, events and pinned memory that all work of a device uses.
struct Channels {
  static Result<std::unique_ptr<Channels>> create(std::shared_ptr<Context>, std::shared_ptr<DeviceMemory>,
                                                  const HipDeviceOptions&);

  /// A stream of the device. Each submission begins and ends on the same stream.
  struct SharedStream {
    std::shared_ptr<OwnedStream> stream;
    std::uint64_t seen_allocations = 0;
  };

  std::shared_ptr<Context> context;
  std::shared_ptr<DeviceMemory> memory;
  std::shared_ptr<PinnedMemory> pinned;
  std::shared_ptr<PinnedRanges> pins;
  std::shared_ptr<EventPool> events;
  std::vector<SharedStream> streams;
  std::size_t staging_bytes = 0;
};

/// The command that an error message about a submission names. The text is made only if there is an error.
struct Place {
  const Job& job;
  CommandId command;
  std::string text() const;
};
inline Status check(Context& context, const Place& place, std::string_view entry, Error error) {
  return error == Error::kSuccess ? Status() : context.check(place.text(), entry, error);
}

/// Queues the steps of submissions on streams. Not thread-safe: the queue calls it with its lock `order_` held.
class Issuer {
 public:
  explicit Issuer(Channels& channels) : channels_(channels), context_(*channels.context) {}

  /// Acquires what the job needs before anything is queued. If it fails, nothing is queued.
  Status prepare(Job&);
  /// Queues the waits that precede the job's first step.
  void begin(Job&, std::span<const PendingPoint> waits);
  /// Queues steps. Returns false if it must wait until a pinned block of the ring can be reused, or until its download
  /// can be read; then call it again. After a failure, which is in the job's status, it queues nothing more.
  bool advance(Job&);
  /// Queues the read-back of the status words, unless the job has failed. Then, failed or not, queues the event that
  /// marks the job's end.
  void end(Job&);

 private:
  /// A pinned block of the ring, and the copy that uses it.
  struct Slot {
    std::shared_ptr<std::byte> block;
    SharedEvent event;
    std::byte* to = nullptr;  // for a download: the destination
    std::size_t size_bytes = 0;
    bool is_busy = false;
  };

  const Runtime& hip() const { return context_.hip(); }
  Stream stream_at(std::size_t index) const { return channels_.streams[index].stream->get(); }
  Status try_begin(Job&, std::span<const PendingPoint> waits);
  Status add_step_end(Job&);
  Status issue_segment(Job&, std::size_t end_step);
  Status issue_steps(Job&, std::size_t end_step, std::span<const std::size_t> sides);
  std::vector<std::size_t> find_sides(const Job&, std::size_t end_step) const;
  Status fork(Job&, std::span<const std::size_t> sides);
  Status join(Job&, std::span<const std::size_t> sides);
  Status join(Job&, std::size_t side);
  // Returns false if the ring is full; then call it again.
  Result<bool> issue(Job&, const LaunchStep&, const Place&, Stream);
  Result<bool> issue(Job&, const FillStep&, const Place&, Stream);
  Result<bool> issue(Job&, const CopyStep&, const Place&, Stream);
  Status stage(Job&, std::byte* block, const CopyStep&, const Place&, Stream);
  Result<bool> pass_through_ring(Job&, const CopyStep&, const Place&, Stream);
  Result<bool> is_free(Slot&, const Place&);
  Status fill_slot(Slot&);
  Status use(Job&, Slot&, const CopyStep&, const Place&, Stream);

  Channels& channels_;
  Context& context_;
  std::array<Slot, 2> ring_;
  std::size_t next_slot_ = 0;
};

/// Whether the step launches so few workgroups that another launch fits on the device at the same time.
bool is_small_launch(const Job&, const Step&);

/// Fills device memory with a pattern of 1, 2, 4 or 8 bytes, which divides the length.
Status fill(Context&, const Place&, std::uintptr_t address, std::size_t size_bytes, std::uint64_t pattern,
            std::uint32_t pattern_bytes, Stream);

}  // namespace millrace::hip
