// SPDX-License-Identifier: Apache-2.0
// Checks the invariants of a schedule (schedule.h) without relying on the passes that made it. O(n log n) in steps and
// resources.
#include <algorithm>
#include <map>
#include <queue>
#include <vector>

#include <fmt/format.h>

#include "base/byte_set.h"
#include "base/guard_allocations.h"
#include "base/interval_set.h"
#include "millrace/graph/schedule.h"

namespace millrace {
namespace {

/// Collects broken rules, one per line.
class Problems {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += (text_.empty() ? "" : "\n") + fmt::format(format, std::forward<Args>(args)...);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Checks that the parts of each step exist and agree with each other.
class PartsCheck {
 public:
  PartsCheck(const Schedule& schedule, Problems& problems) : schedule_(schedule), problems_(problems) {}

  void run() {
    for (const Step& step : schedule_.steps) {
      if (!step.kernel && step.uses.size() != 2) {
        problems_.add("step {}: a copy that uses {} resources, expected 2; name source and destination", step.name,
                      step.uses.size());
      }
      for (const ResourceUse& use : step.uses) check_use(step, use);
      if (step.kernel) check_kernel(step);
    }
  }

 private:
  void check_use(const Step& step, const ResourceUse& use) {
    if (!schedule_.resources.contains(use.resource)) {
      problems_.add("step {}: uses resource {}, expected less than {}; name one of the schedule", step.name,
                    index_of(use.resource), schedule_.resources.size());
      return;
    }
    const Resource& resource = schedule_.resources[use.resource];
    const auto& [offset, length] = schedule_.touched_bytes(use);
    if (offset.upper_bound() < 0 || length.upper_bound() < 0 ||
        (resource.size_bytes - offset - length).upper_bound() < 0) {
      problems_.add("step {}: touches bytes [{}, {}) of {}, expected some of its {}", step.name, offset.to_text(),
                    (offset + length).to_text(), resource.name, resource.size_bytes.to_text());
    }
    if (use.is_written && !resource.is_computed()) {
      problems_.add("step {}: writes {}, which is {} and only read; write a transient or an output", step.name,
                    resource.name, to_text(resource.lifetime));
    }
  }

  void check_kernel(const Step& step) {
    if (!schedule_.kernels.contains(*step.kernel)) {
      problems_.add("step {}: kernel {}, expected less than {}; name one of the table", step.name,
                    index_of(*step.kernel), schedule_.kernels.size());
      return;
    }
    const KernelInfo& info = schedule_.kernels[*step.kernel].info;
    if (info.num_buffers == step.uses.size() && info.num_sizes == step.sizes.size()) return;
    problems_.add("step {}: {} buffers and {} sizes, expected {} and {}; pass what the kernel takes", step.name,
                  step.uses.size(), step.sizes.size(), info.num_buffers, info.num_sizes);
  }

  const Schedule& schedule_;
  Problems& problems_;
};

/// Checks that every step can see what it reads, and that transients live as long as they are used.
class OrderCheck {
 public:
  OrderCheck(const Schedule& schedule, Problems& problems)
      : schedule_(schedule), problems_(problems), seen_(schedule.resources.size()) {}

  void run() {
    const Step* before = nullptr;
    for (const Step& step : schedule_.steps) {
      if (before != nullptr && step.timepoint < before->timepoint) {
        problems_.add("step {}: at @{}, after {} at @{}; order steps by timepoint", step.name, step.timepoint,
                      before->name, before->timepoint);
      }
      before = &step;
      for (const ResourceUse& use : step.uses) check(step, use);
      for (const ResourceUse& use : step.uses) note(step, use);
    }
  }

 private:
  struct StepUse {
    const Step* step;
    const ResourceUse* use;
  };
  struct Seen {
    bool is_written = false;  // at least in part, so far
    bool is_exact = true;     // `written` has every written byte
    IntervalSet written = {};
    // At the timepoint of the step checked last:
    std::vector<StepUse> uses = {};
    ByteSet touched_now = {}, written_now = {};
  };

  void check(const Step& step, const ResourceUse& use) {
    const Resource& resource = schedule_.resources[use.resource];
    if (!resource.is_computed()) return;
    Seen& seen = seen_[index_of(use.resource)];
    const bool is_new_timepoint = !seen.uses.empty() && seen.uses.front().step->timepoint != step.timepoint;
    if (is_new_timepoint) seen.touched_now = seen.written_now = {};
    if (is_new_timepoint) seen.uses.clear();
    check_written(step, use, resource, seen);
    const ByteSet& others = use.is_written ? seen.touched_now : seen.written_now;
    if (others.may_overlap(schedule_.touched_bytes(use))) find_meeting(step, use, resource, seen);
    const bool lives = resource.first_timepoint <= step.timepoint && step.timepoint <= resource.last_timepoint;
    if (resource.lifetime == Lifetime::kTransient && !lives) {
      problems_.add("step {}: uses {} at @{}, which lives from @{} to @{}; let it live as long", step.name,
                    resource.name, step.timepoint, resource.first_timepoint, resource.last_timepoint);
    }
  }

  void check_written(const Step& step, const ResourceUse& use, const Resource& resource, const Seen& seen) {
    const auto& [offset, length] = schedule_.touched_bytes(use);
    if (use.is_written || length.upper_bound() <= 0) return;
    if (!seen.is_written) {
      problems_.add("step {}: reads {}, which no earlier step writes; write it first", step.name, resource.name);
      return;
    }
    if (!seen.is_exact || !offset.is_constant() || !length.is_constant()) return;
    if (seen.written.contains(offset.constant(), (offset + length).constant())) return;
    problems_.add("step {}: reads bytes [{}, {}) of {}, of which earlier steps write only some; write them first",
                  step.name, offset.constant(), (offset + length).constant(), resource.name);
  }

