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

#include "hal/hip/hip_issuer.h"

namespace millrace::hip {

/// The submissions of a device, from submit() to their end. One that waits only for values which other submissions of
/// the device will reach goes to a stream at once, behind an event; HIP takes an event that was never recorded for one
/// that has come about, so a submission waits here for values that nobody has submitted, or that are not the device's.
/// A thread polls the events of what is on its way, because HIP's own wait has no time limit.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(std::unique_ptr<Channels> channels, std::chrono::nanoseconds time_limit);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Starts the thread.
  void start();
  /// Ends what can run, and cancels the rest. Nothing else may be called then.
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

  // In the order of submissions: `order_` is held.
  /// Starts each that can start, and adds to `candidates` those that waited for them.
  void start_all(std::vector<SharedJob> candidates, std::vector<Refused>&);
  Status try_start(const SharedJob&, std::vector<SharedJob>& candidates);
  void wait_for(const SharedJob&, const Timepoint&);
  void watch_stop(const SharedJob&);
  std::function<void()> nudge_for(const SharedJob&);
  void forget_wait(const SharedJob&);
  bool touches_what_is_downloaded(const Job&);
  std::size_t choose_stream(std::span<const PendingPoint> waits);
  void hand_over(const SharedJob&, std::vector<SharedJob>& candidates);

  /// Throws nothing: whoever signals or requests a stop may not be told of an exception.
  void wake(SharedJob nudged = {}) noexcept;
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
  std::vector<SharedJob> ring_jobs_;           // the first is being issued
  std::multimap<Key, SharedJob> waiting_;      // by the first value that nothing is on its way to
  std::vector<SharedJob> waiting_for_memory_;  // that a download on its way writes

  std::mutex mutex_;  // taken after order_
  std::condition_variable changed_;
  std::vector<SharedJob> on_their_way_;  // in the order of their starts
  std::vector<SharedJob> nudged_;        // a wait of theirs was settled
  bool tries_all_ = false;               // memory ran out, and some that were nudged may be forgotten
  bool has_news_ = false;
  bool is_closing_ = false;

  // That thread's own:
  bool has_ended_some_ = false;
  std::uint32_t num_idle_iterations_ = 0;
  std::vector<SharedJob> watched_;
  Clock::time_point lost_since_ = {};
  Clock::time_point last_progress_ = {};  // of any job
};

}  // namespace millrace::hip
