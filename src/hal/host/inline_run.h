// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hal/host/stage_plan.h"
#include "hal/host/work_shares.h"
#include "millrace/hal/buffer.h"

namespace millrace {

/// The memory that one replay of an InlineRecording writes. Each replay has its own, so that several may run at the
/// same time.
struct InlineRun {
  std::vector<std::uintptr_t> bases;  // the address of each binding
  std::vector<void*> addresses;
  std::vector<std::int64_t> size_arguments;
  std::shared_ptr<Buffer> workgroup_memory;  // one block per worker, for all dispatches; null if no kernel needs any
  std::size_t workgroup_stride = 0;          // from one worker's block to the next
  std::unique_ptr<WorkShares> shares;        // null with one worker
  std::unique_ptr<StagePlan> plan;           // null with one worker
  std::uint32_t status_word = 0;

  void* workgroup_block(std::uint32_t worker) const {
    if (workgroup_memory == nullptr) return nullptr;
    return static_cast<std::byte*>(workgroup_memory->host_address()) + worker * workgroup_stride;
  }
};

/// Keeps InlineRuns for the next replays. Thread-safe. While only one thread replays, taking a run is an atomic
/// exchange, and returning it a store.
class InlineRunPool {
 public:
  InlineRunPool() = default;
  InlineRunPool(const InlineRunPool&) = delete;
  InlineRunPool& operator=(const InlineRunPool&) = delete;

  /// Adds the run that is taken first. Call it before anything else.
  void set_first(std::unique_ptr<InlineRun> run) { first_ = std::move(run); }

  /// Null if all runs are in use.
  InlineRun* take() {
    if (!is_first_taken_.exchange(true, std::memory_order_acquire)) return first_.get();
    const std::lock_guard lock(mutex_);
    if (others_.empty()) return nullptr;
    InlineRun* run = others_.back().release();
    others_.pop_back();
    return run;
  }

  /// Returns a run to the pool: a run from take(), or a new one.
  void give_back(InlineRun* run) {
    if (run == first_.get()) {
      is_first_taken_.store(false, std::memory_order_release);
      return;
    }
    std::unique_ptr<InlineRun> other(run);
    const std::lock_guard lock(mutex_);
    others_.push_back(std::move(other));
  }

 private:
  std::unique_ptr<InlineRun> first_;
  std::atomic<bool> is_first_taken_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<InlineRun>> others_;
};

}  // namespace millrace
