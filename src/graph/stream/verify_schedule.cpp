// SPDX-License-Identifier: Apache-2.0
// verify(Schedule): checks that all indices and byte ranges are valid, then runs the checks of order and memory.
#include "graph/stream/verify_schedule.h"

#include <algorithm>

#include "base/byte_rows.h"
#include "base/guard_allocations.h"
#include "base/verification.h"

namespace millrace {
namespace {

/// Checks that everything to which a step refers exists, and that its byte ranges are valid.
class PartsCheck {
 public:
  PartsCheck(const Schedule& schedule, ScheduleBodies bodies, ScheduleProblems& problems)
      : schedule_(schedule), bodies_(bodies), problems_(problems) {}

  void run() {
    for (std::uint32_t i = 0; i < schedule_.parts.size(); ++i) {
      if (!check_part(PartId{i})) return;
    }
    for (const Step& step : schedule_.steps) {
      if (step.is_copy() && step.uses.size() != 2) {
        problems_.add("step {}: a copy that uses {} resources, expected 2; name source and destination", step.name,
                      step.uses.size());
      }
      for (const ResourceUse& use : step.uses) check_use(step, use);
      if (step.kernel) check_kernel(step);
      if (step.control != nullptr) check_control(step);
    }
  }

 private:
  /// Checks a part. Returns false if it is invalid, so that no other check reads it.
  bool check_part(PartId id) {
    const ResourcePart& part = schedule_.parts[id];
    const bool is_known =
        schedule_.resources.contains(part.resource) &&
        (!part.inside || (*part.inside < id && schedule_.parts[*part.inside].resource == part.resource));
    if (!is_known) {
      problems_.add("part {}: is in resource {} or part {}, expected an earlier part of a resource of the schedule",
                    part.name, index_of(part.resource), part.inside ? index_of(*part.inside) : 0);
      return false;
    }
    const Resource& resource = schedule_.resources[part.resource];
    if (part.inside && schedule_.parts[*part.inside].bytes.has_rows()) {
      problems_.add("part {}: is inside {}, which has rows with gaps; put it in the part or resource around that part",
                    part.name, schedule_.parts[*part.inside].name);
      return false;
    }
    const ByteRange outer{0, part.inside ? schedule_.parts[*part.inside].bytes.length_bytes : resource.size_bytes};
    if (!is_outside(part.bytes, outer)) return true;
    problems_.add("part {}: is bytes [{}, {}) of {}, expected a range within its {} bytes", part.name,
                  part.bytes.offset_bytes.to_text(), (part.bytes.offset_bytes + part.bytes.length_bytes).to_text(),
                  part.inside ? schedule_.parts[*part.inside].name : resource.name, outer.length_bytes.to_text());
    return true;
  }

  void check_use(const Step& step, const ResourceUse& use) {
    if (!schedule_.resources.contains(use.resource)) {
      problems_.add("step {}: uses resource {}, expected less than {}; name a resource of the schedule", step.name,
                    index_of(use.resource), schedule_.resources.size());
      return;
    }
    const Resource& resource = schedule_.resources[use.resource];
    if (use.part && (!schedule_.parts.contains(*use.part) || schedule_.parts[*use.part].resource != use.resource)) {
      problems_.add("step {}: uses part {}, which is not a part of {}; name one of its parts", step.name,
                    index_of(*use.part), resource.name);
      return;
    }
    const ByteRange whole{0, resource.size_bytes};
    const ByteRange touched = schedule_.touched_bytes(use), given = schedule_.kernel_buffer_bytes(use);
    if (is_outside(touched, whole)) {
      problems_.add("step {}: touches bytes {} of {}, expected a range within its {} bytes", step.name,
                    to_text(touched), resource.name, resource.size_bytes.to_text());
    } else if (is_outside(touched, given) || (given.has_rows() && !are_inside(touched, given))) {
      problems_.add("step {}: touches bytes {} of {}, but its kernel gets {}; give it the touched bytes", step.name,
                    to_text(touched), resource.name, to_text(given));
    }
    for (std::size_t level = 0; level < touched.rows.size(); ++level) {
      if (!are_no_rows(touched, level)) continue;
      const auto& [pitch, row] = touched.rows[level];
      problems_.add("step {}: touches rows of {} bytes every {} bytes of {}; a row ends before the next one begins",
                    step.name, row.to_text(), pitch.to_text(), resource.name);
    }
    if (use.is_written && !resource.is_computed()) {
      problems_.add("step {}: writes {}, which is {} and only read; write a transient, a variable or an output",
                    step.name, resource.name, to_text(resource.lifetime));
    }
  }

