// SPDX-License-Identifier: Apache-2.0
// Applies a given order of steps, with as few barriers as the memory limit allows.
#include <algorithm>

#include "graph/stream/access_times.h"
#include "graph/stream/min_peak.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// Visits the steps in their final order and decides where to put barriers.
class Placer {
 public:
  Placer(Schedule& schedule, const SampleSizes& sizes, const SampleBytes& limit)
      : schedule_(schedule), sizes_(sizes), limit_(limit), last_users_(schedule.resources.size()) {
    times_.resize(schedule.resources.size());
    is_begun_.resize(schedule.resources.size());
    for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
      for (const ResourceUse& use : schedule.steps[StepId{i}].uses) last_users_[index_of(use.resource)] = i;
    }
  }

  void run() {
    for (std::uint32_t i = 0; i < schedule_.steps.size(); ++i) {
      Step& step = schedule_.steps[StepId{i}];
      const SampleBytes begun = bytes_begun(step);
      if (i > 0 && (must_wait(step) || !fits(begun))) pass_barrier();
      step.timepoint = timepoint_;
      for (std::size_t sample = 0; sample < kNumSamples; ++sample) {
        live_[sample] = saturating::add(live_[sample], begun[sample]);
      }
      for (const ResourceUse& use : step.uses) note(use, i);
    }
  }

 private:
  bool must_wait(const Step& step) const {
    return std::ranges::any_of(step.uses, [&](const ResourceUse& use) {
      if (!schedule_.resources[use.resource].is_computed()) return false;
      const AccessTimes& times = times_[use.resource];
      return times.last_conflict(schedule_.touched_bytes(use), use.is_written) == std::int64_t{timepoint_};
    });
  }

  SampleBytes bytes_begun(const Step& step) const {
    SampleBytes bytes{};
    std::vector<ResourceId> seen;
    for (const ResourceUse& use : step.uses) {
      if (is_begun_[index_of(use.resource)] || std::ranges::find(seen, use.resource) != seen.end()) continue;
      seen.push_back(use.resource);
      for (std::size_t sample = 0; sample < kNumSamples; ++sample) {
        bytes[sample] = saturating::add(bytes[sample], sizes_[use.resource][sample]);
      }
    }
    return bytes;
  }

  bool fits(const SampleBytes& begun) const {
    for (std::size_t sample = 0; sample < kNumSamples; ++sample) {
      if (saturating::add(live_[sample], begun[sample]) > limit_[sample]) return false;
    }
    return true;
  }

  void pass_barrier() {
    ++timepoint_;
    for (const ResourceId id : ended_) {
      for (std::size_t sample = 0; sample < kNumSamples; ++sample) {
        live_[sample] = saturating::subtract(live_[sample], sizes_[id][sample]);
      }
    }
    ended_.clear();
  }

  void note(const ResourceUse& use, std::uint32_t number) {
    const std::uint32_t resource = index_of(use.resource);
    is_begun_[resource] = true;
    if (schedule_.resources[use.resource].is_computed()) {
      times_[use.resource].add(schedule_.touched_bytes(use), use.is_written, timepoint_);
    }
    if (last_users_[resource] != number) return;
    last_users_[resource] = ~0u;  // the step may use the resource again
    ended_.push_back(use.resource);
  }

  Schedule& schedule_;
  const SampleSizes& sizes_;
  const SampleBytes& limit_;
  IdVector<ResourceId, AccessTimes> times_;
  std::vector<std::uint32_t> last_users_;
  std::vector<bool> is_begun_;
  std::vector<ResourceId> ended_;  // the resources whose lives end at timepoint_
  SampleBytes live_{};
  std::uint32_t timepoint_ = 0;
};

}  // namespace

void place_strictly(Schedule& schedule) {
  std::uint32_t timepoint = 0;
  for (Step& step : schedule.steps) step.timepoint = timepoint++;
  find_lives(schedule);
}

void place_in_order(Schedule& schedule, const std::vector<std::uint32_t>& order, const SampleSizes& sizes) {
  IdVector<StepId, Step> ordered;
  ordered.reserve(order.size());
  for (const std::uint32_t number : order) ordered.push_back(std::move(schedule.steps[StepId{number}]));
  schedule.steps = std::move(ordered);
  place_strictly(schedule);
  const SampleBytes limit = max_live_bytes(schedule, sizes);
  Placer(schedule, sizes, limit).run();
  find_lives(schedule);
}

}  // namespace millrace
