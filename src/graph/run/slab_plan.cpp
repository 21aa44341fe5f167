// SPDX-License-Identifier: Apache-2.0
// Places transients whose sizes are bound at run time, and checks that no two that live together overlap.
#include "graph/run/slab_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "millrace/base/saturating.h"
#include "millrace/hal/buffer.h"

namespace millrace {
namespace {

std::vector<Lifespan> lives_of(const SlabPlan& plan) {
  std::vector<Lifespan> lives;
  for (const SlabPlan::Transient& transient : plan.transients) lives.push_back(transient.life);
  return lives;
}

}  // namespace

std::int64_t align_slab_bytes(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = Buffer::kAlignment;
  // A size that is too large to align is too large for any slab.
  return std::max(saturating::add(std::max(bytes, std::int64_t{0}), kAlignment - 1) / kAlignment * kAlignment, bytes);
}

PlacementCheck::PlacementCheck(std::span<const Lifespan> lives) {
  for (std::uint32_t i = 0; i < lives.size(); ++i) transients_.push_back({lives[i], i});
  std::ranges::sort(transients_, {}, [](const Numbered& each) { return each.life.first; });
  living_.reserve(transients_.size());
}

Status PlacementCheck::run(std::span<const std::int64_t> bytes, std::span<const std::int64_t> offsets,
                           std::int64_t slab_bytes) {
  living_.clear();
  for (const Numbered& next : transients_) {
    std::erase_if(living_, [&](const Numbered& other) { return other.life.last < next.life.first; });
    const std::int64_t begin = offsets[next.number], end = saturating::add(begin, bytes[next.number]);
    if (begin < 0 || end > slab_bytes) {
      return internal_error(fmt::format("slab: transient {} has bytes [{}, {}), expected them inside {}", next.number,
                                        begin, end, slab_bytes));
    }
    for (const Numbered& other : living_) {
      const std::int64_t other_begin = offsets[other.number];
      if (std::max(begin, other_begin) >= std::min(end, saturating::add(other_begin, bytes[other.number]))) continue;
      return internal_error(fmt::format("slab: transients {} and {} both live at @{} and share bytes; place them apart",
                                        other.number, next.number, next.life.first));
    }
    living_.push_back(next);
  }
  return {};
}

SlabPlacement::SlabPlacement(const SlabPlan& plan)
    : plan_(plan),
      packer_(SlabPacker::create(lives_of(plan))),
      bytes_(plan.transients.size()),
      offsets_(plan.transients.size()),
      slot_begins_(plan.num_slots + std::size_t{1}) {
  if (packer_) check_.emplace(lives_of(plan));
}

Result<std::int64_t> SlabPlacement::place(std::span<const std::int64_t> bytes, std::int64_t available_bytes) {
  std::ranges::transform(bytes, bytes_.begin(), align_slab_bytes);
  const std::int64_t in_slots = place_in_slots();
  if (!packer_) return in_slots;
  const std::int64_t packed = in_slots <= available_bytes ? in_slots : packer_->pack(bytes_, available_bytes);
  if (packed < in_slots) std::ranges::copy(packer_->offsets(), offsets_.begin());
  const std::int64_t slab_bytes = std::min(packed, in_slots);
  MILLRACE_TRY(check_->run(bytes_, offsets_, slab_bytes));
  return slab_bytes;
}

/// A slot is as large as its largest user; slots are adjacent, as pack_transients() arranges them.
std::int64_t SlabPlacement::place_in_slots() {
  std::ranges::fill(slot_begins_, 0);
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    const std::optional<std::uint32_t>& slot = plan_.transients[i].slot;
    if (slot) slot_begins_[*slot + 1] = std::max(slot_begins_[*slot + 1], bytes_[i]);
  }
  slot_begins_[0] = plan_.fixed_bytes;
  for (std::size_t i = 1; i < slot_begins_.size(); ++i) {
    slot_begins_[i] = saturating::add(slot_begins_[i - 1], slot_begins_[i]);
  }
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    const SlabPlan::Transient& transient = plan_.transients[i];
    offsets_[i] = transient.slot ? slot_begins_[*transient.slot] : transient.offset_bytes;
  }
  return slot_begins_.back();
}

}  // namespace millrace
