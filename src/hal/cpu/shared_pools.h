// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "hal/host/thread_pool.h"

namespace millrace {

/// The thread pools of one driver: devices that ask for the same threads share a pool. A pool ends with its last
/// device.
class SharedPools {
 public:
  Result<std::shared_ptr<ThreadPool>> get(const ThreadPoolOptions& options) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pools_, [](const std::weak_ptr<ThreadPool>& pool) { return pool.expired(); });
    for (const std::weak_ptr<ThreadPool>& known : pools_) {
      std::shared_ptr<ThreadPool> pool = known.lock();
      if (pool != nullptr && pool->options() == options) return pool;
    }
    MILLRACE_TRY_ASSIGN(std::shared_ptr<ThreadPool> pool, ThreadPool::create(options));
    pools_.push_back(pool);
    return pool;
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<ThreadPool>> pools_;
};

}  // namespace millrace