  /// Whether `inner` is known not to fit within `outer`, for every binding.
  static bool is_outside(const ByteRange& inner, const ByteRange& outer) {
    const SizeExpr before = inner.offset_bytes - outer.offset_bytes;
    return before.upper_bound() < 0 || inner.length_bytes.upper_bound() < 0 ||
           (outer.length_bytes - before - inner.length_bytes).upper_bound() < 0;
  }

  static bool are_no_rows(const ByteRange& range, std::size_t level) {
    const auto& [pitch, row] = range.rows[level];
    return row.upper_bound() < 0 || (pitch - row).upper_bound() < 0 ||
           (range.divided_bytes(level) - row).upper_bound() < 0;
  }

  void check_control(const Step& step) {
    const std::size_t expected = step.control->is_loop ? 1 : 2;
    if (step.uses.empty() || step.control->bodies.size() != expected) {
      problems_.add("step {}: {} bodies and {} uses, expected {} bodies and the condition; add what is missing",
                    step.name, step.control->bodies.size(), step.uses.size(), expected);
      return;
    }
    for (const StepBody& body : step.control->bodies) {
      const Status status = bodies_ == ScheduleBodies::kVerify ? unguarded(verify(*body.schedule)) : Status();
      if (!status.ok()) problems_.add("step {}: its body: {}", step.name, status.message());
      const bool is_placed =
          body.places.size() == body.schedule->resources.size() &&
          std::ranges::all_of(body.places, [&](const BodyPlace& place) { return place.use < step.uses.size(); }) &&
          body.kernels.size() == body.schedule->kernels.size() &&
          std::ranges::all_of(body.kernels, [&](KernelIndex kernel) { return schedule_.kernels.contains(kernel); });
      if (!is_placed) {
        problems_.add("step {}: its body has {} resources and {} kernels, expected a place for each", step.name,
                      body.schedule->resources.size(), body.schedule->kernels.size());
        continue;
      }
      for (std::uint32_t i = 0; i < body.places.size(); ++i) check_place(step, body, ResourceId{i});
    }
  }

  /// Checks that the step writes whatever its body writes, and that the resource fits into its place.
  void check_place(const Step& step, const StepBody& body, ResourceId id) {
    const Resource& resource = body.schedule->resources[id];
    const BodyPlace& place = body.places[id];
    const ResourceUse& use = step.uses[place.use];
    if (!schedule_.resources.contains(use.resource)) return;
    if (resource.is_computed() && !use.is_written) {
      problems_.add("step {}: its body writes {}, which the step only reads; mark the use as written", step.name,
                    resource.name);
    }
    const SizeExpr bytes = resource.lifetime == Lifetime::kTransient ? resource.reserved_bytes : resource.size_bytes;
    if (is_outside({place.offset_bytes, bytes}, {0, schedule_.kernel_buffer_bytes(use).length_bytes})) {
      problems_.add("step {}: {} of its body has bytes [{}, {}), expected a range within its place's {} bytes",
                    step.name, resource.name, place.offset_bytes.to_text(), (place.offset_bytes + bytes).to_text(),
                    schedule_.kernel_buffer_bytes(use).length_bytes.to_text());
    }
  }

  void check_kernel(const Step& step) {
    if (!schedule_.kernels.contains(*step.kernel)) {
      problems_.add("step {}: kernel {}, expected less than {}; name a kernel of the schedule", step.name,
                    index_of(*step.kernel), schedule_.kernels.size());
      return;
    }
    const KernelInfo& info = schedule_.kernels[*step.kernel].info;
    if (info.num_buffers == step.uses.size() && info.num_sizes == step.sizes.size()) return;
    problems_.add("step {}: {} buffers and {} sizes, expected {} and {}; pass what the kernel takes", step.name,
                  step.uses.size(), step.sizes.size(), info.num_buffers, info.num_sizes);
  }

  const Schedule& schedule_;
  ScheduleBodies bodies_;
  ScheduleProblems& problems_;
};

}  // namespace

// Fails with kInternal: a broken schedule is a bug in Millrace, never a mistake of its user.
Status verify(const Schedule& schedule, ScheduleBodies bodies) {
  return guard_allocations([&]() -> Status {
    VerificationCount::note(IrLevel::kSchedule);
    ScheduleProblems problems;
    PartsCheck(schedule, bodies, problems).run();
    if (problems.text().empty()) {  // the other checks need valid indices
      check_step_order(schedule, problems);
      check_slab(schedule, problems);
    }
    return problems.text().empty() ? Status() : internal_error(problems.text());
  });
}

Status verify(const Schedule& schedule) { return verify(schedule, ScheduleBodies::kVerify); }

}  // namespace millrace
