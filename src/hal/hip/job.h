// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "hal/hip/recording.h"

namespace millrace::hip {

/// Bytes in pinned memory that are copied to the host's memory when the work ends.
struct StagedDownload {
  const std::byte* from;
  std::byte* to;
  std::size_t size_bytes;
};

/// A submission from submit() to its end, with copies of everything that it needs.
struct Job {
  using Clock = std::chrono::steady_clock;

  Job(HipRecording& of, const Submission& submission)
      : recording(std::static_pointer_cast<HipRecording>(of.shared_from_this())),
        bindings(submission.bindings.begin(), submission.bindings.end()),
        sizes(submission.sizes.begin(), submission.sizes.end()),
        wait(submission.wait.begin(), submission.wait.end()),
        signal(submission.signal.begin(), submission.signal.end()),
        explainer(submission.explainer),
        times(submission.times),
        stop(submission.stop) {}

  std::shared_ptr<HipRecording> recording;
  std::vector<BufferBinding> bindings;
  std::vector<std::int64_t> sizes;
  std::vector<Timepoint> wait, signal;
  FailureExplainer* explainer;
  SubmissionTimes* times;
  std::stop_token stop;

  // Guarded by the order's lock:
  bool is_started = false;                                           // true also if it ended before it started
  bool is_watched = false;                                           // its waits notify the queue when they are settled
  std::optional<std::stop_callback<std::function<void()>>> on_stop;  // notifies the queue of a stop
  bool is_waiting = false;                                           // waits for `key`
  std::pair<const Semaphore*, std::uint64_t> key = {};

  // Used from the job's start on:
  std::unique_ptr<HipRun> run;
  std::size_t stream = 0;                               // index in Channels::streams
  std::size_t next_step = 0;                            // index in HipRecording::steps
  std::size_t next_byte = 0;                            // position in a transfer through the ring
  std::vector<bool> is_direct;                          // per step, whether it copies pinned memory; empty if none does
  bool needs_ring = false;                              // its transfers are too large to be staged as a whole
  std::shared_ptr<std::byte> staging;                   // pinned memory for all of its transfers; may be null
  std::size_t staged_bytes = 0;                         // the bytes of `staging` that are in use
  std::vector<std::shared_ptr<std::byte>> kept_blocks;  // blocks that its copies may still use
  std::vector<std::shared_ptr<void>> pins;              // pins of memory that its copies use in place
  std::vector<StagedDownload> downloads;
  std::vector<SharedEvent> step_ends;  // only with `times`: one before the first step, and one after each step
  std::vector<SharedEvent> edges;      // events by which one stream waits for another
  Status status;                       // of the first HIP call that failed
  SharedEvent end;
  bool is_queried_again = false;  // a query has failed and is repeated
  bool is_timed = false;          // the time limit runs; it began at `since`
  Clock::time_point since;
};

}  // namespace millrace::hip
