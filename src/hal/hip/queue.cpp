// SPDX-License-Identifier: Apache-2.0
// Starts submissions on a HIP device: orders them, and hands them to streams or lets them wait. poll.cpp ends them.
#include "hal/hip/queue.h"

#include <algorithm>

#include "base/guard_allocations.h"
#include "hal/device_errors.h"
#include "hal/timepoints.h"

namespace millrace::hip {
namespace {

/// Calls `what` with the kind and the host bytes of each upload and download.
template <class What>
void for_each_host_range(const Job& job, What&& what) {
  for (const Step& step : job.recording->steps()) {
    const auto* copy = std::get_if<CopyStep>(&step.what);
    if (copy == nullptr || copy->kind == CopyStep::Kind::kOnDevice) continue;
    what(copy->kind, job.recording->host_bytes(*copy, job.bindings, job.sizes));
  }
}

}  // namespace

Queue::Queue(std::unique_ptr<Channels> channels, std::chrono::nanoseconds time_limit)
    : channels_(std::move(channels)),
      context_(*channels_->context),
      time_limit_(time_limit),
      stream_jobs_(std::make_unique<std::atomic<std::size_t>[]>(channels_->streams.size())),
      issuer_(*channels_) {}

Status Queue::submit(HipRecording& recording, const Submission& submission) {
  std::vector<Refused> refused;
  SharedJob job;
  const Status status = guard_allocations([&]() -> Status {
    MILLRACE_TRY(recording.check(submission));
    MILLRACE_TRY(context_.lost());
    job = std::make_shared<Job>(recording, submission);
    std::vector<SharedJob> candidates = {job};
    const std::lock_guard lock(order_);
    start_all(std::move(candidates), refused);
    return {};
  });
  if (!status.ok()) return settle(submission.signal, status);
  wake();
  settle_all(refused);
  const auto own = std::ranges::find(refused, job, &Refused::job);
  return own == refused.end() ? Status() : own->status;
}

void Queue::settle_all(const std::vector<Refused>& refused) {
  for (const auto& [job, status] : refused) (void)settle(job->signal, status);
}

void Queue::start_all(std::vector<SharedJob> candidates, std::vector<Refused>& refused) {
  const CurrentDevice current(context_);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const SharedJob job = candidates[i];
    if (job->is_started) continue;
    forget_wait(job);
    // Guarded, so that a lack of memory fails this job alone.
    Status status = guard_allocations([&]() -> Status {
      refused.reserve(refused.size() + 1);
      MILLRACE_TRY(current.status());
      return try_start(job, candidates);
    });
    if (status.ok() || job->is_started) continue;
    job->is_started = true;
    forget_wait(job);  // memory ran out while it was added to the waiting jobs
    refused.push_back({job, std::move(status)});
  }
}

/// Starts the job, or puts it with the waiting jobs. Fails if the job must end without having started.
Status Queue::try_start(const SharedJob& job, std::vector<SharedJob>& candidates) {
  MILLRACE_TRY(context_.lost());
  if (job->stop.stop_requested()) return stopped_on_request("submit");
  MILLRACE_TRY(outcome_of(job->wait));
  std::vector<PendingPoint> points;
  for (const Timepoint& wait : job->wait) {
    MILLRACE_TRY_ASSIGN(const std::uint64_t value, wait.semaphore->query());
    if (value >= wait.value) continue;
    const auto* ours = dynamic_cast<const HipSemaphore*>(wait.semaphore.get());
    std::optional<PendingPoint> point;
    if (ours != nullptr && ours->is_of(context_)) point = ours->find_pending(wait.value);
    if (!point) {
      wait_for(job, wait);
      return {};
    }
    if (std::ranges::find(points, point->event, &PendingPoint::event) == points.end()) points.push_back(*point);
  }
  if (job->recording->has_transfers() && overlaps_pending_download(*job)) {
    waiting_for_memory_.push_back(job);
    watch_stop(job);
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    in_flight_jobs_.reserve(in_flight_jobs_.size() + ring_jobs_.size() + 1);
  }
  ring_jobs_.reserve(ring_jobs_.size() + 1);
  job->stream = choose_stream(points);
  MILLRACE_TRY(issuer_.prepare(*job));
  job->is_started = true;
  ++num_active_;
  ++stream_jobs_[job->stream];
  issuer_.begin(*job, points);
  if (job->needs_ring) {
    ring_jobs_.push_back(job);  // the thread issues its steps as ring blocks become free
    return {};
  }
  (void)issuer_.advance(*job);
  hand_over(job, candidates);
  return {};
}

