// SPDX-License-Identifier: Apache-2.0
// The threads of cpu devices: claiming, waking and parking workers, and parallel loops over them.
#include "hal/host/thread_pool.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <emmintrin.h>
#include <pthread.h>
#include <sched.h>
#include <system_error>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/host/cpu_set.h"
#include "hal/host/futex.h"
#include "hal/host/thread_place.h"

namespace millrace {
namespace {

/// What a worker is doing. A worker's state is a phase and, in the bits above, the number of claims, so that a caller
/// can tell its own claim from a later one.
enum Phase : std::uint32_t {
  kSpinning,  // idle, polls
  kParked,    // idle, sleeps or is about to
  kClaimed,   // a caller is writing the job
  kReady,     // has a job, not begun yet
  kRunning,
  kAwaited,  // runs, and its caller sleeps until it has finished
  kStopped,
};
constexpr std::uint32_t kPhaseBits = 3;

/// How long a waiting caller sleeps before it checks again whether the system has stopped its worker. The time doubles
/// from the first sleep to the longest.
constexpr std::chrono::microseconds kFirstSleep{200}, kLongestSleep{2000};

Phase phase_of(std::uint32_t state) { return static_cast<Phase>(state & ((1u << kPhaseBits) - 1)); }
std::uint32_t with_phase(std::uint32_t state, Phase phase) { return state >> kPhaseBits << kPhaseBits | phase; }
std::uint32_t next_claim(std::uint32_t state) { return with_phase(state + (1u << kPhaseBits), kClaimed); }

/// `while (spin.goes_on())` polls until `duration` has passed.
class Spin {
 public:
  explicit Spin(std::chrono::nanoseconds duration) : duration_(duration) {}
  bool goes_on() {
    _mm_pause();
    if (++iterations_ % kIterationsPerLook != 0) return duration_.count() > 0;
    const auto now = std::chrono::steady_clock::now();
    if (iterations_ == kIterationsPerLook) begin_ = now;
    return now - begin_ < duration_;
  }

 private:
  static constexpr std::uint32_t kIterationsPerLook = 16;
  std::chrono::nanoseconds duration_;
  std::chrono::steady_clock::time_point begin_;
  std::uint32_t iterations_ = 0;
};

/// While an object of this class lives, new threads start with all process-directed signals blocked, so that handlers
/// run only on the application's threads. Signals that a thread's own fault raises are not blocked.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, fault);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

/// One parallel loop. It is on its caller's stack: a worker does not touch it after the worker's state has left
/// kRunning.
struct ThreadPool::Job {
  std::size_t count;
  std::size_t chunk;
  RangeBody body;
  std::size_t num_chunks;
  int cpu = sched_getcpu();                          // the caller's CPU
  std::chrono::steady_clock::time_point begin = {};  // set if some workers slept
  std::atomic<std::size_t> next_chunk = 1;           // chunk 0 is the caller's

