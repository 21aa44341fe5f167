// SPDX-License-Identifier: Apache-2.0
// Composed loop kernels and the machine kernels of programs are read back from their texts.
#include <doctest/doctest.h>

#include "graph/dispatch/compose.h"
#include "millrace/graph/context.h"
#include "millrace/graph/lowered_graph.h"
#include "tests/support/kernels/kernel_round_trip.h"
#include "tests/support/random/random_graph.h"

namespace millrace {
namespace {

TEST_CASE("the loop kernels of random graphs read back, and mutated texts of them never crash") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    const Target target = make_default_context()->target(seed % 2 == 0 ? "cpu:avx2" : "sim:gfx1100").value();
    const auto lowered =
        lower_graph(test::make_random_graph(seed).graph, target, {.compile = {.allow_reference = true}});
    REQUIRE_MESSAGE(lowered.ok(), lowered.status().message());
    for (const PlannedKernel& kernel : lowered->schedule.kernels) {
      REQUIRE(test::round_trip_problem(kernel) == "");
    }
    for (const Region& region : lowered->dispatch.regions) {
      const auto composed = compose_region(lowered->dispatch, region);
      if (!composed.ok()) continue;
      for (const ComposedRequest& request : *composed) {
        const auto* loop = std::get_if<LoopKernel>(&request.request);
        if (loop == nullptr) continue;
        REQUIRE(test::round_trip_problem(*loop) == "");
        REQUIRE(test::mutated_text_problem(*loop, seed, 10) == "");
      }
    }
  }
}

}  // namespace
}  // namespace millrace
