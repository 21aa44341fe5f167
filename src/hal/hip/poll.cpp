// SPDX-License-Identifier: Apache-2.0
// The thread of a device: finds out which submissions have ended, and signals their semaphores.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "hal/command_text.h"
#include "hal/hip/queue.h"
#include "hal/timepoints.h"

namespace millrace::hip {
namespace {

/// After this many iterations without news, the thread pauses between polls.
constexpr std::uint32_t kBusyIterations = 2000;
constexpr std::chrono::microseconds kPause{50};

}  // namespace

void Queue::start() {
  thread_ = std::thread([self = shared_from_this()] { self->run(); });
}

void Queue::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  wake();
  // The last handle to the device may be dropped in a callback, on this thread.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Queue::wake(SharedJob job) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (job != nullptr) to_retry_.push_back(std::move(job));
  } catch (const std::bad_alloc&) {
    tries_all_ = true;
  }
  has_news_ = true;
  changed_.notify_one();
}

void Queue::run() {
  while (!is_done()) {
    try {
      bool was_busy = start_waiting();
      was_busy |= proceed_ring();
      was_busy |= end_jobs();
      if (was_busy) {
        num_idle_iterations_ = 0;
      } else {
        rest();
      }
    } catch (const std::bad_alloc&) {
      {
        const std::lock_guard lock(mutex_);
        tries_all_ = true;
      }
      std::this_thread::sleep_for(kPause);
    }
  }
  cancel_waiting();
}

bool Queue::is_done() {
  const std::lock_guard lock(mutex_);
  return is_closing_ && to_retry_.empty() && num_active_ == 0 && !has_ended_some_;
}

void Queue::rest() {
  std::unique_lock lock(mutex_);
  const auto has_news = [&] { return has_news_; };
  if (num_active_ == 0) {
    // close() may have been called before has_news_ was last cleared, so is_closing_ is checked too.
    changed_.wait(lock, [&] { return has_news_ || is_closing_; });
  } else if (++num_idle_iterations_ < kBusyIterations) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  } else {
    changed_.wait_for(lock, kPause, has_news);
  }
  if (has_news_) num_idle_iterations_ = 0;
  has_news_ = false;
}

/// Retries the waiting jobs that may now be able to start.
bool Queue::start_waiting() {
  std::vector<SharedJob> candidates;
  bool tries_all = context_.is_lost();
  {
    const std::lock_guard lock(mutex_);
    candidates.swap(to_retry_);
    tries_all |= std::exchange(tries_all_, false);
  }
  std::vector<Refused> refused;
  {
    const std::lock_guard lock(order_);
    if (has_ended_some_ || tries_all) {
      candidates.insert(candidates.end(), waiting_for_memory_.begin(), waiting_for_memory_.end());
    }
    if (tries_all) {
      for (const auto& [key, job] : waiting_) candidates.push_back(job);
    }
    has_ended_some_ = false;
    if (candidates.empty()) return false;
    start_all(std::move(candidates), refused);
  }
  settle_all(refused);
  return true;
}

bool Queue::proceed_ring() {
  std::vector<Refused> refused;
  {
    const std::lock_guard lock(order_);
    if (ring_jobs_.empty()) return false;
    const SharedJob job = ring_jobs_.front();
    const std::size_t step_before = job->next_step, byte_before = job->next_byte;
    {
      const CurrentDevice current(context_);
      if (job->status.ok()) job->status = current.status();
      if (!issuer_.advance(*job)) {
        const bool has_moved = job->next_step != step_before || job->next_byte != byte_before;
        check_time(*job, has_moved);
        return has_moved;
      }
    }
    ring_jobs_.erase(ring_jobs_.begin());
    std::vector<SharedJob> candidates;
    hand_over(job, candidates);
    start_all(std::move(candidates), refused);
  }
  settle_all(refused);
  return true;
}

/// Only the first job of each stream can have ended. A job that ends while this function looks at other streams is
/// found by the next call.
bool Queue::end_jobs() {
  {
    const std::lock_guard lock(mutex_);
    watched_ = in_flight_jobs_;
  }
  std::vector<bool> is_blocked(channels_->streams.size());
  bool any = false;
  for (const SharedJob& job : watched_) {
    if (is_blocked[job->stream]) continue;
    if (has_ended(*job) && are_settled(job->wait)) {
      end(job);
      any = true;
    } else {
      is_blocked[job->stream] = true;
    }
  }
  watched_.clear();
  return any;
}

bool Queue::has_ended(Job& job) {
  if (context_.may_block()) {
    if (job.status.ok()) job.status = context_.lost();
    return true;
  }
  const Error error = context_.hip().hipEventQuery(job.end.get());
  if (error == Error::kSuccess) return true;
  if (error != Error::kNotReady) return fails_again(job, error);
  if (context_.is_lost()) {
    const Clock::time_point now = Clock::now();
    if (lost_since_ == Clock::time_point()) lost_since_ = now;
    if (now - lost_since_ > kCloseLimit) context_.lose(context_.lost(), true);
    return false;
  }
  check_time(job, false);
  return false;
}

