// SPDX-License-Identifier: Apache-2.0
// Checks, awaits and signals the timepoints of submissions, for every driver.
#include "hal/timepoints.h"

#include <fmt/format.h>

namespace millrace {
namespace {

Status null_semaphore(std::string_view list, std::size_t index) {
  return invalid_argument(
      fmt::format("submit: {} {} has no semaphore; give one or leave the timepoint out", list, index));
}

Status check_signal(std::size_t index, const Submission& submission) {
  const Timepoint& signal = submission.signal[index];
  if (signal.value > Semaphore::kMaxValue) {
    return invalid_argument(fmt::format("submit: signal {} is value {}, expected at most {}; signal a smaller one",
                                        index, signal.value, Semaphore::kMaxValue));
  }
  for (std::size_t earlier = 0; earlier < index; ++earlier) {
    const Timepoint& other = submission.signal[earlier];
    if (other.semaphore != signal.semaphore || signal.value > other.value) continue;
    return invalid_argument(fmt::format(
        "submit: signal {} is value {}, but signal {} sets the same semaphore to {}; signal a greater value", index,
        signal.value, earlier, other.value));
  }
  for (const Timepoint& wait : submission.wait) {
    if (wait.semaphore != signal.semaphore || signal.value > wait.value) continue;
    return invalid_argument(
        fmt::format("submit: signal {} is value {}, but the submission waits for the same semaphore at {}; "
                    "signal a greater value",
                    index, signal.value, wait.value));
  }
  const Result<std::uint64_t> value = signal.semaphore->query();
  // A failed semaphore refuses signals: return its own failure.
  if (!value.ok()) return value.status();
  if (signal.value > *value) return {};
  return failed_precondition(
      fmt::format("submit: signal {} is value {}, expected more than its semaphore's {}; signal a greater value", index,
                  signal.value, *value));
}

}  // namespace

Status check_timepoints(const Submission& submission) {
  for (std::size_t i = 0; i < submission.wait.size(); ++i) {
    if (submission.wait[i].semaphore == nullptr) return null_semaphore("wait", i);
  }
  for (std::size_t i = 0; i < submission.signal.size(); ++i) {
    if (submission.signal[i].semaphore == nullptr) return null_semaphore("signal", i);
    MILLRACE_TRY(check_signal(i, submission));
  }
  return {};
}

bool are_settled(std::span<const Timepoint> wait) {
  bool all_reached = true;
  for (const Timepoint& timepoint : wait) {
    const Result<std::uint64_t> value = timepoint.semaphore->query();
    if (!value.ok()) return true;
    all_reached &= *value >= timepoint.value;
  }
  return all_reached;
}

Status outcome_of(std::span<const Timepoint> wait) {
  for (const Timepoint& timepoint : wait) MILLRACE_TRY(timepoint.semaphore->query().status());
  return {};
}

Status settle(std::span<const Timepoint> signal, Status status) {
  for (const Timepoint& timepoint : signal) {
    if (timepoint.semaphore == nullptr) continue;
    if (status.ok()) status = timepoint.semaphore->signal(timepoint.value);
    if (!status.ok()) timepoint.semaphore->fail(status);
  }
  return status;
}

}  // namespace millrace