/// Ends the issuing of a job, and finds the waiting jobs whose values this job will reach.
void Queue::hand_over(const SharedJob& job, std::vector<SharedJob>& candidates) {
  issuer_.end(*job);
  try {
    for (const Timepoint& signal : job->signal) {
      if (!job->status.ok()) break;  // jobs that wait for a failed job fail without having started
      auto* ours = dynamic_cast<HipSemaphore*>(signal.semaphore.get());
      if (ours == nullptr || !ours->is_of(context_)) continue;
      ours->add_pending(signal.value, {job->end, job->stream});
      const auto first = waiting_.lower_bound({ours, 0}), last = waiting_.upper_bound({ours, signal.value});
      for (auto each = first; each != last; ++each) candidates.push_back(each->second);
    }
  } catch (const std::bad_alloc&) {  // the waiting jobs then start only once the values are reached
  }
  const std::lock_guard lock(mutex_);
  in_flight_jobs_.push_back(job);  // comes last, because the thread may end the job at once
}

void Queue::wait_for(const SharedJob& job, const Timepoint& wait) {
  job->key = {wait.semaphore.get(), wait.value};
  waiting_.emplace(job->key, job);
  job->is_waiting = true;
  watch_stop(job);
  if (job->is_watched) return;
  job->is_watched = true;
  for (const Timepoint& each : job->wait) {
    each.semaphore->on_reached(each.value, [retry = retry_function_for(job)](const Status&) { retry(); });
  }
}

void Queue::watch_stop(const SharedJob& job) {
  if (job->stop.stop_possible() && !job->on_stop) job->on_stop.emplace(job->stop, retry_function_for(job));
}

/// Returns a function that makes the queue retry the job, if both still exist. It may be called while `order_` is held.
std::function<void()> Queue::retry_function_for(const SharedJob& job) {
  return [queue = weak_from_this(), weak_job = std::weak_ptr<Job>(job)] {
    const auto alive = queue.lock();
    SharedJob waiting = weak_job.lock();
    if (alive != nullptr && waiting != nullptr) alive->wake(std::move(waiting));
  };
}

void Queue::forget_wait(const SharedJob& job) {
  std::erase(waiting_for_memory_, job);
  if (!job->is_waiting) return;
  job->is_waiting = false;
  const auto [first, last] = waiting_.equal_range(job->key);
  for (auto each = first; each != last; ++each) {
    if (each->second != job) continue;
    waiting_.erase(each);
    return;
  }
}

/// Whether the job uploads or downloads host memory that an earlier download has yet to write. The device cannot order
/// the two, because the host may copy the downloaded bytes from pinned memory when the earlier job ends.
bool Queue::overlaps_pending_download(const Job& job) {
  bool overlaps = false;
  const auto compare = [&](const Job& other) {
    if (!other.recording->has_transfers()) return;
    for_each_host_range(other, [&](CopyStep::Kind others_kind, std::span<const std::byte> written) {
      if (others_kind != CopyStep::Kind::kDownload) return;
      for_each_host_range(job,
                          [&](CopyStep::Kind, std::span<const std::byte> own) { overlaps |= overlap(own, written); });
    });
  };
  for (const SharedJob& other : ring_jobs_) compare(*other);
  const std::lock_guard lock(mutex_);
  for (const SharedJob& other : in_flight_jobs_) compare(*other);
  return overlaps;
}

/// The stream of the last wait, which then needs no event; without waits, the stream with the fewest jobs.
std::size_t Queue::choose_stream(std::span<const PendingPoint> waits) {
  if (!waits.empty()) return waits.back().stream;
  const std::size_t num_streams = channels_->streams.size();
  std::size_t best = next_stream_;
  for (std::size_t i = 0; i < num_streams; ++i) {
    const std::size_t stream = (next_stream_ + i) % num_streams;
    if (stream_jobs_[stream].load() < stream_jobs_[best].load()) best = stream;
  }
  next_stream_ = (best + 1) % num_streams;
  return best;
}

}  // namespace millrace::hip
