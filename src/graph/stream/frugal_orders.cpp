// SPDX-License-Identifier: Apache-2.0
// Proposes orders of the steps that may need little memory. Finding the best one is NP-hard. Two searches, which do
// well on graphs that are nearly trees or chains, propose candidates; the caller measures which is best.
#include <algorithm>
#include <numeric>

#include "graph/stream/min_peak.h"
#include "graph/stream/work_units.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// The index of the sample with middle sizes, which the searches use.
constexpr std::size_t kSample = 1;

/// The bytes that a unit is the first to use, and the bytes that it is the last to use.
class UnitBytes {
 public:
  UnitBytes(const Schedule& schedule, const SampleSizes& sizes, const std::vector<WorkUnit>& units) : units_(units) {
    resources_of_.resize(units.size());
    users_left_.resize(schedule.resources.size());
    is_begun_.resize(schedule.resources.size());
    bytes_.resize(schedule.resources.size());
    for (std::uint32_t i = 0; i < schedule.resources.size(); ++i) bytes_[i] = sizes[ResourceId{i}][kSample];
    for (std::uint32_t i = 0; i < units.size(); ++i) {
      std::vector<std::uint32_t>& used = resources_of_[i];
      for (std::uint32_t k = 0; k < units[i].num_steps; ++k) {
        for (const ResourceUse& use : schedule.steps[StepId{units[i].first_step + k}].uses) {
          if (bytes_[index_of(use.resource)] > 0) used.push_back(index_of(use.resource));
        }
      }
      std::ranges::sort(used);
      const auto repeated = std::ranges::unique(used);
      used.erase(repeated.begin(), repeated.end());
      for (const std::uint32_t resource : used) ++users_left_[resource];
    }
  }

  /// How the unit changes the number of live bytes: negative if it frees more than it adds.
  std::int64_t growth(std::uint32_t unit) const {
    std::int64_t bytes = 0;
    for (const std::uint32_t resource : resources_of_[unit]) {
      const bool begins = !is_begun_[resource], ends = users_left_[resource] == 1;
      if (begins && !ends) bytes = saturating::add(bytes, bytes_[resource]);
      if (ends && !begins) bytes = saturating::subtract(bytes, bytes_[resource]);
    }
    return bytes;
  }
  /// The bytes that the unit is the first to use: result_bytes() are used later too, scratch_bytes() by this unit only.
  std::int64_t result_bytes(std::uint32_t unit) const { return sum(unit, false); }
  std::int64_t scratch_bytes(std::uint32_t unit) const { return sum(unit, true); }
  void run(std::uint32_t unit) {
    for (const std::uint32_t resource : resources_of_[unit]) {
      is_begun_[resource] = true;
      --users_left_[resource];
    }
  }

 private:
  /// Sums the unit's resources that are not its operands. Precondition: no unit has run. A resource with several
  /// writers counts for each of them.
  std::int64_t sum(std::uint32_t unit, bool of_its_own) const {
    std::int64_t bytes = 0;
    for (const std::uint32_t resource : resources_of_[unit]) {
      const bool is_operand = std::ranges::any_of(units_[unit].needs, [&](std::uint32_t needed) {
        return std::ranges::binary_search(resources_of_[needed], resource);
      });
      if (!is_operand && (users_left_[resource] == 1) == of_its_own) bytes = saturating::add(bytes, bytes_[resource]);
    }
    return bytes;
  }

  const std::vector<WorkUnit>& units_;
  std::vector<std::vector<std::uint32_t>> resources_of_;  // sorted
  std::vector<std::uint32_t> users_left_;
  std::vector<bool> is_begun_;
  std::vector<std::int64_t> bytes_;
};

using UnitOrder = std::vector<std::uint32_t>;

