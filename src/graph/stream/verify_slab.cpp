// SPDX-License-Identifier: Apache-2.0
// The part of verify(Schedule) that checks the memory plan.
#include <algorithm>
#include <map>
#include <queue>
#include <vector>

#include "graph/stream/verify_schedule.h"

namespace millrace {
namespace {

/// Checks that transients which live at the same time share no bytes, and that no two variables do.
class SlabCheck {
 public:
  SlabCheck(const Schedule& schedule, ScheduleProblems& problems) : schedule_(schedule), problems_(problems) {
    for (const Resource& resource : schedule.resources) {
      if (resource.lifetime != Lifetime::kTransient) continue;
      if (resource.offset_bytes.is_constant() && resource.reserved_bytes.is_constant()) {
        if (resource.reserved_bytes.constant() > 0) fixed_.push_back(&resource);
      } else {
        slots_[resource.offset_bytes].push_back(&resource);
      }
    }
  }

  void run() {
    check_fixed();
    check_slots();
    check_variables();
  }

 private:
  static bool starts_earlier(const Resource* a, const Resource* b) {
    return a->first_timepoint != b->first_timepoint ? a->first_timepoint < b->first_timepoint : a < b;
  }

  void overlap(const Resource& a, const Resource& b) {
    problems_.add("{} and {} both live at @{} and share bytes of the slab; place them apart", a.name, b.name,
                  std::max(a.first_timepoint, b.first_timepoint));
  }

  /// Visits the timepoints in order. Compares each transient that begins to live with its living neighbours in the
  /// slab.
  void check_fixed() {
    std::ranges::sort(fixed_, starts_earlier);
    const auto ends_later = [](const Resource* a, const Resource* b) { return a->last_timepoint > b->last_timepoint; };
    std::priority_queue<const Resource*, std::vector<const Resource*>, decltype(ends_later)> by_end(ends_later);
    std::map<std::int64_t, const Resource*> living;  // keyed by offset
    for (const Resource* resource : fixed_) {
      const std::int64_t begin = resource->offset_bytes.constant(), bytes = resource->reserved_bytes.constant();
      for (; !by_end.empty() && by_end.top()->last_timepoint < resource->first_timepoint; by_end.pop()) {
        const auto place = living.find(by_end.top()->offset_bytes.constant());
        if (place != living.end() && place->second == by_end.top()) living.erase(place);
      }
      if (bytes < resource->size_bytes.upper_bound()) {
        problems_.add("{}: {} bytes reserved, expected its size, {}; reserve that many", resource->name, bytes,
                      resource->size_bytes.to_text());
      }
      const bool is_inside = begin >= 0 && (schedule_.slab_bytes - begin - bytes).lower_bound() >= 0;
      if (!is_inside) {
        problems_.add("{}: bytes [{}, {}), expected them inside the slab of {}", resource->name, begin, begin + bytes,
                      schedule_.slab_bytes.to_text());
      }
      const auto next = living.lower_bound(begin);
      if (next != living.end() && next->first < begin + bytes) overlap(*resource, *next->second);
      if (next != living.begin()) {
        const Resource& previous = *std::prev(next)->second;
        const std::int64_t end = previous.offset_bytes.constant() + previous.reserved_bytes.constant();
        if (begin < end) overlap(*resource, previous);
      }
      living[begin] = resource;
      by_end.push(resource);
      fixed_end_ = std::max(fixed_end_, begin + bytes);
    }
  }

  /// Checks the slots of symbolic size: each must begin where another ends, after all transients of constant size.
  void check_slots() {
    std::map<SizeExpr, const std::vector<const Resource*>*, decltype(&form_less)> by_begin(&form_less);
    for (auto& [begin, users] : slots_) {
      std::ranges::sort(users, starts_earlier);
      for (std::size_t i = 1; i < users.size(); ++i) {
        if (users[i]->first_timepoint <= users[i - 1]->last_timepoint) overlap(*users[i - 1], *users[i]);
        if (users[i]->reserved_bytes != users[0]->reserved_bytes) {
          problems_.add("{} and {} share a place and reserve {} and {} bytes, expected equal sizes", users[0]->name,
                        users[i]->name, users[0]->reserved_bytes.to_text(), users[i]->reserved_bytes.to_text());
        }
      }
      by_begin[begin] = &users;
    }
    if (slots_.empty()) return;
    const auto first = std::ranges::find_if(
        by_begin, [&](const auto& slot) { return slot.first.is_constant() && slot.first.constant() >= fixed_end_; });
    SizeExpr end = first == by_begin.end() ? SizeExpr(fixed_end_) : first->first;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const auto next = by_begin.find(end);
      if (next == by_begin.end()) {
        problems_.add("no transient of symbolic size begins at {}; place these transients without gaps", end.to_text());
        return;
      }
      end = end + next->second->front()->reserved_bytes;
    }
    if (end != schedule_.slab_bytes) {
      problems_.add("transients end at {}, the slab at {}; make the ends equal", end.to_text(),
                    schedule_.slab_bytes.to_text());
    }
  }

  /// Checks that variables follow each other in their order.
  void check_variables() {
    std::int64_t end = 0;
    for (const Resource& variable : schedule_.resources) {
      if (variable.lifetime != Lifetime::kVariable || schedule_.is_body) continue;
      const std::int64_t begin = variable.offset_bytes.constant(), bytes = variable.size_bytes.constant();
      if (begin < end || begin + bytes > schedule_.variable_bytes) {
        problems_.add("{}: bytes [{}, {}) of the variables' {}, expected them after the others, which end at {}",
                      variable.name, begin, begin + bytes, schedule_.variable_bytes, end);
      }
      end = std::max(end, begin + bytes);
    }
  }

  const Schedule& schedule_;
  ScheduleProblems& problems_;
  std::vector<const Resource*> fixed_;
  std::map<SizeExpr, std::vector<const Resource*>, decltype(&form_less)> slots_{&form_less};
  std::int64_t fixed_end_ = 0;
};

}  // namespace

void check_slab(const Schedule& schedule, ScheduleProblems& problems) { SlabCheck(schedule, problems).run(); }

}  // namespace millrace
