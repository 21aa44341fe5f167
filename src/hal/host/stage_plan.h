// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hal/host/work_shares.h"

namespace millrace {

/// Groups [first, end) of a step.
struct GroupRange {
  std::uint32_t first = 0, end = 0;
  std::uint32_t size() const { return end - first; }
  friend bool operator==(const GroupRange&, const GroupRange&) = default;
};

/// The groups of one step of a stage that are still to run.
struct StagePart {
  std::uint32_t step = 0;
  GroupRange groups = {};
  double ns_per_group = 0;  // 0 if unknown
  bool is_measured = false;
  std::uint32_t status_word = 0;  // errors that the step's kernel reports
  std::uint32_t first_unit = 0, num_units = 0;
};

/// Groups of one step.
struct StagePiece {
  StagePart& part;
  GroupRange groups;
};

/// Divides the steps of a stage into units [0, n) of about equal cost. Shares of consecutive units then cost about the
/// same, whatever the steps are. For example, with two workers, two kernels with one group each become one share each,
/// and a large kernel next to a small one is divided between the workers. Allocates nothing after its construction.
class StagePlan {
 public:
  /// Makes a plan for up to this many steps and workers.
  StagePlan(std::uint32_t max_steps, std::uint32_t max_workers);

  void clear();
  /// Adds a step, which has at least one group. Add the steps in their order.
  void add(const StagePart& part) { parts_.push_back(part); }
  std::span<StagePart> parts() { return parts_; }

  /// The estimated time of everything that is still to run.
  double ns() const;
  std::uint64_t num_groups() const;

  /// Divides what is still to run. Returns the end of each worker's share; there may be fewer units than workers.
  std::span<const std::uint32_t> cut(std::uint32_t num_workers);
  /// The maximum number of units that a worker takes at a time, so that a piece takes about 200 us at most. A single
  /// group that takes longer is a unit of its own. Precondition: cut() has been called.
  std::uint32_t max_units() const;
  /// Removes the leading units that belong to one step from `units`, which is not empty, and returns their groups.
  /// Units of many groups begin at multiples of 16 groups, counted from the part's first group, because kernels process
  /// some rows together, and elements of neighbouring columns share a cache line.
  StagePiece next_piece(UnitRange& units);

 private:
  StagePart& part_of(std::uint32_t unit);

  std::vector<StagePart> parts_;
  std::vector<std::uint32_t> ends_;
};

}  // namespace millrace