  void run_chunk(std::size_t number) const {
    const std::size_t begin = number * chunk;
    body(begin, begin + std::min(chunk, count - begin));
  }
  void work() {
    for (std::size_t number; (number = next_chunk.fetch_add(1, std::memory_order_relaxed)) < num_chunks;) {
      run_chunk(number);
    }
  }
  /// 0 if it is unknown.
  std::int64_t ns_since_begin() const {
    if (begin == std::chrono::steady_clock::time_point()) return 0;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  }
};

struct alignas(64) ThreadPool::Worker {
  std::atomic<std::uint32_t> state = kSpinning;
  ThreadPlace place;
  Job* job = nullptr;  // written by the caller that claimed it
};

struct ThreadPool::Claim {
  Worker* worker;
  std::uint32_t ready;  // the worker's state when it got the job
  bool is_woken;
};

ThreadPool::ThreadPool(const ThreadPoolOptions& options)
    : options_(options),
      // Polling on a CPU that another thread needs would delay everyone.
      spin_(options.num_threads <= usable_cpus().size() ? kSpin : std::chrono::microseconds(0)),
      workers_(std::make_unique<Worker[]>(options.num_threads - 1)) {}

Result<std::shared_ptr<ThreadPool>> ThreadPool::create(const ThreadPoolOptions& options) {
  if (options.num_threads < 1 || options.num_threads > ThreadPoolOptions::kMaxThreads) {
    return invalid_argument(
        fmt::format("thread pool: {} threads, expected 1 to {}", options.num_threads, ThreadPoolOptions::kMaxThreads));
  }
  std::shared_ptr<ThreadPool> pool(new ThreadPool(options));
  MILLRACE_TRY(pool->start());
  return pool;
}

Status ThreadPool::start() {
  const std::vector<std::uint32_t> cpus = usable_cpus();
  const BlockedSignals blocked;
  threads_.reserve(options_.num_threads - 1);
  for (std::uint32_t i = 1; i < options_.num_threads; ++i) {
    try {
      threads_.emplace_back([this, &worker = workers_[i - 1]] { run(worker); });
    } catch (const std::system_error& error) {
      return resource_exhausted(fmt::format("thread pool: thread {} of {} cannot be started: {}; ask for fewer threads",
                                            i, options_.num_threads, error.code().message()));
    }
    const pthread_t thread = threads_.back().native_handle();
    workers_[i - 1].place.set_thread(thread, !options_.is_pinned);
    (void)pthread_setname_np(thread, fmt::format("millrace-{}", i).c_str());
    // The first CPU is left to the calling thread.
    if (options_.is_pinned) MILLRACE_TRY(pin_thread(thread, cpus[i % cpus.size()]));
  }
  return {};
}

ThreadPool::~ThreadPool() {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    std::atomic<std::uint32_t>& state = workers_[i].state;
    state.store(with_phase(state.load(std::memory_order_relaxed), kStopped), std::memory_order_seq_cst);
    state.notify_one();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(Worker& worker) {
  for (bool may_spin = true;;) {
    auto [state, has_slept] = wait_for_job(worker, may_spin);
    if (phase_of(state) == kStopped) return;
    // Fails if the caller has taken the job back.
    if (!worker.state.compare_exchange_strong(state, with_phase(state, kRunning), std::memory_order_acquire)) continue;
    (void)worker.place.end_move();
    if (const std::int64_t ns = has_slept ? worker.job->ns_since_begin() : 0; ns > 0) note_wake(ns);
    worker.job->work();
    const std::uint32_t before = worker.state.exchange(with_phase(state, kSpinning), std::memory_order_acq_rel);
    if (phase_of(before) == kAwaited) wake_one(worker.state);
    // If the caller moved this thread to the caller's CPU, the caller needs that CPU now, so this thread must not poll.
    may_spin = !worker.place.end_move();
  }
}

/// Returns a state that is kReady or kStopped, and whether the worker slept until then.
std::pair<std::uint32_t, bool> ThreadPool::wait_for_job(Worker& worker, bool may_spin) {
  Spin spin(may_spin ? spin_ : std::chrono::nanoseconds(0));
  bool has_slept = false;
  for (;;) {
    std::uint32_t state = worker.state.load(std::memory_order_acquire);
    switch (phase_of(state)) {
      case kReady:
      case kStopped:
        return {state, has_slept};
      case kParked:
        worker.state.wait(state, std::memory_order_acquire);
        spin = Spin(spin_);
        has_slept = true;
        break;
      case kSpinning:
        has_slept = false;
        worker.place.note_cpu();
        if (spin.goes_on()) break;
        // Count the worker before it can be claimed, because a claim subtracts it again.
        num_parked_.fetch_add(1, std::memory_order_relaxed);
        if (!worker.state.compare_exchange_strong(state, with_phase(state, kParked), std::memory_order_relaxed)) {
          num_parked_.fetch_sub(1, std::memory_order_relaxed);
        }
        break;
      default:
        _mm_pause();  // claimed: the job follows within a few instructions
    }
  }
}

bool ThreadPool::claim(Worker& worker, bool is_parked, Job& job, Claim& claim) {
  std::uint32_t state = worker.state.load(std::memory_order_relaxed);
  if (phase_of(state) != (is_parked ? kParked : kSpinning)) return false;
  const std::uint32_t claimed = next_claim(state);
  if (!worker.state.compare_exchange_strong(state, claimed, std::memory_order_acquire)) return false;
  worker.job = &job;
  // On the caller's CPU, the worker would only compete with the caller.
  if (worker.place.noted_cpu() == job.cpu) worker.place.move_off(job.cpu);
  claim = {&worker, with_phase(claimed, kReady), is_parked};
  if (!is_parked) {
    worker.state.store(claim.ready, std::memory_order_release);
  } else {
    // Sequentially consistent: otherwise notify_one() could check for sleepers before this store, and miss the worker.
    worker.state.store(claim.ready, std::memory_order_seq_cst);
    num_parked_.fetch_sub(1, std::memory_order_relaxed);
    num_wakes_.fetch_add(1, std::memory_order_relaxed);
    worker.state.notify_one();
  }
  return true;
}

/// Hands the job to workers that are awake, then to sleeping ones. Returns how many took it.
std::size_t ThreadPool::claim_some(std::size_t max_claims, Job& job, Claim* claims) {
  std::size_t count = 0;
  if (num_parked_.load(std::memory_order_relaxed) > 0) job.begin = std::chrono::steady_clock::now();
  for (const bool is_parked : {false, true}) {
    for (std::size_t i = 0; i < threads_.size() && count < max_claims; ++i) {
      if (claim(workers_[i], is_parked, job, claims[count])) ++count;
    }
  }
  num_handovers_.fetch_add(count, std::memory_order_relaxed);
  return count;
}

/// Moves the estimate of the wake-up time one step up or down, so that a long delay by the system counts like a short
/// one. If two threads do this at the same time, losing one step does not matter.
void ThreadPool::note_wake(std::int64_t ns) {
  const std::uint32_t before = wake_ns_.load(std::memory_order_relaxed), step = before / 16;
  const std::uint32_t after = ns > before ? before + step : before - step;
  wake_ns_.store(std::clamp(after, kMinWakeNs, kMaxWakeNs), std::memory_order_relaxed);
}

/// Takes the job back if the worker has not begun it; otherwise waits for the worker's last chunk.
void ThreadPool::finish(const Claim& claim, const Job& job) {
  std::atomic<std::uint32_t>& state = claim.worker->state;
  std::uint32_t expected = claim.ready;
  if (state.compare_exchange_strong(expected, with_phase(claim.ready, kSpinning), std::memory_order_acq_rel)) {
    // The worker was not awake yet, so its wake-up takes at least this long.
    const std::int64_t ns = claim.is_woken ? job.ns_since_begin() : 0;
    if (ns > wake_ns()) note_wake(ns);
    return;
  }
  wait_for_end(*claim.worker, claim.ready);
}

/// Waits for the end of a job that the worker has begun. If the worker is not running, because the system runs
/// something else on its CPU, moves it to the caller's CPU.
void ThreadPool::wait_for_end(Worker& worker, std::uint32_t ready) {
  std::atomic<std::uint32_t>& state = worker.state;
  std::uint32_t running = with_phase(ready, kRunning);
  const std::uint32_t awaited = with_phase(ready, kAwaited);
  const auto ends_within = [&](std::chrono::nanoseconds duration) {
    for (Spin spin(duration);;) {
      if (state.load(std::memory_order_acquire) != running) return true;
      if (!spin.goes_on()) return false;
    }
  };
  if (ends_within(spin_ / 4)) return;
  ThreadProgress progress(worker.place);
  if (ends_within(spin_ - spin_ / 4)) return;
  if (!state.compare_exchange_strong(running, awaited, std::memory_order_acquire)) return;
  for (auto sleep = kFirstSleep; state.load(std::memory_order_acquire) == awaited;
       sleep = std::min(2 * sleep, kLongestSleep)) {
    if (progress.has_stalled()) worker.place.move_to(sched_getcpu());
    sleep_while(state, awaited, sleep);
  }
}

void ThreadPool::parallel_for(std::size_t count, std::size_t chunk, RangeBody body) {
  if (count == 0) return;
  chunk = std::max<std::size_t>(chunk, 1);
  Job job{.count = count, .chunk = chunk, .body = body, .num_chunks = (count - 1) / chunk + 1};
  std::array<Claim, ThreadPoolOptions::kMaxThreads> claims;
  const std::size_t num_claims = claim_some(job.num_chunks - 1, job, claims.data());
  // The caller always takes the first chunk: in consecutive loops, it finds that chunk's data in its cache.
  job.run_chunk(0);
  job.work();
  for (std::size_t i = 0; i < num_claims; ++i) finish(claims[i], job);
}

Result<std::shared_ptr<Executor>> create_thread_pool(const ThreadPoolOptions& options) {
  return guard_allocations([&]() -> Result<std::shared_ptr<Executor>> {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<Executor> pool, ThreadPool::create(options));
    return pool;
  });
}

}  // namespace millrace
