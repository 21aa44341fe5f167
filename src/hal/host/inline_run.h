// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "millrace/hal/buffer.h"

namespace millrace {

/// What one replay of an InlineRecording writes: so that several may run at a time.
struct InlineRun {
  std::vector<std::uintptr_t> bases;  // per binding
  std::vector<void*> addresses;
  std::vector<std::int64_t> size_arguments;
  std::shared_ptr<Buffer> workgroup_memory;  // one block for all dispatches; null when no kernel has any
  std::uint32_t status_word = 0;
};

/// Runs that wait for their next replay. Thread-safe. Taking and giving back are an atomic exchange each, as long as
/// one thread replays at a time.
class InlineRunPool {
 public:
  InlineRunPool() = default;
  InlineRunPool(const InlineRunPool&) = delete;
  InlineRunPool& operator=(const InlineRunPool&) = delete;
  ~InlineRunPool() { delete spare_.load(std::memory_order_acquire); }

  /// Null when all are in use.
  std::unique_ptr<InlineRun> take() {
    if (InlineRun* run = spare_.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<InlineRun>(run);
    const std::lock_guard lock(mutex_);
    if (others_.empty()) return nullptr;
    std::unique_ptr<InlineRun> run = std::move(others_.back());
    others_.pop_back();
    return run;
  }

  void give_back(std::unique_ptr<InlineRun> run) {
    InlineRun* nobody = nullptr;
    if (spare_.compare_exchange_strong(nobody, run.get(), std::memory_order_release, std::memory_order_relaxed)) {
      run.release();  // NOLINT(bugprone-unused-return-value): the pool's now
      return;
    }
    const std::lock_guard lock(mutex_);
    others_.push_back(std::move(run));
  }

 private:
  std::atomic<InlineRun*> spare_ = nullptr;
  std::mutex mutex_;
  std::vector<std::unique_ptr<InlineRun>> others_;
};

}  // namespace millrace
