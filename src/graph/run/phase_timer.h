// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace millrace {

/// Adds the time from its construction to its destruction to `total`.
class PhaseTimer {
 public:
  explicit PhaseTimer(std::chrono::nanoseconds& total) : total_(total), start_(Clock::now()) {}
  ~PhaseTimer() { total_ += Clock::now() - start_; }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::chrono::nanoseconds& total_;
  Clock::time_point start_;
};

}  // namespace millrace
