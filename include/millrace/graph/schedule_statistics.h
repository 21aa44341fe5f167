// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "millrace/graph/schedule.h"

namespace millrace {

/// What a schedule costs, in numbers. What loops and branches hold counts once.
struct ScheduleStatistics {
  ScheduleOrder order = ScheduleOrder::kMaxConcurrency;
  std::size_t num_dispatches = 0;
  std::size_t num_copies = 0;    // of values; those by kernels are among the dispatches, too
  std::size_t num_waits = 0;     // steps that wait for earlier ones
  std::size_t num_barriers = 0;  // what they wait for
  /// What a run takes of the slab, and the maximum that lives at one timepoint, below which no packing can go;
  /// alignment included. Absent if it depends on a symbol without a value.
  std::optional<std::int64_t> peak_bytes = {}, lower_bound_bytes = {};
  std::int64_t constant_bytes = 0;
  std::int64_t prepared_bytes = 0;  // of these: computed when the program is loaded
  friend bool operator==(const ScheduleStatistics&, const ScheduleStatistics&) = default;
};

/// Precondition: verify(schedule) is ok.
ScheduleStatistics measure_schedule(const Schedule&, const SymbolValues& = {});
/// An object with the members' names; null for what is absent.
std::string to_json(const ScheduleStatistics&);

}  // namespace millrace
