// SPDX-License-Identifier: Apache-2.0
// The names of the orders that a user can choose.
#include "millrace/graph/schedule_order.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

constexpr ScheduleOrder kOrders[] = {ScheduleOrder::kStrict, ScheduleOrder::kMinPeak, ScheduleOrder::kMaxConcurrency};

}  // namespace

std::string_view to_text(ScheduleOrder order) {
  constexpr std::string_view kNames[] = {"strict", "min-peak", "max-concurrency"};
  return kNames[static_cast<std::size_t>(order)];
}

Result<ScheduleOrder> parse_schedule_order(std::string_view text) {
  return guard_allocations([&]() -> Result<ScheduleOrder> {
    for (const ScheduleOrder order : kOrders) {
      if (to_text(order) == text) return order;
    }
    return invalid_argument(
        fmt::format("found '{}', expected strict, min-peak or max-concurrency; say one of these", printable(text)));
  });
}

}  // namespace millrace
