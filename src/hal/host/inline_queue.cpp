// SPDX-License-Identifier: Apache-2.0
// Runs or defers submissions on devices that finish inline.
#include "hal/host/inline_queue.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/guard_allocations.h"
#include "hal/device_errors.h"
#include "hal/timepoints.h"

namespace millrace {

/// A submission that waits, with copies of everything that it needs.
struct InlineQueue::Deferred {
  Deferred(const InlineRecording& waiting, const Submission& submission)
      : recording(std::static_pointer_cast<const InlineRecording>(waiting.shared_from_this())),
        bindings(submission.bindings.begin(), submission.bindings.end()),
        sizes(submission.sizes.begin(), submission.sizes.end()),
        wait(submission.wait.begin(), submission.wait.end()),
        signal(submission.signal.begin(), submission.signal.end()),
        explainer(submission.explainer),
        times(submission.times),
        stop(submission.stop),
        num_open_waits(wait.size()) {}

  // Only the thread that has set `is_taken` calls run() or end(). It may be inside a callback of a semaphore or of a
  // stop token, which must not throw.
  void run() {
    end(guard_allocations([&] { return recording->run({bindings, sizes, wait, signal, explainer, times, stop}); }));
  }
  /// Semaphores keep this object in their lists until they are signalled or destroyed, so it releases its own
  /// references, to them and to everything else, as soon as it has run.
  void end(Status status) {
    (void)settle(signal, std::move(status));
    wait.clear();
    signal.clear();
    recording.reset();
  }

  std::shared_ptr<const InlineRecording> recording;
  std::vector<BufferBinding> bindings;
  std::vector<std::int64_t> sizes;
  std::vector<Timepoint> wait, signal;
  FailureExplainer* explainer;
  SubmissionTimes* times;
  std::stop_token stop;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  std::atomic<std::size_t> num_open_waits;
  std::atomic<bool> is_taken = false;  // a thread runs it, or it was cancelled
  std::shared_ptr<Deferred> next;      // the next submission that is ready
};

Status InlineQueue::submit(const InlineRecording& recording, const Submission& submission) {
  bool is_deferred = false;
  Status status = guard_allocations([&]() -> Status {
    MILLRACE_TRY(recording.check(submission));
    if (submission.wait.empty() || are_settled(submission.wait)) return recording.run(submission);
    defer(recording, submission);
    is_deferred = true;
    return {};
  });
  // A deferred submission settles its signals itself. Otherwise they are signalled when the run is over, so that
  // waiters may use the bound memory.
  return is_deferred || submission.signal.empty() ? status : settle(submission.signal, std::move(status));
}

void InlineQueue::defer(const InlineRecording& recording, const Submission& submission) {
  auto deferred = std::make_shared<Deferred>(recording, submission);
  note(deferred);
  if (submission.stop.stop_possible()) {
    deferred->on_stop.emplace(submission.stop, [weak = std::weak_ptr(deferred)] {
      const std::shared_ptr<Deferred> alive = weak.lock();
      if (alive == nullptr || alive->is_taken.exchange(true)) return;
      alive->end(guard_allocations([] { return stopped_on_request("submit"); }));
    });
  }
  try {
    for (const Timepoint& timepoint : submission.wait) {  // not deferred->wait, which end() may clear meanwhile
      timepoint.semaphore->on_reached(timepoint.value, [queue = shared_from_this(), deferred](const Status& status) {
        const bool is_last = deferred->num_open_waits.fetch_sub(1, std::memory_order_acq_rel) == 1;
        // Once a wait has failed, the other waits do not matter.
        if ((is_last || !status.ok()) && !deferred->is_taken.exchange(true)) queue->run_ready(deferred);
      });
    }
  } catch (const std::bad_alloc&) {
    if (!deferred->is_taken.exchange(true)) throw;
  }
}

void InlineQueue::note(const std::shared_ptr<Deferred>& deferred) {
  const std::lock_guard lock(mutex_);
  if (deferred_.size() >= max_deferred_) {
    std::erase_if(deferred_, [](const std::weak_ptr<Deferred>& each) { return each.expired(); });
    max_deferred_ = std::max<std::size_t>(16, 2 * deferred_.size());
  }
  deferred_.push_back(deferred);
}

void InlineQueue::close() {
  std::vector<std::weak_ptr<Deferred>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(deferred_);
  }
  for (const std::weak_ptr<Deferred>& each : all) {
    const std::shared_ptr<Deferred> deferred = each.lock();
    if (deferred != nullptr && !deferred->is_taken.exchange(true))
      deferred->end(cancelled("submit: the device was closed"));
  }
}

void InlineQueue::run_ready(std::shared_ptr<Deferred> deferred) {
  std::unique_lock lock(mutex_);
  if (last_ready_ != nullptr) last_ready_->next = deferred;
  if (first_ready_ == nullptr) first_ready_ = deferred;
  last_ready_ = std::move(deferred);
  if (is_draining_) return;
  is_draining_ = true;
  while (first_ready_ != nullptr) {
    const std::shared_ptr<Deferred> next = std::move(first_ready_);
    first_ready_ = std::move(next->next);
    if (first_ready_ == nullptr) last_ready_ = nullptr;
    lock.unlock();
    next->run();
    lock.lock();
  }
  is_draining_ = false;
}

}  // namespace millrace