  /// Reports the first earlier step of the same timepoint that may touch the same bytes.
  void find_meeting(const Step& step, const ResourceUse& use, const Resource& resource, const Seen& seen) {
    for (const auto& [other_step, other] : seen.uses) {
      const bool both_read = !use.is_written && !other->is_written;
      if (other_step == &step || both_read) continue;
      ByteSet bytes;
      bytes.add(schedule_.touched_bytes(*other));
      if (!bytes.may_overlap(schedule_.touched_bytes(use))) continue;
      problems_.add("step {}: meets {}, which {} {} at the same timepoint @{}; put a barrier between them", step.name,
                    other_step->name, other->is_written ? "writes" : "reads", resource.name, step.timepoint);
      return;
    }
  }

  void note(const Step& step, const ResourceUse& use) {
    if (!schedule_.resources[use.resource].is_computed()) return;
    Seen& seen = seen_[index_of(use.resource)];
    const ByteRange bytes = schedule_.touched_bytes(use);
    seen.uses.push_back({&step, &use});
    seen.touched_now.add(bytes);
    if (!use.is_written) return;
    seen.written_now.add(bytes);
    seen.is_written = true;
    seen.is_exact = seen.is_exact && bytes.offset_bytes.is_constant() && bytes.length_bytes.is_constant();
    if (seen.is_exact) {
      seen.written.insert(bytes.offset_bytes.constant(), (bytes.offset_bytes + bytes.length_bytes).constant());
    }
  }

  const Schedule& schedule_;
  Problems& problems_;
  std::vector<Seen> seen_;
};

/// Checks that transients which live at the same time share no bytes.
class SlabCheck {
 public:
  SlabCheck(const Schedule& schedule, Problems& problems) : schedule_(schedule), problems_(problems) {
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
  }

 private:
  static bool starts_earlier(const Resource* a, const Resource* b) {
    return a->first_timepoint != b->first_timepoint ? a->first_timepoint < b->first_timepoint : a < b;
  }

  void overlap(const Resource& a, const Resource& b) {
    problems_.add("{} and {} both live at @{} and share bytes of the slab; place them apart", a.name, b.name,
                  std::max(a.first_timepoint, b.first_timepoint));
  }

  /// Walks through the timepoints. Each transient that begins to live is compared with its living neighbours in the
  /// slab.
  void check_fixed() {
    std::ranges::sort(fixed_, starts_earlier);
    const auto ends_later = [](const Resource* a, const Resource* b) { return a->last_timepoint > b->last_timepoint; };
    std::priority_queue<const Resource*, std::vector<const Resource*>, decltype(ends_later)> by_end(ends_later);
    std::map<std::int64_t, const Resource*> living;  // by offset
    for (const Resource* resource : fixed_) {
      const std::int64_t begin = resource->offset_bytes.constant(), bytes = resource->reserved_bytes.constant();
      for (; !by_end.empty() && by_end.top()->last_timepoint < resource->first_timepoint; by_end.pop()) {
        const auto place = living.find(by_end.top()->offset_bytes.constant());
        if (place != living.end() && place->second == by_end.top()) living.erase(place);
      }
      if (bytes < resource->size_bytes.upper_bound()) {
        problems_.add("{}: {} bytes reserved, expected its {}; reserve as many", resource->name, bytes,
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

  /// For symbolic sizes: each slot begins where another ends, after all transients of constant size.
  void check_slots() {
    std::map<SizeExpr, const std::vector<const Resource*>*, decltype(&form_less)> by_begin(&form_less);
    for (auto& [begin, users] : slots_) {
      std::ranges::sort(users, starts_earlier);
      for (std::size_t i = 1; i < users.size(); ++i) {
        if (users[i]->first_timepoint <= users[i - 1]->last_timepoint) overlap(*users[i - 1], *users[i]);
        if (users[i]->reserved_bytes != users[0]->reserved_bytes) {
          problems_.add("{} and {} share a place and reserve {} and {} bytes; reserve as many", users[0]->name,
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
        problems_.add("no transient of a size that a run binds begins at {}; place them side by side", end.to_text());
        return;
      }
      end = end + next->second->front()->reserved_bytes;
    }
    if (end != schedule_.slab_bytes) {
      problems_.add("transients end at {}, the slab at {}; make it as large", end.to_text(),
                    schedule_.slab_bytes.to_text());
    }
  }

  const Schedule& schedule_;
  Problems& problems_;
  std::vector<const Resource*> fixed_;
  std::map<SizeExpr, std::vector<const Resource*>, decltype(&form_less)> slots_{&form_less};
  std::int64_t fixed_end_ = 0;
};

}  // namespace

// A broken schedule is a mistake of Millrace, never of its user.
Status verify(const Schedule& schedule) try {
  const InsideGuard inside;
  Problems problems;
  PartsCheck(schedule, problems).run();
  if (problems.text().empty()) {  // the other checks follow the indices that this one has checked
    OrderCheck(schedule, problems).run();
    SlabCheck(schedule, problems).run();
  }
  return problems.text().empty() ? Status() : internal_error(problems.text());
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("schedule");
}

}  // namespace millrace
