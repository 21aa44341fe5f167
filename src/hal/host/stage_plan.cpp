// SPDX-License-Identifier: Apache-2.0
#include "hal/host/stage_plan.h"

#include <algorithm>
#include <cmath>

namespace millrace {
namespace {

/// A share has about so many units: many enough that a worker that comes late, or is slow, leaves little to wait for,
/// few enough that a unit is worth its call.
constexpr double kUnitsPerShare = 16;
constexpr std::uint64_t kGroupsTogether = 16;

/// In nanoseconds, but never zero: what nothing is known of is shared out by its groups.
double cost(const StagePart& part) { return part.groups.size() * (part.ns_per_group + 1e-3); }

std::uint32_t boundary(const StagePart& part, std::uint32_t units) {
  if (units == part.num_units) return part.groups.end;
  const std::uint64_t size = part.groups.size();
  const std::uint64_t together = size / part.num_units >= kGroupsTogether ? kGroupsTogether : 1;
  return part.groups.first + static_cast<std::uint32_t>(size * units / part.num_units / together * together);
}

}  // namespace

StagePlan::StagePlan(std::uint32_t most_steps, std::uint32_t most_workers) {
  parts_.reserve(most_steps);
  ends_.reserve(most_workers);
}

void StagePlan::clear() { parts_.clear(); }

double StagePlan::ns() const {
  double sum = 0;
  for (const StagePart& part : parts_) sum += part.groups.size() * part.ns_per_group;
  return sum;
}

std::uint64_t StagePlan::num_groups() const {
  std::uint64_t sum = 0;
  for (const StagePart& part : parts_) sum += part.groups.size();
  return sum;
}

std::span<const std::uint32_t> StagePlan::cut(std::uint32_t num_workers) {
  double total = 0;
  for (const StagePart& part : parts_) total += cost(part);
  const double unit = total / (num_workers * kUnitsPerShare);
  std::uint32_t num_units = 0;
  for (StagePart& part : parts_) {
    part.first_unit = num_units;
    part.num_units = part.groups.size();
    if (part.num_units > 1) {
      part.num_units = static_cast<std::uint32_t>(std::clamp<double>(std::round(cost(part) / unit), 1, part.num_units));
    }
    num_units += part.num_units;
  }
  // Each share ends where the cost of all before it is the workers' part of the whole.
  ends_.clear();
  auto part = parts_.begin();
  double before = 0;
  for (std::uint32_t worker = 1; worker < num_workers; ++worker) {
    const double target = total * worker / num_workers;
    for (; part != parts_.end() && before + cost(*part) <= target; ++part) before += cost(*part);
    if (part == parts_.end()) {
      ends_.push_back(num_units);
    } else {
      const double units = (target - before) / cost(*part) * part->num_units;
      ends_.push_back(part->first_unit + static_cast<std::uint32_t>(units + 1e-6));  // 2.9999 is three
    }
  }
  ends_.push_back(num_units);
  return ends_;
}

StagePart& StagePlan::part_of(std::uint32_t unit) {
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), unit,
                                      [](std::uint32_t at, const StagePart& part) { return at < part.first_unit; });
  // A part that has nothing left begins where the next one does.
  return *(after - 1);
}

GroupRange StagePlan::groups_of(const StagePart& part, std::uint32_t unit) {
  const std::uint32_t number = unit - part.first_unit;
  return {boundary(part, number), boundary(part, number + 1)};
}

}  // namespace millrace
