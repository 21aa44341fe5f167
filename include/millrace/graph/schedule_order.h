// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/base/status.h"

namespace millrace {

/// The order of a schedule's steps, and which of them may run concurrently.
enum class ScheduleOrder : std::uint8_t {
  kStrict,          // the graph's order with a barrier after each step, for debugging
  kMinPeak,         // the order found to need the least memory; never more than the graph's order
  kMaxConcurrency,  // each step as soon as its operands are ready; later if that shortens lifetimes
};

/// "strict", "min-peak", "max-concurrency".
std::string_view to_text(ScheduleOrder);
Result<ScheduleOrder> parse_schedule_order(std::string_view);

}  // namespace millrace
