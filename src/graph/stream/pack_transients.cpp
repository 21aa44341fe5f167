// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/guard_allocations.h"
#include "graph/stream/slab_space.h"
#include "millrace/graph/schedule.h"
#include "millrace/hal/buffer.h"

namespace millrace {
namespace {

SizeExpr aligned(const SizeExpr& bytes) {
  constexpr std::int64_t kAlignment = Buffer::kAlignment;
  return ceil_div(bytes, kAlignment) * kAlignment;
}

/// First and last timepoint of every transient.
void find_lives(Schedule& schedule) {
  std::vector<bool> seen(schedule.resources.size());
  for (const Step& step : schedule.steps) {
    for (const ResourceRange& range : step.ranges) {
      Resource& resource = schedule.resources[range.resource];
      if (!seen[index_of(range.resource)]) resource.first_timepoint = step.timepoint;
      resource.last_timepoint = std::max(seen[index_of(range.resource)] ? resource.last_timepoint : 0, step.timepoint);
      seen[index_of(range.resource)] = true;
    }
  }
}

/// Bytes that transients of run-time sizes use in turn.
struct Slot {
  SizeExpr bytes = 0;
  std::map<std::uint32_t, Resource*> users;  // by first timepoint; no two live together

  bool is_free_for(const Resource& resource) const {
    const auto later = users.upper_bound(resource.last_timepoint);
    return later == users.begin() || std::prev(later)->second->last_timepoint < resource.first_timepoint;
  }
};

/// The slot that grows least: one that is large enough for every binding, else one that may have to grow.
Slot& choose_slot(std::vector<Slot>& slots, const Resource& resource) {
  const SizeExpr bytes = aligned(resource.size_bytes);
  Slot* free = nullptr;
  for (Slot& slot : slots) {
    if (!slot.is_free_for(resource)) continue;
    if ((slot.bytes - bytes).lower_bound() >= 0) return slot;
    free = &slot;
  }
  return free != nullptr ? *free : slots.emplace_back();
}

/// Behind the part whose sizes are numbers.
void place_symbolic(Schedule& schedule, const std::vector<Resource*>& symbolic) {
  std::vector<Slot> slots;
  for (Resource* resource : symbolic) {
    Slot& slot = choose_slot(slots, *resource);
    slot.bytes = max(slot.bytes, aligned(resource->size_bytes));
    slot.users.emplace(resource->first_timepoint, resource);
  }
  for (const Slot& slot : slots) {
    for (const auto& [first, user] : slot.users) {
      user->offset_bytes = schedule.slab_bytes;
      user->reserved_bytes = slot.bytes;
    }
    schedule.slab_bytes = schedule.slab_bytes + slot.bytes;
  }
}

/// Largest first, each at the lowest offset that no earlier placed resource with a meeting life occupies.
void place_fixed(Schedule& schedule, std::vector<Resource*> fixed) {
  std::sort(fixed.begin(), fixed.end(), [](const Resource* a, const Resource* b) {
    const std::int64_t a_bytes = a->size_bytes.constant(), b_bytes = b->size_bytes.constant();
    return a_bytes != b_bytes ? a_bytes > b_bytes : a < b;
  });
  std::uint32_t num_timepoints = 1;
  for (const Resource* resource : fixed) num_timepoints = std::max(num_timepoints, resource->last_timepoint + 1);
  SlabSpace space(num_timepoints);
  std::int64_t end_of_all = 0;
  for (Resource* resource : fixed) {
    const std::int64_t bytes = aligned(resource->size_bytes).constant();
    const Lifespan life{resource->first_timepoint, resource->last_timepoint};
    const std::int64_t offset = space.find_free(bytes, life);
    space.take(offset, bytes, life);
    resource->offset_bytes = offset;
    end_of_all = std::max(end_of_all, saturating::add(offset, bytes));
  }
  schedule.slab_bytes = end_of_all;
}

}  // namespace

Status pack_transients(Schedule& schedule) try {
  const InsideGuard inside;
  find_lives(schedule);
  std::vector<Resource*> fixed, symbolic;
  for (Resource& resource : schedule.resources) {
    if (resource.lifetime == Lifetime::kConstant) {
      resource.offset_bytes = schedule.constant_bytes;
      schedule.constant_bytes += aligned(resource.size_bytes).constant();
    }
    if (resource.lifetime != Lifetime::kTransient) continue;
    resource.reserved_bytes = resource.size_bytes;
    (resource.size_bytes.is_constant() ? fixed : symbolic).push_back(&resource);
  }
  place_fixed(schedule, std::move(fixed));
  place_symbolic(schedule, symbolic);
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("slab");
}

}  // namespace millrace
