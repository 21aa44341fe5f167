// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "millrace/graph/schedule.h"

namespace millrace {

/// The cost of a schedule in numbers. Steps in loops and branches count once.
struct ScheduleStatistics {
  ScheduleOrder order = ScheduleOrder::kMaxConcurrency;
  std::size_t num_dispatches = 0;
  std::size_t num_copies = 0;    // copies of values; one by a kernel also counts as a dispatch
  std::size_t num_waits = 0;     // steps that wait for earlier ones
  std::size_t num_barriers = 0;  // the barriers that these steps wait for
  /// The slab bytes that a run takes, and a lower bound for them: the maximum, over all timepoints, of the bytes that
  /// are live. Both include alignment, and are absent if they depend on a symbol without a value.
  std::optional<std::int64_t> peak_bytes = {}, lower_bound_bytes = {};
  std::int64_t constant_bytes = 0;
  std::int64_t prepared_bytes = 0;  // the part of constant_bytes that loading computes
  friend bool operator==(const ScheduleStatistics&, const ScheduleStatistics&) = default;
};

/// Precondition: verify(schedule) is ok.
ScheduleStatistics measure_schedule(const Schedule&, const SymbolValues& = {});
/// A JSON object with the members' names; null for what is absent.
std::string to_json(const ScheduleStatistics&);

}  // namespace millrace
