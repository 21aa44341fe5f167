// SPDX-License-Identifier: Apache-2.0
// Shares units of work among threads by stealing from the ends of shares, and keeps the first failure.
#include "hal/host/work_shares.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

/// A worker takes 1 / kPiecesLeft of the units left in a share at a time.
constexpr std::uint32_t kPiecesLeft = 8;

constexpr std::uint64_t pack(std::uint64_t first, std::uint64_t end) { return end << 32 | first; }

}  // namespace

void WorkShares::begin(std::span<const std::uint32_t> ends, std::uint32_t max_units) {
  num_workers_ = static_cast<std::uint32_t>(ends.size());
  max_units_ = max_units;
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < num_workers_; ++i) {
    shares_[i].rest.store(pack(first, ends[i]), std::memory_order_relaxed);
    first = ends[i];
  }
}

std::optional<UnitRange> WorkShares::next(std::uint32_t worker) {
  for (std::uint32_t i = 0; i < num_workers_; ++i) {
    const std::uint32_t owner = worker + i < num_workers_ ? worker + i : worker + i - num_workers_;
    if (const std::optional<UnitRange> taken = take(shares_[owner], i == 0)) return taken;
  }
  return {};
}

/// The owner takes from the front, others from the end, so that the rest of a share stays contiguous.
std::optional<UnitRange> WorkShares::take(Share& share, bool is_own) const {
  std::uint64_t rest = share.rest.load(std::memory_order_relaxed);
  for (;;) {
    const auto first = static_cast<std::uint32_t>(rest), end = static_cast<std::uint32_t>(rest >> 32);
    if (first == end) return {};
    const std::uint32_t count = std::clamp((end - first) / kPiecesLeft, 1u, max_units_);
    const UnitRange taken = is_own ? UnitRange{first, first + count} : UnitRange{end - count, end};
    const std::uint64_t left = is_own ? pack(taken.end, end) : pack(first, taken.first);
    if (share.rest.compare_exchange_weak(rest, left, std::memory_order_relaxed)) return taken;
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
