// SPDX-License-Identifier: Apache-2.0
// Places the transients of a schedule in the slab: packs constant sizes, and shares slots among symbolic ones.
#include <algorithm>
#include <deque>
#include <map>

#include "base/guard_allocations.h"
#include "graph/stream/sample_sizes.h"
#include "graph/stream/slab_space.h"
#include "millrace/graph/schedule.h"
#include "millrace/hal/buffer.h"

namespace millrace {
namespace {

SizeExpr aligned(const SizeExpr& bytes) {
  constexpr std::int64_t kAlignment = Buffer::kAlignment;
  return ceil_div(bytes, kAlignment) * kAlignment;
}

/// A part of the slab that transients of symbolic size use one after another.
struct Slot {
  SizeExpr bytes = 0;
  std::vector<Resource*> users;  // sorted by first timepoint; no two live at the same time
};

/// The slots that no transient uses at the timepoint that placement has reached, sorted by size.
class FreeSlots {
 public:
  void add(Slot* slot) { slots_[slot->bytes].push_back(slot); }

  /// The free slot that grows least: one of this size; otherwise one that is large enough for every binding; otherwise
  /// one that may have to grow. Null if none is free.
  Slot* take(const SizeExpr& bytes) {
    auto found = slots_.find(bytes);
    if (found == slots_.end()) {
      std::size_t looked_at = 0;
      const auto is_enough = [&](const auto& size) {
        return ++looked_at <= kMaxSizes && (size.first - bytes).lower_bound() >= 0;
      };
      found = std::ranges::find_if(slots_, is_enough);
    }
    if (found == slots_.end()) found = slots_.begin();
    if (found == slots_.end()) return nullptr;
    Slot* slot = found->second.back();
    found->second.pop_back();
    if (found->second.empty()) slots_.erase(found);
    return slot;
  }

 private:
  static constexpr std::size_t kMaxSizes = 64;  // the maximum number of sizes compared per resource
  std::map<SizeExpr, std::vector<Slot*>, decltype(&form_less)> slots_{&form_less};
};

/// Places transients of symbolic size after those of constant size. Placing them in the order in which their lives
/// begin needs no more slots than the number of transients that live at once. O(n log n).
void place_symbolic(Schedule& schedule, std::vector<Resource*> symbolic) {
  std::sort(symbolic.begin(), symbolic.end(), [](const Resource* a, const Resource* b) {
    return a->first_timepoint != b->first_timepoint ? a->first_timepoint < b->first_timepoint : a < b;
  });
  std::deque<Slot> slots;
  FreeSlots free;
  std::multimap<std::uint32_t, Slot*> in_use;  // keyed by the last timepoint of the user
  for (Resource* resource : symbolic) {
    const SizeExpr bytes = aligned(resource->size_bytes);
    for (; !in_use.empty() && in_use.begin()->first < resource->first_timepoint; in_use.erase(in_use.begin())) {
      free.add(in_use.begin()->second);
    }
    Slot* slot = free.take(bytes);
    if (slot == nullptr) slot = &slots.emplace_back();
    slot->bytes = max(slot->bytes, bytes);
    slot->users.push_back(resource);
    in_use.emplace(resource->last_timepoint, slot);
  }
  for (const Slot& slot : slots) {
    for (Resource* user : slot.users) {
      user->offset_bytes = schedule.slab_bytes;
      user->reserved_bytes = slot.bytes;
    }
    schedule.slab_bytes = schedule.slab_bytes + slot.bytes;
  }
}

/// Places transients in this order, each at the lowest offset that is free while it lives. Returns the highest end.
std::int64_t place_in_order(const std::vector<PackedTransient>& transients, std::uint32_t num_timepoints,
                            std::vector<std::int64_t>& offsets) {
  SlabSpace space(num_timepoints);
  std::int64_t end_of_all = 0;
  for (const auto& [bytes, life, number] : transients) {
    const std::int64_t offset = space.find_free(bytes, life);
    space.take(offset, bytes, life);
    offsets[number] = offset;
    end_of_all = std::max(end_of_all, saturating::add(offset, bytes));
  }
  return end_of_all;
}

void place_fixed(Schedule& schedule, const std::vector<Resource*>& fixed) {
  std::vector<PackedTransient> transients;
  std::uint32_t num_timepoints = 1;
  for (const Resource* resource : fixed) {
    const Lifespan life{resource->first_timepoint, resource->last_timepoint};
    transients.push_back(
        {aligned(resource->size_bytes).constant(), life, static_cast<std::uint32_t>(transients.size())});
    num_timepoints = std::max(num_timepoints, life.last + 1);
  }
  std::vector<std::int64_t> best(fixed.size()), trial(fixed.size());
  schedule.slab_bytes = find_best_packing(
      transients, max_live_bytes(transients), [&] { return place_in_order(transients, num_timepoints, trial); },
      [&](const PackedTransient& each) { return saturating::add(trial[each.number], each.bytes); },
      [&] { best = trial; });
  for (std::size_t i = 0; i < fixed.size(); ++i) fixed[i]->offset_bytes = best[i];
}

}  // namespace

Status pack_transients(Schedule& schedule) {
  return guard_allocations([&]() -> Status {
    find_lives(schedule);
    std::vector<Resource*> fixed, symbolic;
    for (Resource& resource : schedule.resources) {
      if (resource.lifetime == Lifetime::kConstant) {
        resource.offset_bytes = schedule.constant_bytes;
        schedule.constant_bytes += aligned(resource.size_bytes).constant();
      }
      if (resource.lifetime == Lifetime::kVariable && !schedule.is_body) {
        resource.offset_bytes = schedule.variable_bytes;
        schedule.variable_bytes += aligned(resource.size_bytes).constant();
      }
      if (resource.lifetime != Lifetime::kTransient) continue;
      resource.reserved_bytes = resource.size_bytes;
      (resource.size_bytes.is_constant() ? fixed : symbolic).push_back(&resource);
    }
    place_fixed(schedule, fixed);
    place_symbolic(schedule, std::move(symbolic));
    return {};
  });
}

}  // namespace millrace
