// SPDX-License-Identifier: Apache-2.0
// Runs each call into LLVM on its own thread, so that a fatal error in LLVM does not end the application.
#include "jit/llvm/worker.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <new>
#include <pthread.h>
#include <unistd.h>

#include <fmt/format.h>
#include <llvm/Support/ErrorHandling.h>

#include "base/guard_allocations.h"
#include "base/has_room.h"

namespace millrace {
namespace {

constexpr std::size_t kStackBytes = std::size_t{16} << 20;  // LLVM recurses deeply; a main thread usually has 8 MiB

/// If less memory than this is left, a call fails before it enters LLVM. Most kernels need less. A call that fails this
/// way leaves LLVM usable; a call that runs out of memory inside LLVM does not.
constexpr std::size_t kMinFreeBytes = std::size_t{16} << 20;

/// How long work in progress may continue after a fatal error on another thread. That thread is parked, and may hold
/// locks, but work in progress rarely needs them. The slowest kernel takes less than a second.
constexpr std::chrono::seconds kGrace{5};

/// One call. Guarded by State::mutex, except `work`, which belongs to the call's thread until the call is done.
struct Job {
  std::shared_ptr<LlvmWork> work;
  bool is_done = false;
  bool thread_ends = false;  // the job's thread is about to end; if false, it may be parked or stuck
  Status failure;
};

/// One per process. Never destroyed: threads may be parked in it at exit.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  bool has_failed = false;
  Status failure;  // the status that every call after the first failure returns
  std::chrono::steady_clock::time_point failed_at;
};

State& state() {
  static State* const only = new State;
  return *only;
}

thread_local Job* current_job = nullptr;

// LLVM's fatal error handler calls some of the functions below, and no exception may leave that handler.

Status failure_of(const Job& job, StatusCode code, std::string_view text) {
  return guard_allocations([&] { return Status(code, fmt::format("llvm: {}: {}", job.work->name(), text)); });
}

void end(Job& job, Status failure = {}) {
  const std::lock_guard lock(state().mutex);
  job.failure = std::move(failure);
  job.is_done = job.thread_ends = true;
  state().changed.notify_all();
}

/// Records a fatal error. After the first one, every later call fails. Must not throw, because LLVM's error handler
/// calls it.
void fail(Job& job, bool thread_ends, const Status& failure) {
  const std::lock_guard lock(state().mutex);
  job.failure = failure;
  job.is_done = true;
  job.thread_ends = thread_ends;
  if (!state().has_failed) {
    state().has_failed = true;
    state().failure = failure;
    state().failed_at = std::chrono::steady_clock::now();
  }
  state().changed.notify_all();
}

Status no_room(const Job& job) {
  return guard_allocations([&] {
    return failure_of(job, StatusCode::kResourceExhausted,
                      fmt::format("less than {} MiB of memory are left, which LLVM needs; free memory, or allow this "
                                  "process more",
                                  kMinFreeBytes >> 20));
  });
}

Status fatal_error(const Job& job, std::string_view reason) {
  return guard_allocations([&] {
    return failure_of(job, StatusCode::kInternal,
                      fmt::format("LLVM ERROR: {}; restart the process to compile more, and please report it", reason));
  });
}

[[noreturn]] void park() {
  while (true) pause();
}

/// If this handler returns, LLVM ends the process, as it would without a handler. It returns only on threads that this
/// file did not start.
void on_fatal_error(void*, const char* reason, bool) {
  if (current_job == nullptr) {
    std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    return;
  }
  fail(*current_job, /*thread_ends=*/false, fatal_error(*current_job, reason));
  park();
}

/// Throws what operator new throws, so that run() handles both failures in the same way.
void on_bad_alloc(void*, const char*, bool) { throw std::bad_alloc(); }

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_bad_alloc);
  });
}

/// LLVM installs its own signal stack on the first thread that calls it. This restores the thread's own stack, which a
/// sanitizer frees at the end of the thread.
class KeptSignalStack {
 public:
  KeptSignalStack() { sigaltstack(nullptr, &before_); }
  ~KeptSignalStack() { sigaltstack(&before_, nullptr); }

 private:
  stack_t before_{};
};

/// An exception that arrives here has passed through frames of LLVM and of the module, which are built without
/// exceptions: no destructor has run. The objects of those frames are leaked, and their locks may be held forever.
void run(Job& job) {
  current_job = &job;
  if (!has_room({.written_bytes = kMinFreeBytes})) return end(job, no_room(job));
  try {
    const KeptSignalStack kept;
    job.work->run();
  } catch (const std::bad_alloc&) {
    return fail(job, /*thread_ends=*/true,
                failure_of(job, StatusCode::kResourceExhausted,
                           "out of memory inside LLVM, which cannot continue; free memory, and restart the process to "
                           "compile more"));
  } catch (const std::exception& error) {
    return fail(job, /*thread_ends=*/true, fatal_error(job, error.what()));
  }
  end(job);
}

void* run_job(void* argument) {
  const std::unique_ptr<std::shared_ptr<Job>> owned(static_cast<std::shared_ptr<Job>*>(argument));
  run(**owned);
  return nullptr;
}

/// Blocks signals, so that the application's handlers run on its own threads. Signals that the thread itself causes
/// stay enabled.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int caused : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&blocked, caused);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

Result<pthread_t> start_thread(std::shared_ptr<Job> job) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return Status::out_of_memory();
  pthread_attr_setstacksize(&attributes, kStackBytes);
  auto owned = std::make_unique<std::shared_ptr<Job>>(std::move(job));
  pthread_t thread{};
  const BlockedSignals blocked;
  const int error = pthread_create(&thread, &attributes, run_job, owned.get());
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    return resource_exhausted("llvm: " + (*owned)->work->name() +
                              ": no thread can be started for LLVM; allow this process more threads or memory");
  }
  owned.release();  // NOLINT(bugprone-unused-return-value): the thread owns it now
  return thread;
}

}  // namespace

Status run_on_llvm_thread(std::shared_ptr<LlvmWork> work) {
  install_handlers();
  auto job = std::make_shared<Job>(std::move(work));
  State& shared = state();
  std::unique_lock lock(shared.mutex);
  if (shared.has_failed) return shared.failure;
  lock.unlock();
  MILLRACE_TRY_ASSIGN(const pthread_t thread, start_thread(job));
  lock.lock();
  shared.changed.wait(lock, [&] { return job->is_done || shared.has_failed; });
  if (!job->is_done) shared.changed.wait_until(lock, shared.failed_at + kGrace, [&] { return job->is_done; });
  const Status status = job->is_done ? job->failure : shared.failure;
  const bool thread_ends = job->thread_ends;
  lock.unlock();
  // Join a thread that is about to end, so that it has ended when the call returns: the process may be ending too.
  thread_ends ? pthread_join(thread, nullptr) : pthread_detach(thread);
  return status;
}

}  // namespace millrace