/// Depth first from the last units: among a unit's operands, the one whose computation needs the most memory beyond its
/// result comes first. Optimal if the graph is a tree. Source: Liu, "On the storage requirement in the out-of-core
/// multifrontal method", ACM TOMS 12(3), 1986.
UnitOrder order_depth_first(std::vector<WorkUnit> units, const UnitBytes& bytes) {
  std::vector<std::int64_t> result(units.size()), peak(units.size());
  for (std::uint32_t i = 0; i < units.size(); ++i) {
    result[i] = bytes.result_bytes(i);
    // Compares numbers last to make the order stable: clang 19 does not compile GCC 12's ranges::stable_sort.
    std::ranges::sort(units[i].needs, [&](std::uint32_t a, std::uint32_t b) {
      const std::int64_t a_freed = saturating::subtract(peak[a], result[a]);
      const std::int64_t b_freed = saturating::subtract(peak[b], result[b]);
      return a_freed != b_freed ? a_freed > b_freed : a < b;
    });
    std::int64_t held = 0;
    for (const std::uint32_t needed : units[i].needs) {
      peak[i] = std::max(peak[i], saturating::add(held, peak[needed]));
      held = saturating::add(held, result[needed]);
    }
    peak[i] = std::max(peak[i], saturating::add(held, saturating::add(result[i], bytes.scratch_bytes(i))));
  }
  UnitOrder order;
  std::vector<bool> is_done(units.size());
  std::vector<std::pair<std::uint32_t, bool>> open;  // an explicit stack: a chain may be as long as the graph
  for (std::uint32_t i = 0; i < units.size(); ++i) {
    if (!units[i].readers.empty()) continue;
    open.emplace_back(i, false);
    while (!open.empty()) {
      const auto [unit, is_ready] = open.back();
      open.pop_back();
      if (is_done[unit]) continue;
      if (is_ready) {
        is_done[unit] = true;
        order.push_back(unit);
        continue;
      }
      open.emplace_back(unit, true);
      for (auto needed = units[unit].needs.rbegin(); needed != units[unit].needs.rend(); ++needed) {
        if (!is_done[*needed]) open.emplace_back(*needed, false);
      }
    }
  }
  return order;
}

/// Always takes the unit that adds the fewest live bytes, among the kMaxCompared units that became ready most recently.
UnitOrder order_by_growth(const std::vector<WorkUnit>& units, UnitBytes bytes) {
  constexpr std::size_t kMaxCompared = 64;  // the limit bounds the time of each choice
  std::vector<std::size_t> missing;
  UnitOrder order, ready;
  for (std::uint32_t i = 0; i < units.size(); ++i) missing.push_back(units[i].needs.size());
  for (std::uint32_t i = static_cast<std::uint32_t>(units.size()); i-- > 0;) {
    if (missing[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t first = ready.size() - std::min(ready.size(), kMaxCompared);
    std::size_t best = ready.size() - 1;
    std::int64_t min_growth = bytes.growth(ready[best]);
    for (std::size_t i = best; i-- > first;) {
      const std::int64_t growth = bytes.growth(ready[i]);
      if (growth < min_growth) best = i, min_growth = growth;
    }
    const std::uint32_t unit = ready[best];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
    order.push_back(unit);
    bytes.run(unit);
    for (const std::uint32_t reader : units[unit].readers) {
      if (--missing[reader] == 0) ready.push_back(reader);
    }
  }
  return order;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> find_frugal_orders(const Schedule& schedule, const SampleSizes& sizes) {
  std::vector<std::vector<std::uint32_t>> orders(1);
  orders[0].resize(schedule.steps.size());
  std::iota(orders[0].begin(), orders[0].end(), 0);
  const std::vector<WorkUnit> units = find_work_units(schedule);
  const UnitBytes bytes(schedule, sizes, units);
  for (const UnitOrder& unit_order : {order_depth_first(units, bytes), order_by_growth(units, bytes)}) {
    std::vector<std::uint32_t>& steps = orders.emplace_back();
    for (const std::uint32_t unit : unit_order) {
      for (std::uint32_t k = 0; k < units[unit].num_steps; ++k) steps.push_back(units[unit].first_step + k);
    }
  }
  return orders;
}

}  // namespace millrace