/// Declares the device lost if no work has ended for too long, although the device could run the job.
void Queue::check_time(Job& job, bool has_moved) {
  const Clock::time_point now = Clock::now();
  if (has_moved) last_progress_ = now;
  if (!job.is_timed) {
    if (!are_settled(job.wait)) return;  // it cannot run yet
    job.is_timed = true;
    job.since = now;
  }
  if (time_limit_.count() > 0 && now - std::max(job.since, last_progress_) > time_limit_)
    (void)hung(context_, "submit", time_limit_);
}

/// Whether a second query fails too: a first error may come from the query instead of the work. Precondition: the first
/// query failed.
bool Queue::fails_again(Job& job, Error error) {
  const Status status = context_.check("submit: the end", "hipEventQuery", error);
  if (job.status.ok()) job.status = status;
  if (!job.is_queried_again) {
    job.is_queried_again = true;
    return false;
  }
  lose_track(context_, status);
  return true;
}

void Queue::end(const SharedJob& shared) {
  Job& job = *shared;
  // Guarded, because the semaphores must be settled in any case.
  const Status status = guard_allocations([&] { return outcome(job); });
  {
    const std::lock_guard lock(mutex_);
    // This comes first, because overlaps_pending_download() reads members that are released below.
    std::erase(in_flight_jobs_, shared);
  }
  for (const Timepoint& signal : job.signal) {
    auto* ours = dynamic_cast<HipSemaphore*>(signal.semaphore.get());
    if (ours != nullptr && ours->is_of(context_)) ours->remove_pending(signal.value);
  }
  // Everything is returned before the semaphores are settled, because the submitter may then submit again.
  if (!context_.is_lost()) job.recording->give_back(std::move(job.run));
  job.run.reset();
  job.staging.reset();
  job.kept_blocks.clear();
  job.pins.clear();
  job.edges.clear();
  job.step_ends.clear();
  job.end.reset();
  job.recording.reset();
  --stream_jobs_[job.stream];
  has_ended_some_ = true;
  last_progress_ = Clock::now();
  (void)settle(job.signal, status);
  --num_active_;
}

Status Queue::outcome(Job& job) const {
  MILLRACE_TRY(job.status);
  MILLRACE_TRY(outcome_of(job.wait));
  MILLRACE_TRY(check_words(job));
  MILLRACE_TRY(measure(job));
  for (const StagedDownload& each : job.downloads) std::copy_n(each.from, each.size_bytes, each.to);
  return {};
}

/// The failure of the first launch, in the list's order, that reports one.
Status Queue::check_words(Job& job) const {
  const auto* words = reinterpret_cast<const std::uint32_t*>(job.run->read_back.get());
  std::uint32_t number = 0;
  while (number < job.recording->num_launches() && words[number] == 0) ++number;
  if (number == job.recording->num_launches()) return {};
  const LaunchStep& launch = job.recording->launch(number);
  Status failed = kernel_status(labelled(job.recording->info(launch).name, launch.label), words[number]);
  if (job.explainer == nullptr) return failed;
  const auto thrown = [&](std::string_view what) {
    return internal_error(
        fmt::format("submit: {}: its FailureExplainer threw an exception: {}; catch it in the explainer",
                    describe_command(job.recording->list(), job.recording->command_of(number)), what));
  };
  try {
    return job.explainer->explain({job.recording->command_of(number), launch.kernel, words[number]}, std::move(failed));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    return thrown(exception.what());
  } catch (...) {
    return thrown("not a std::exception");
  }
}

Status Queue::measure(Job& job) const {
  if (job.times == nullptr) return {};
  job.times->commands.clear();
  double end_ns = 0;
  for (std::size_t i = 0; i < job.recording->steps().size(); ++i) {
    float milliseconds = 0;
    const Error error =
        context_.hip().hipEventElapsedTime(&milliseconds, job.step_ends[i].get(), job.step_ends[i + 1].get());
    MILLRACE_TRY(context_.check("submit: times", "hipEventElapsedTime", error));
    const double begin_ns = end_ns;
    end_ns += std::max(0.0, static_cast<double>(milliseconds) * 1e6);
    job.times->commands.push_back(
        {job.recording->steps()[i].command, static_cast<std::uint64_t>(begin_ns), static_cast<std::uint64_t>(end_ns)});
  }
  return {};
}

void Queue::cancel_waiting() {
  // Allocates only the status, because nobody could be told if memory ran out here.
  std::multimap<Key, SharedJob> waiting;
  std::vector<SharedJob> waiting_for_memory;
  {
    const std::lock_guard lock(order_);
    waiting.swap(waiting_);
    waiting_for_memory.swap(waiting_for_memory_);
    for (const auto& [key, job] : waiting) job->is_started = true;
    for (const SharedJob& job : waiting_for_memory) job->is_started = true;
  }
  const auto cancel = [](const SharedJob& job) {
    (void)settle(job->signal, guard_allocations([] { return cancelled("submit: the device was closed"); }));
  };
  for (const auto& [key, job] : waiting) cancel(job);
  for (const SharedJob& job : waiting_for_memory) cancel(job);
}

}  // namespace millrace::hip
