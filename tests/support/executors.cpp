// SPDX-License-Identifier: Apache-2.0
#include "tests/support/executors.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace millrace::test {
namespace {

class TestExecutor final : public Executor {
 public:
  TestExecutor(ExecutorKind kind, std::uint32_t concurrency) : kind_(kind), concurrency_(concurrency) {}
  std::uint32_t concurrency() const override { return concurrency_; }

  void parallel_for(std::size_t count, std::size_t chunk, RangeBody body) override {
    const std::size_t num_chunks = (count + chunk - 1) / chunk;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < num_chunks; ++i) {
      const std::size_t begin = (kind_ == ExecutorKind::kReverse ? num_chunks - 1 - i : i) * chunk;
      const std::size_t end = std::min(begin + chunk, count);
      if (kind_ == ExecutorKind::kThreadEach) {
        threads.emplace_back([=] { body(begin, end); });
      } else {
        body(begin, end);
      }
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  ExecutorKind kind_;
  std::uint32_t concurrency_;
};

}  // namespace

std::shared_ptr<Executor> make_executor(ExecutorKind kind, std::uint32_t concurrency) {
  return std::make_shared<TestExecutor>(kind, concurrency);
}

}  // namespace millrace::test
