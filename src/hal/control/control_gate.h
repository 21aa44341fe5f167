// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>

namespace millrace {

/// Tells submissions that continue later whether their device still exists.
class ControlGate {
 public:
  /// Returns false after close(). If it returns true, the device exists until leave().
  bool enter() {
    const std::lock_guard lock(mutex_);
    num_inside_ += is_closed_ ? 0 : 1;
    return !is_closed_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--num_inside_ == 0) left_.notify_all();
  }
  /// Makes enter() return false from now on, and waits until everyone inside has left.
  void close() {
    std::unique_lock lock(mutex_);
    is_closed_ = true;
    left_.wait(lock, [this] { return num_inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t num_inside_ = 0;
  bool is_closed_ = false;
};

}  // namespace millrace
