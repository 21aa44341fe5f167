// SPDX-License-Identifier: Apache-2.0
// Delays steps to shorten the lives of their results, without making any step wait longer.
#include "graph/stream/delay_steps.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "graph/stream/access_times.h"

namespace millrace {
namespace {

/// The steps that are worth moving.
enum class Gain {
  kAnyBytes,           // steps whose results have more bytes than the operands that the delay keeps alive
  kNoOperandExtended,  // steps whose delay keeps no operand alive longer
};

/// Visits the steps from the last to the first and counts times backwards. So it finds a step's latest timepoint in the
/// way in which place_barriers() finds the earliest.
class Delayer {
 public:
  Delayer(const Schedule& schedule, const SampleSizes& sizes)
      : schedule_(schedule),
        sizes_(sizes),
        end_(schedule.steps.empty() ? 0 : schedule.steps[StepId(schedule.steps.size() - 1)].timepoint) {
    first_users_.resize(schedule.resources.size());
    last_timepoints_.resize(schedule.resources.size());
    times_.resize(schedule.resources.size());
    for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
      for (const ResourceUse& use : schedule.steps[StepId{i}].uses) {
        std::optional<std::uint32_t>& first = first_users_[use.resource];
        if (!first) first = i;
      }
    }
  }

  /// Returns one timepoint per step.
  std::vector<std::uint32_t> run(Gain gain) {
    std::vector<std::uint32_t> timepoints(schedule_.steps.size());
    for (std::uint32_t i = static_cast<std::uint32_t>(timepoints.size()); i-- > 0;) {
      const Step& step = schedule_.steps[StepId{i}];
      const std::uint32_t latest = latest_timepoint(step);
      timepoints[i] = latest > step.timepoint && is_worth(gain, i, latest) ? latest : step.timepoint;
      for (const ResourceUse& use : step.uses) {
        std::uint32_t& last = last_timepoints_[use.resource];
        last = std::max(last, timepoints[i]);
        if (!is_computed(use)) continue;
        times_[use.resource].add(schedule_.touched_bytes(use), use.is_written, end_ - timepoints[i]);
      }
    }
    return timepoints;
  }

 private:
  bool is_computed(const ResourceUse& use) const { return schedule_.resources[use.resource].is_computed(); }

  std::uint32_t latest_timepoint(const Step& step) const {
    std::int64_t before = -1;  // counted backwards
    for (const ResourceUse& use : step.uses) {
      if (!is_computed(use)) continue;
      before = std::max(before, times_[use.resource].last_conflict(schedule_.touched_bytes(use), use.is_written));
    }
    return static_cast<std::uint32_t>(end_ - (before + 1));
  }

  bool is_worth(Gain gain, std::uint32_t number, std::uint32_t latest) const {
    SampleBytes begun{}, kept{};
    for (const ResourceUse& use : schedule_.steps[StepId{number}].uses) {
      const bool begins = first_users_[use.resource] == number;
      const bool ends = last_timepoints_[use.resource] < latest;
      for (std::size_t sample = 0; sample < kNumSamples; ++sample) {
        const std::int64_t bytes = sizes_[use.resource][sample];
        if (begins && !ends) begun[sample] = saturating::add(begun[sample], bytes);
        if (ends && !begins) kept[sample] = saturating::add(kept[sample], bytes);
      }
    }
    if (gain == Gain::kNoOperandExtended && !is_at_most(kept, SampleBytes{})) return false;
    return is_at_most(kept, begun) && !is_at_most(begun, kept);
  }

  const Schedule& schedule_;
  const SampleSizes& sizes_;
  std::uint32_t end_;
  IdVector<ResourceId, std::optional<std::uint32_t>> first_users_;
  IdVector<ResourceId, std::uint32_t> last_timepoints_;  // the last one at which a later step uses the resource
  IdVector<ResourceId, AccessTimes> times_;
};

}  // namespace

void order_by_timepoint(Schedule& schedule) {
  std::vector<std::size_t> place;  // the index for the next step of each timepoint
  for (const Step& step : schedule.steps) {
    if (place.size() < step.timepoint + std::size_t{2}) place.resize(step.timepoint + std::size_t{2});
    ++place[step.timepoint + std::size_t{1}];
  }
  std::partial_sum(place.begin(), place.end(), place.begin());
  IdVector<StepId, Step> ordered;
  ordered.resize(schedule.steps.size());
  for (Step& step : schedule.steps) ordered[StepId(place[step.timepoint]++)] = std::move(step);
  schedule.steps = std::move(ordered);
}

void delay_steps(Schedule& schedule, const SampleSizes& sizes) {
  find_lives(schedule);
  const SampleBytes peak = max_live_bytes(schedule, sizes);
  std::vector<std::uint32_t> before;
  for (const Step& step : schedule.steps) before.push_back(step.timepoint);
  const auto set = [&](const std::vector<std::uint32_t>& timepoints) {
    for (std::uint32_t i = 0; i < timepoints.size(); ++i) schedule.steps[StepId{i}].timepoint = timepoints[i];
    find_lives(schedule);
  };
  for (const Gain gain : {Gain::kAnyBytes, Gain::kNoOperandExtended}) {
    set(Delayer(schedule, sizes).run(gain));
    if (is_at_most(max_live_bytes(schedule, sizes), peak)) break;
    set(before);
  }
  order_by_timepoint(schedule);
}

}  // namespace millrace
