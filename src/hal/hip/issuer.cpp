// SPDX-License-Identifier: Apache-2.0
// Queues the steps of a submission on HIP streams: waits, launches, fills, copies and the end.
#include "hal/hip/issuer.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/command_text.h"
#include "hal/device_errors.h"

namespace millrace::hip {
namespace {

/// If the transfers of a submission have at most this many bytes together, submit() itself copies them to pinned
/// memory.
constexpr std::size_t kSmallTransfers = std::size_t{1} << 20;

}  // namespace

std::string Place::text() const { return "submit: " + describe_command(job.recording->list(), command); }

Result<std::unique_ptr<Channels>> Channels::create(std::shared_ptr<Context> context,
                                                   std::shared_ptr<DeviceMemory> memory,
                                                   const HipDeviceOptions& options) {
  auto channels = std::make_unique<Channels>();
  channels->context = context;
  channels->memory = std::move(memory);
  channels->pinned = std::make_shared<PinnedMemory>(context);
  channels->pins = std::make_shared<PinnedRanges>(context);
  channels->events = std::make_shared<EventPool>(context);
  channels->staging_bytes = options.staging_bytes;
  if (options.stream != nullptr) {
    channels->streams.push_back({std::make_shared<OwnedStream>(context, static_cast<Stream>(options.stream), false)});
    return channels;
  }
  for (std::uint32_t i = 0; i < options.num_streams; ++i) {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<OwnedStream> stream, OwnedStream::create(context));
    channels->streams.push_back({std::move(stream)});
  }
  return channels;
}

Status Issuer::prepare(Job& job) {
  HipRecording& recording = *job.recording;
  MILLRACE_TRY_ASSIGN(job.end, channels_.events->take(EventPool::Kind::kOrder));
  if (job.times != nullptr) {
    for (std::size_t i = 0; i <= recording.steps().size(); ++i) {
      MILLRACE_TRY_ASSIGN(SharedEvent event, channels_.events->take(EventPool::Kind::kTime));
      job.step_ends.push_back(std::move(event));
    }
  }
  MILLRACE_TRY_ASSIGN(job.run, recording.take_run());
  recording.resolve(job.bindings, job.sizes, *job.run);
  std::size_t staged_bytes = 0, num_staged = 0;
  for (std::size_t i = 0; i < recording.steps().size(); ++i) {
    const auto* copy = std::get_if<CopyStep>(&recording.steps()[i].what);
    if (copy == nullptr || copy->kind == CopyStep::Kind::kOnDevice) continue;
    const std::span<const std::byte> host = recording.host_bytes(*copy, job.bindings, job.sizes);
    std::shared_ptr<void> pin = host.empty() ? nullptr : channels_.pins->find(host);
    if (pin != nullptr || channels_.pins->is_pinned_elsewhere(host)) {
      if (pin != nullptr) job.pins.push_back(std::move(pin));
      job.is_direct.resize(recording.steps().size());
      job.is_direct[i] = true;
      continue;
    }
    staged_bytes += host.size();
    ++num_staged;
  }
  job.downloads.reserve(num_staged);
  job.needs_ring = staged_bytes > std::min(kSmallTransfers, channels_.staging_bytes);
  if (staged_bytes == 0) return {};
  if (!job.needs_ring) {
    MILLRACE_TRY_ASSIGN(job.staging, channels_.pinned->allocate(staged_bytes));
    return {};
  }
  for (Slot& slot : ring_) MILLRACE_TRY(fill_slot(slot));
  return {};
}

// A job that has begun always ends with a status, so from here on a lack of memory must become a status.

void Issuer::begin(Job& job, std::span<const PendingPoint> waits) {
  job.status = guard_allocations([&] { return try_begin(job, waits); });
}

Status Issuer::try_begin(Job& job, std::span<const PendingPoint> waits) {
  Channels::SharedStream& ours = channels_.streams[job.stream];
  const Stream stream = ours.stream->get();
  for (const PendingPoint& wait : waits) {
    if (wait.stream == job.stream) continue;  // the stream itself keeps the order
    MILLRACE_TRY(context_.check("submit", "hipStreamWaitEvent", hip().hipStreamWaitEvent(stream, wait.event.get(), 0)));
  }
  MILLRACE_TRY(channels_.memory->order_after_allocations(stream, ours.seen_allocations));
  if (job.recording->num_launches() > 0) {
    MILLRACE_TRY(
        context_.check("submit", "hipMemsetD32Async",
                       hip().hipMemsetD32Async(job.run->status->address(), 0, job.recording->num_launches(), stream)));
  }
  return add_step_end(job);
}

