// SPDX-License-Identifier: Apache-2.0
// Random trees of concats, stacks and pads over producers of many kinds, against the oracle: a producer that writes
// into its reader's memory must not write elsewhere.
#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/random/random_tree.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

TEST_CASE("random trees of concats, stacks and pads have the oracle's values" * test::Sliced()) {
  int in_rows = 0, side_by_side = 0, copied = 0, strict = 0;
  for (std::uint64_t seed = 1; seed <= 160; ++seed) {
    CAPTURE(seed);
    const Graph graph = test::make_random_tree(seed);
    CAPTURE(to_text(graph));
    const LoweredGraph lowered = lower_graph(graph, test::test_context()->target("cpu:avx512").value()).value();
    for (const auto& [value, part] : lowered.dispatch.parts) (part.rows.empty() ? side_by_side : in_rows) += 1;
    strict += lowered.schedule.order == ScheduleOrder::kStrict;
    for (const Region& region : lowered.dispatch.regions) copied += static_cast<int>(region.copies.size());
    for (const std::string_view device : {"cpu:threads=2", "sim:gfx1100"}) {
      CAPTURE(device);
      CompileOptions options;
      options.context = test::test_context();
      options.device = device;
      REQUIRE(test::check_graph(graph, {{"n", 1 + static_cast<std::int64_t>(seed % 3)}}, options, seed) == "");
    }
  }
  CHECK(in_rows > 60);
  CHECK(side_by_side > 60);
  CHECK(copied > 60);
  CHECK(strict <= 1);  // where sizes hide that steps keep apart
}

}  // namespace
}  // namespace millrace
