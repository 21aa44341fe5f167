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
  std::size_t num_copies = 0;    // copies of values; those that kernels do are dispatches too
  std::size_t num_waits = 0;     // steps that wait for earlier ones
  std::size_t num_barriers = 0;  // what they wait for
  /// What a run takes of the slab, and the maximum that lives at one timepoint, below which no packing can go;
  /// alignment included. Absent if it depends on a symbol without a value.
  std::optional<std::int64_t> peak_bytes = {}, lower_bound_bytes = {};
  std::int64_t constant_bytes = 0;
  std::int64_t prepared_bytes = 0;  // the part of these that loading the program computes
  friend bool operator==(const ScheduleStatistics&, const ScheduleStatistics&) = default;
};

/// Precondition: verify(schedule) is ok.
ScheduleStatistics measure_schedule(const Schedule&, const SymbolValues& = {});
/// A JSON object with the members' names; null for what is absent.
std::string to_json(const ScheduleStatistics&);

}  // namespace millrace