Status Issuer::add_step_end(Job& job) {
  if (job.times == nullptr) return {};
  return context_.check("submit", "hipEventRecord",
                        hip().hipEventRecord(job.step_ends[job.next_step].get(), stream_at(job.stream)));
}

bool Issuer::advance(Job& job) {
  const std::vector<Step>& steps = job.recording->steps();
  while (job.status.ok() && job.next_step < steps.size()) {
    if (job.stop.stop_requested()) {
      job.status = guard_allocations([] { return stopped_on_request("submit"); });
      break;
    }
    std::size_t end_step = job.next_step;
    while (end_step < steps.size() && steps[end_step].segment == steps[job.next_step].segment) ++end_step;
    job.status = guard_allocations([&] { return issue_segment(job, end_step); });
    if (job.status.ok() && job.next_step < end_step) return false;
  }
  // Copies of a failed job that are under way keep their blocks, but their bytes are not passed on.
  if (!job.status.ok() && job.needs_ring) {
    for (Slot& slot : ring_) slot.to = nullptr;
  }
  return true;
}

Status Issuer::issue_segment(Job& job, std::size_t end_step) {
  const std::vector<std::size_t> sides = find_sides(job, end_step);
  if (sides.empty()) return issue_steps(job, end_step, {});
  MILLRACE_TRY(fork(job, sides));
  const Status status = guard_allocations([&] { return issue_steps(job, end_step, sides); });
  const Status joined = join(job, sides);  // even after a failure: the end's event is on the job's own stream
  return status.ok() ? joined : status;
}

Status Issuer::issue_steps(Job& job, std::size_t end_step, std::span<const std::size_t> sides) {
  std::size_t next_side = 0;
  while (job.next_step < end_step) {
    const Step& step = job.recording->steps()[job.next_step];
    std::size_t stream = job.stream;
    if (!sides.empty() && is_small_launch(job, step)) {
      const std::size_t side = next_side++ % (sides.size() + 1);
      if (side > 0) stream = sides[side - 1];
    }
    const Place place{job, step.command};
    MILLRACE_TRY_ASSIGN(
        const bool is_done,
        std::visit([&](const auto& what) { return issue(job, what, place, stream_at(stream)); }, step.what));
    if (!is_done) return {};
    ++job.next_step;
    MILLRACE_TRY(add_step_end(job));
  }
  return {};
}

Result<bool> Issuer::issue(Job& job, const LaunchStep& launch, const Place& place, Stream stream) {
  const auto num_groups = static_cast<std::uint64_t>(job.sizes[index_of(launch.num_groups)]);
  if (num_groups == 0) return true;
  // A launch cannot be split: kernels get their workgroup's index from the hardware, and take no offset to add.
  if (num_groups > context_.facts().max_groups) {
    return resource_exhausted(
        fmt::format("{0}: {1} workgroups, expected at most {3} on device '{2}'; give each "
                    "workgroup more work",
                    place.text(), num_groups, context_.name(), context_.facts().max_groups));
  }
  const Error error = hip().hipModuleLaunchKernel(job.recording->function(launch), static_cast<unsigned>(num_groups), 1,
                                                  1, job.recording->info(launch).workgroup_size, 1, 1, 0, stream,
                                                  &job.run->arguments[launch.first_argument], nullptr);
  MILLRACE_TRY(check(context_, place, "hipModuleLaunchKernel", error));
  return true;
}

Result<bool> Issuer::issue(Job& job, const FillStep& step, const Place& place, Stream stream) {
  const auto size_bytes = static_cast<std::size_t>(job.sizes[index_of(step.length)]);
  MILLRACE_TRY(fill(context_, place, job.run->addresses[step.destination], size_bytes, step.pattern, step.pattern_bytes,
                    stream));
  return true;
}

void Issuer::end(Job& job) {
  if (context_.may_block()) {
    if (job.status.ok()) job.status = context_.lost();
    return;
  }
  const Stream stream = stream_at(job.stream);
  const std::uint32_t num_launches = job.recording->num_launches();
  if (job.status.ok() && num_launches > 0) {
    const Error error = hip().hipMemcpyAsync(job.run->read_back.get(), job.run->status->address(),
                                             num_launches * sizeof(std::uint32_t), CopyKind::kDeviceToHost, stream);
    job.status = guard_allocations([&] { return context_.check("submit: status words", "hipMemcpyAsync", error); });
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Error error = hip().hipEventRecord(job.end.get(), stream);
    const Status recorded =
        guard_allocations([&] { return context_.check("submit: the end", "hipEventRecord", error); });
    if (recorded.ok()) return;
    if (job.status.ok()) job.status = recorded;
  }
  lose_track(context_, job.status);
}

}  // namespace millrace::hip
