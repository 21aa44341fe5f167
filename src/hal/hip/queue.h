// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "hal/hip/issuer.h"

namespace millrace::hip {

/// The submissions of a device, from submit() to their end. If a submission waits only for values that earlier
/// submissions of the device will reach, it goes to a stream at once, and waits there for an event. HIP treats an event
/// that was never recorded as complete, so a submission that waits for other values stays in this queue. A thread polls
/// the events of the work under way, because HIP's own wait has no time limit.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(std::unique_ptr<Channels> channels, std::chrono::nanoseconds time_limit);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Starts the thread.
  void start();
  /// Lets the jobs that can run finish, and cancels the others. Call nothing else afterwards.
  void close();

  const Channels& channels() const { return *channels_; }
  Status submit(HipRecording&, const Submission&);

 private:
  using SharedJob = std::shared_ptr<Job>;
  using Clock = Job::Clock;
  /// A submission that ended before it began.
  struct Refused {
    SharedJob job;
    Status status;
  };
  using Key = std::pair<const Semaphore*, std::uint64_t>;

  // With `order_` held, in the order of submissions:
  /// Starts each candidate that can start, and then the jobs that waited for the started ones and can start too.
  void start_all(std::vector<SharedJob> candidates, std::vector<Refused>&);
  Status try_start(const SharedJob&, std::vector<SharedJob>& candidates);
  void wait_for(const SharedJob&, const Timepoint&);
  void watch_stop(const SharedJob&);
  std::function<void()> retry_function_for(const SharedJob&);
  void forget_wait(const SharedJob&);
  bool overlaps_pending_download(const Job&);
  std::size_t choose_stream(std::span<const PendingPoint> waits);
  void hand_over(const SharedJob&, std::vector<SharedJob>& candidates);

  /// Wakes the thread, which retries the job if there is one. Never throws: the callers, which signal or request a
  /// stop, could not handle an exception.
  void wake(SharedJob job = {}) noexcept;
  static void settle_all(const std::vector<Refused>&);

  // On the device's thread:
  void run();
  bool start_waiting();
  bool proceed_ring();
  bool end_jobs();
  void rest();
  bool has_ended(Job&);
  bool fails_again(Job&, Error);
  void check_time(Job&, bool has_moved);
  void end(const SharedJob&);
  Status outcome(Job&) const;
  Status check_words(Job&) const;
  Status measure(Job&) const;
  bool is_done();
  void cancel_waiting();

  std::unique_ptr<Channels> channels_;
  Context& context_;
  std::chrono::nanoseconds time_limit_;
  std::thread thread_;
  std::atomic<std::size_t> num_active_ = 0;                  // jobs that are started and have not ended
  std::unique_ptr<std::atomic<std::size_t>[]> stream_jobs_;  // jobs of each stream

  std::mutex order_;
  Issuer issuer_;
  std::size_t next_stream_ = 0;
  std::vector<SharedJob> ring_jobs_;           // jobs whose transfers use the ring; the first job is being issued
  std::multimap<Key, SharedJob> waiting_;      // keyed by the first value that no started job will reach
  std::vector<SharedJob> waiting_for_memory_;  // jobs that use host memory which a download under way will write

  std::mutex mutex_;  // taken after order_
  std::condition_variable changed_;
  std::vector<SharedJob> in_flight_jobs_;  // in the order in which they started
  std::vector<SharedJob> to_retry_;        // jobs with a wait that was settled
  bool tries_all_ = false;                 // memory ran out, so some jobs may be missing from to_retry_
  bool has_news_ = false;
  bool is_closing_ = false;

  // Used by the device's thread only:
  bool has_ended_some_ = false;
  std::uint32_t num_idle_iterations_ = 0;
  std::vector<SharedJob> watched_;
  Clock::time_point lost_since_ = {};
  Clock::time_point last_progress_ = {};  // of any job
};

}  // namespace millrace::hip
