// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "millrace/graph/context.h"
#include "millrace/graph/program.h"
#include "millrace/hal/device.h"

namespace millrace::stress {

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}
  std::uint64_t seed() { return random_(); }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  std::int64_t from_to(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first + 1)));
  }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::mt19937_64 random_;
};

/// How often each thing has happened that should now and then: a stress that meets none of a kind tests nothing.
struct Tally {
  std::atomic<std::uint64_t> runs_right = 0, runs_stopped = 0, wrong_indices = 0, sessions_busy = 0;
  std::atomic<std::uint64_t> compilations = 0, compilations_stopped = 0;
  std::atomic<std::uint64_t> lists_right = 0, lists_stopped = 0, lists_failed = 0, allocations_failed = 0;
};

/// A session that threads share against the rules.
struct SharedSession {
  std::int64_t factor, rows;
  Session session;
};

/// What all threads use.
struct Shared {
  std::shared_ptr<const Context> context;
  std::shared_ptr<Device> device;  // cpu:threads=3, all of whose work is handed over
  std::vector<Program> programs;   // of `factors`, on that device
  std::vector<std::int64_t> factors;
  std::unique_ptr<SharedSession> session;
  Tally tally;
};

/// Requests a stop from another thread after the delay.
class LaterStop {
 public:
  explicit LaterStop(std::chrono::microseconds delay)
      : thread_([this, delay] {
          std::this_thread::sleep_for(delay);
          source_.request_stop();
        }) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread thread_;
};

/// One step of a thread: returns its failure, or nothing.
using Task = std::string(Shared&, Random&);
/// Compiles, or takes a program of all threads, and runs it: whole, stopped, with wrong indices, several runs in
/// flight.
Task run_graph;
/// Compiles, and is asked to stop meanwhile.
Task stop_compilation;
/// Runs the session that other threads may be in.
Task run_shared_session;
/// A list of stages whose kernels fail, throw, report errors or are stopped.
Task run_list;
/// Asks for more memory than there is.
Task fail_allocation;

inline constexpr std::string_view kStopped = "stopped on request; what it should have written is unspecified";

}  // namespace millrace::stress
