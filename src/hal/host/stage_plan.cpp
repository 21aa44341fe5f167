// SPDX-License-Identifier: Apache-2.0
// Divides a stage's groups among workers, for devices that share work among threads.
#include "hal/host/stage_plan.h"

#include <algorithm>
#include <cmath>

namespace millrace {
namespace {

/// A share has at least about this many units, so that waiting for a late or slow worker is short.
constexpr double kUnitsPerShare = 16;
/// The maximum number of units per share, for stages that take very long.
constexpr double kMaxUnitsPerShare = 4096;
/// The time that a unit of a long stage takes, in nanoseconds, unless kMaxUnitsPerShare requires longer units. The
/// stage's last pieces take this long. Shorter units would not be worth their calls.
constexpr double kMaxUnitNs = 20'000;
/// The maximum length of the piece that a worker takes at a time, in nanoseconds. At the end of the stage, the other
/// workers wait for the last piece.
constexpr double kMaxPieceNs = 200'000;
/// Units of many groups begin at a multiple of this many groups: kernels process some rows together, and elements of
/// neighbouring columns share a cache line, which holds 16 f32.
constexpr std::uint32_t kGroupsTogether = 16;

/// The cost of a part in nanoseconds. It is never zero, so that parts of unknown cost are divided by their numbers of
/// groups.
double cost(const StagePart& part) { return part.groups.size() * (part.ns_per_group + 1e-3); }

std::uint32_t boundary(const StagePart& part, std::uint32_t units) {
  if (units == part.num_units) return part.groups.end;
  const std::uint64_t size = part.groups.size();
  const std::uint64_t together = size / part.num_units >= kGroupsTogether ? kGroupsTogether : 1;
  return part.groups.first + static_cast<std::uint32_t>(size * units / part.num_units / together * together);
}

/// The lengths of units, in nanoseconds.
struct UnitLength {
  double usual;     // with this length, a worker's share has about kUnitsPerShare units
  double shortest;  // in a long stage: short enough for the workers to finish at about the same time
};

UnitLength unit_length(double total_ns, std::uint32_t num_workers) {
  const double usual = total_ns / (num_workers * kUnitsPerShare);
  return {usual, std::min(usual, std::max(kMaxUnitNs, total_ns / (num_workers * kMaxUnitsPerShare)))};
}

std::uint32_t num_units_of(const StagePart& part, const UnitLength& length, std::uint32_t num_workers) {
  const std::uint32_t size = part.groups.size();
  if (size <= 1) return size;
  const auto units_of = [&](double ns) {
    return static_cast<std::uint32_t>(std::clamp<double>(std::round(cost(part) / ns), 1, size));
  };
  const std::uint32_t usual = units_of(length.usual);
  if (length.shortest == length.usual) return usual;
  // If units of the usual length are long enough to begin at multiples of kGroupsTogether, shorter units must begin
  // there too.
  const std::uint32_t max_units = size / usual >= kGroupsTogether ? size / kGroupsTogether : size;
  const std::uint32_t units = std::min(units_of(length.shortest), max_units);
  return units > num_workers ? units / num_workers * num_workers : units;  // the same number for each worker
}

}  // namespace

StagePlan::StagePlan(std::uint32_t max_steps, std::uint32_t max_workers) {
  parts_.reserve(max_steps);
  ends_.reserve(max_workers);
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
  const UnitLength length = unit_length(total, num_workers);
  std::uint32_t num_units = 0;
  for (StagePart& part : parts_) {
    part.first_unit = num_units;
    part.num_units = num_units_of(part, length, num_workers);
    num_units += part.num_units;
  }
  // The n-th share ends where the cost of all units up to its end reaches n / num_workers of the total.
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
      ends_.push_back(part->first_unit + static_cast<std::uint32_t>(units + 1e-6));  // 2.9999 counts as 3
    }
  }
  ends_.push_back(num_units);
  return ends_;
}

std::uint32_t StagePlan::max_units() const {
  double largest = 0;
  for (const StagePart& part : parts_) {
    if (part.num_units > 0) largest = std::max(largest, cost(part) / part.num_units);
  }
  const double units = kMaxPieceNs / largest + 0.01;  // 9.999 counts as 10
  return static_cast<std::uint32_t>(std::clamp<double>(units, 1, WorkShares::kUnlimited));
}

StagePart& StagePlan::part_of(std::uint32_t unit) {
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), unit,
                                      [](std::uint32_t at, const StagePart& part) { return at < part.first_unit; });
  // A part with no units left begins at the same unit as the next part.
  return *(after - 1);
}

StagePiece StagePlan::next_piece(UnitRange& units) {
  StagePart& part = part_of(units.first);
  const std::uint32_t first = units.first - part.first_unit;
  const std::uint32_t end = std::min(units.end - part.first_unit, part.num_units);
  units.first = part.first_unit + end;
  return {part, {boundary(part, first), boundary(part, end)}};
}

}  // namespace millrace
