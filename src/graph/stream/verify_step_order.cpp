// SPDX-License-Identifier: Apache-2.0
// The part of verify(Schedule) that checks order: reads after writes, barriers between conflicts, lifetimes.
#include <vector>

#include "base/byte_set.h"
#include "graph/stream/verify_schedule.h"
#include "graph/stream/written_bytes.h"

namespace millrace {
namespace {

/// Checks that steps read what earlier steps have written, and that transients live as long as they are used.
class OrderCheck {
 public:
  OrderCheck(const Schedule& schedule, ScheduleProblems& problems)
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
    for (std::uint32_t i = 0; i < seen_.size(); ++i) {
      const Resource& resource = schedule_.resources[ResourceId{i}];
      const ByteRange whole{0, resource.size_bytes};
      if (!resource.output || resource.size_bytes.upper_bound() <= 0 || seen_[i].written.contains(whole)) continue;
      problems_.add("output {}: steps write only some of its {} bytes; write all of them", resource.name,
                    resource.size_bytes.to_text());
    }
  }

 private:
  struct StepUse {
    const Step* step;
    const ResourceUse* use;
  };
  struct Seen {
    WrittenBytes written = {};
    ByteSet touched = {};
    std::vector<StepUse> all_uses = {};
    bool is_rewritten = false;  // is a variable, or has bytes that were touched and then written again
    // Only for the timepoint of the last step that was checked:
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
    seen.is_rewritten |= resource.lifetime == Lifetime::kVariable ||
                         (use.is_written && seen.touched.may_overlap(schedule_.touched_bytes(use)));
    if (seen.is_rewritten) check_graph_order(step, use, resource, seen);
    const ByteSet& others = use.is_written ? seen.touched_now : seen.written_now;
    if (others.may_overlap(schedule_.touched_bytes(use))) find_meeting(step, use, resource, seen);
    const bool lives = resource.first_timepoint <= step.timepoint && step.timepoint <= resource.last_timepoint;
    if (resource.lifetime == Lifetime::kTransient && !lives) {
      problems_.add("step {}: uses {} at @{}, which lives from @{} to @{}; extend its life", step.name, resource.name,
                    step.timepoint, resource.first_timepoint, resource.last_timepoint);
    }
  }

  void check_written(const Step& step, const ResourceUse& use, const Resource& resource, const Seen& seen) {
    const ByteRange bytes = schedule_.touched_bytes(use);
    if (use.is_written || bytes.length_bytes.upper_bound() <= 0 || resource.lifetime == Lifetime::kVariable) return;
    if (seen.written.empty()) {
      problems_.add("step {}: reads {}, which no earlier step writes; write it first", step.name, resource.name);
      return;
    }
    if (seen.written.contains(bytes) || seen.written.contains({0, resource.size_bytes})) return;
    if (is_only_written_before(step, use, resource)) return;
    problems_.add("step {}: reads bytes [{}, {}) of {}, but earlier steps write only some of them; write them first",
                  step.name, bytes.offset_bytes.to_text(), bytes.end_bytes().to_text(), resource.name);
  }

  /// Whether the steps together write all of the resource, and neither this step nor any later one writes the bytes of
  /// this use. Then earlier steps have written these bytes.
  bool is_only_written_before(const Step& step, const ResourceUse& use, const Resource& resource) const {
    WrittenBytes written;
    bool is_later = false;
    for (const Step& other : schedule_.steps) {
      is_later |= &other == &step;
      for (const ResourceUse& write : other.uses) {
        if (write.resource != use.resource || !write.is_written) continue;
        if (is_later && do_meet(use, write)) return false;
        written.add(schedule_.touched_bytes(write));
      }
    }
    return written.contains({0, resource.size_bytes});
  }

  /// Bytes that are written only once have the same value for every later read. For bytes that are written again, as in
  /// scratch, or that begin with a variable's old value, the graph's order decides which write a read sees.
  void check_graph_order(const Step& step, const ResourceUse& use, const Resource& resource, const Seen& seen) {
    for (const auto& [other_step, other] : seen.all_uses) {
      if (other_step->number <= step.number || !do_meet(use, *other)) continue;
      problems_.add(
          "step {}: comes after {}, which is later in the graph and {} the same bytes of {}; keep their "
          "order",
          step.name, other_step->name, other->is_written ? "writes" : "reads", resource.name);
      return;
    }
  }

  /// Whether `a` and `b` may touch the same bytes, and at least one of them writes.
  bool do_meet(const ResourceUse& a, const ResourceUse& b) const {
    if (!a.is_written && !b.is_written) return false;
    ByteSet bytes;
    bytes.add(schedule_.touched_bytes(b));
    return bytes.may_overlap(schedule_.touched_bytes(a));
  }

  /// Reports the first earlier step of the same timepoint that may touch the same bytes.
  void find_meeting(const Step& step, const ResourceUse& use, const Resource& resource, const Seen& seen) {
    for (const auto& [other_step, other] : seen.uses) {
      if (other_step == &step || !do_meet(use, *other)) continue;
      problems_.add("step {}: overlaps {}, which {} {} at the same timepoint @{}; put a barrier between them",
                    step.name, other_step->name, other->is_written ? "writes" : "reads", resource.name, step.timepoint);
      return;
    }
  }

  void note(const Step& step, const ResourceUse& use) {
    if (!schedule_.resources[use.resource].is_computed()) return;
    Seen& seen = seen_[index_of(use.resource)];
    const ByteRange bytes = schedule_.touched_bytes(use);
    seen.uses.push_back({&step, &use});
    seen.touched_now.add(bytes);
    seen.touched.add(bytes);
    seen.all_uses.push_back({&step, &use});
    if (!use.is_written) return;
    seen.written_now.add(bytes);
    seen.written.add(bytes);
  }

  const Schedule& schedule_;
  ScheduleProblems& problems_;
  std::vector<Seen> seen_;
};

}  // namespace

void check_step_order(const Schedule& schedule, ScheduleProblems& problems) { OrderCheck(schedule, problems).run(); }

}  // namespace millrace
