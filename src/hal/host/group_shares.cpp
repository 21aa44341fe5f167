// SPDX-License-Identifier: Apache-2.0
#include "hal/host/group_shares.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

/// A share is taken in about so many chunks: many enough that a worker that comes late, or is slow, leaves little to
/// wait for, few enough that a chunk is worth its call.
constexpr std::uint32_t kChunksPerShare = 16;
/// Where groups are many, shares and chunks are multiples of so many: kernels take some rows together, and elements of
/// neighbouring columns are in one cache line.
constexpr std::uint32_t kGroupsTogether = 16;

constexpr std::uint64_t pack(std::uint64_t first, std::uint64_t end) { return end << 32 | first; }
constexpr GroupRange unpack(std::uint64_t rest) {
  return {static_cast<std::uint32_t>(rest), static_cast<std::uint32_t>(rest >> 32)};
}

constexpr std::uint64_t round_up(std::uint64_t count, std::uint64_t unit) { return (count + unit - 1) / unit * unit; }

}  // namespace

void GroupShares::begin(GroupRange all, std::uint32_t num_workers) {
  const std::uint64_t size = all.size(), num_chunks = std::uint64_t{num_workers} * kChunksPerShare;
  const std::uint64_t unit = size / num_chunks >= kGroupsTogether ? kGroupsTogether : 1;
  num_workers_ = num_workers;
  chunk_ =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(round_up((size + num_chunks - 1) / num_chunks, unit), size));
  std::uint64_t first = 0;
  for (std::uint32_t i = 0; i < num_workers; ++i) {
    const std::uint64_t end = std::min(round_up(size * (i + 1) / num_workers, unit), size);
    shares_[i].rest.store(pack(all.first + first, all.first + end), std::memory_order_relaxed);
    first = end;
  }
}

std::optional<GroupRange> GroupShares::next(std::uint32_t worker) {
  for (std::uint32_t i = 0; i < num_workers_; ++i) {
    Share& share = shares_[(worker + i) % num_workers_];
    if (const std::optional<GroupRange> taken = take(share, i == 0)) return taken;
  }
  return {};
}

/// The owner takes from the front, others take from the end, so that what is left of a share is contiguous.
std::optional<GroupRange> GroupShares::take(Share& share, bool is_own) {
  std::uint64_t rest = share.rest.load(std::memory_order_relaxed);
  for (;;) {
    const GroupRange range = unpack(rest);
    if (range.size() == 0) return {};
    const std::uint32_t size = std::min(chunk_, range.size());
    const std::uint32_t middle = is_own ? range.first + size : range.end - size;
    const std::uint64_t left = is_own ? pack(middle, range.end) : pack(range.first, middle);
    if (!share.rest.compare_exchange_weak(rest, left, std::memory_order_relaxed)) continue;
    return is_own ? GroupRange{range.first, middle} : GroupRange{middle, range.end};
  }
}

void GroupFailure::note(std::uint32_t first_group, Status status) {
  const std::lock_guard lock(mutex_);
  if (!is_lowest(first_group)) return;
  status_ = std::move(status);
  thrown_ = nullptr;
}

void GroupFailure::note(std::uint32_t first_group, std::exception_ptr thrown) {
  const std::lock_guard lock(mutex_);
  if (is_lowest(first_group)) thrown_ = std::move(thrown);
}

bool GroupFailure::is_lowest(std::uint32_t first_group) {
  if (is_before(first_group)) return false;
  lowest_.store(first_group, std::memory_order_relaxed);
  return true;
}

Status GroupFailure::take() {
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return std::move(status_);
}

}  // namespace millrace
