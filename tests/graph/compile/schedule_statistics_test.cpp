// SPDX-License-Identifier: Apache-2.0
#include "millrace/graph/schedule_statistics.h"

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/jit/kernel_compiler.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

/// Two reductions behind each other, a copy of each operand of the concat, and a copy to the second output.
Schedule schedule_of(ScheduleOrder order) {
  const Graph graph = parse_graph(
                          "graph copy(%x: f32[rows in 0..1000, 4]) {\n"
                          "  %m = reduce_max(%x) {axes = [1], keep_dims = true} : f32[rows, 1]\n"
                          "  %s = reduce_sum(%m) {axes = [0], keep_dims = true} : f32[1x1]\n"
                          "  %y = concat(%x, %x) {axis = 0} : f32[2*rows, 4]\n"
                          "  return y = %y, s = %s, again = %s\n"
                          "}\n")
                          .value();
  const Target target = test::test_context()->target("cpu:baseline").value();
  return lower_graph(graph, target, {}, {}, order).value().schedule;
}

TEST_CASE("statistics count the work of a schedule, and its memory for given sizes") {
  const ScheduleStatistics expected{.order = ScheduleOrder::kMaxConcurrency,
                                    .num_dispatches = 4,
                                    .num_copies = 3,
                                    .num_waits = 2,
                                    .num_barriers = 2,
                                    .peak_bytes = 64,
                                    .lower_bound_bytes = 64,
                                    .constant_bytes = 0};
  CHECK(measure_schedule(schedule_of(ScheduleOrder::kMaxConcurrency), {{"rows", 8}}) == expected);
  ScheduleStatistics strict = expected;
  strict.order = ScheduleOrder::kStrict;
  strict.num_barriers = 4;
  strict.peak_bytes = strict.lower_bound_bytes = 448;
  CHECK(measure_schedule(schedule_of(ScheduleOrder::kStrict), {{"rows", 100}}) == strict);
}

TEST_CASE("statistics are an object in JSON, with null for numbers that depend on an unknown size") {
  const Schedule schedule = schedule_of(ScheduleOrder::kMinPeak);
  const std::string counts =
      "{\"order\": \"min-peak\", \"num_dispatches\": 4, \"num_copies\": 3, \"num_waits\": 2, \"num_barriers\": 2, ";
  CHECK(to_json(measure_schedule(schedule)) ==
        counts + "\"peak_bytes\": null, \"lower_bound_bytes\": null, \"constant_bytes\": 0, \"prepared_bytes\": 0}");
  CHECK(to_json(measure_schedule(schedule, {{"rows", 1000}})) ==
        counts + "\"peak_bytes\": 4032, \"lower_bound_bytes\": 4032, \"constant_bytes\": 0, \"prepared_bytes\": 0}");
}

}  // namespace
}  // namespace millrace
