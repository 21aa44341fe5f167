// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "hal/host/inline_recording.h"

namespace millrace {

/// Submissions to a device that finishes inline. A submission whose waits are reached runs at once, on the calling
/// thread. Any other submission is copied, and runs on the thread that signals the last value that it waits for. So no
/// order of submissions and signals can deadlock.
class InlineQueue : public std::enable_shared_from_this<InlineQueue> {
 public:
  /// See Device::submit.
  Status submit(const InlineRecording&, const Submission&);
  /// When the device is destroyed, cancels the submissions that still wait.
  void close();

 private:
  struct Deferred;
  void defer(const InlineRecording&, const Submission&);
  void note(const std::shared_ptr<Deferred>&);
  void run_ready(std::shared_ptr<Deferred>);

  std::mutex mutex_;
  std::vector<std::weak_ptr<Deferred>> deferred_;       // submissions that may still wait; some may have expired
  std::size_t max_deferred_ = 16;                       // at this size, expired entries are removed
  std::shared_ptr<Deferred> first_ready_, last_ready_;  // a list, in the order in which they became ready
  /// Whether a thread is running the ready submissions. It also runs those that become ready meanwhile, in the same
  /// loop instead of by recursion.
  bool is_draining_ = false;
};

}  // namespace millrace
