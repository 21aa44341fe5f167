// SPDX-License-Identifier: Apache-2.0
#include "hal/host/work_shares.h"

#include <utility>

namespace millrace {
namespace {

constexpr std::uint64_t pack(std::uint64_t first, std::uint64_t end) { return end << 32 | first; }

}  // namespace

void WorkShares::begin(std::span<const std::uint32_t> ends) {
  num_workers_ = static_cast<std::uint32_t>(ends.size());
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < num_workers_; ++i) {
    shares_[i].rest.store(pack(first, ends[i]), std::memory_order_relaxed);
    first = ends[i];
  }
}

std::optional<std::uint32_t> WorkShares::next(std::uint32_t worker) {
  for (std::uint32_t i = 0; i < num_workers_; ++i) {
    const std::uint32_t owner = worker + i < num_workers_ ? worker + i : worker + i - num_workers_;
    if (const std::optional<std::uint32_t> taken = take(shares_[owner], i == 0)) return taken;
  }
  return {};
}

/// The owner takes from the front, others take from the end, so that what is left of a share is contiguous.
std::optional<std::uint32_t> WorkShares::take(Share& share, bool is_own) {
  std::uint64_t rest = share.rest.load(std::memory_order_relaxed);
  for (;;) {
    const auto first = static_cast<std::uint32_t>(rest), end = static_cast<std::uint32_t>(rest >> 32);
    if (first == end) return {};
    const std::uint64_t left = is_own ? pack(first + 1, end) : pack(first, end - 1);
    if (share.rest.compare_exchange_weak(rest, left, std::memory_order_relaxed)) return is_own ? first : end - 1;
  }
}

void WorkFailure::note(std::uint64_t place, Status status) {
  const std::lock_guard lock(mutex_);
  if (!is_first(place)) return;
  status_ = std::move(status);
  thrown_ = nullptr;
}

void WorkFailure::note(std::uint64_t place, std::exception_ptr thrown) {
  const std::lock_guard lock(mutex_);
  if (is_first(place)) thrown_ = std::move(thrown);
}

bool WorkFailure::is_first(std::uint64_t place) {
  if (is_before(place)) return false;
  first_.store(place, std::memory_order_relaxed);
  return true;
}

Status WorkFailure::take() {
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return std::move(status_);
}

}  // namespace millrace
