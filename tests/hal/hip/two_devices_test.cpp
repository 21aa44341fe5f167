// SPDX-License-Identifier: Apache-2.0
// Work of one device that waits for work of another.
#include <chrono>

#include <doctest/doctest.h>

#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hip_standin/standin.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using W = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("hip: two devices take turns, whichever is submitted to first") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const HipStandin standin(two_architectures(seed));
    const auto left = standin.open().value(), right = standin.open({.ordinal = 1}).value();
    const Words here(*left, {0}), there(*right, {0});
    const auto turn = timeline(*left), other_turn = timeline(*right);
    // 1 on the left, 2 on the right, 3 on the left.
    const Replay one = append_digit(*left, 1), two = append_digit(*right, 2), three = append_digit(*left, 3);
    const auto first = [&] { return one.submit({here.binding()}, {}, {{turn, 1}}); };
    const auto second = [&] { return two.submit({there.binding()}, {{turn, 1}}, {{other_turn, 1}}); };
    const auto third = [&] { return three.submit({here.binding()}, {{other_turn, 1}}, {{turn, 2}}); };
    if (seed % 2 == 0) {
      REQUIRE((first().ok() && second().ok() && third().ok()));
    } else {
      REQUIRE((third().ok() && second().ok() && first().ok()));
    }
    CHECK(turn->wait(2, 10s).ok());
    CHECK(here.read() == W{13});
    CHECK(there.read() == W{2});
  }
}

TEST_CASE("hip: work that waits for a hung device fails with its status, and its own device goes on") {
  HipStandin standin({.devices = {{}, {}}});
  {
    const auto other = standin.open({.ordinal = 1}).value();
    const Words theirs(*other, {0});
    {
      const auto device = standin.open({.time_limit = 500ms}).value();
      const Words words(*device, {0});
      const auto done = timeline(*device), behind = timeline(*other);
      standin.control.hang_launch(1);
      REQUIRE(append_digit(*device, 1).submit({words.binding()}, {}, {{done, 1}}).ok());
      REQUIRE(append_digit(*other, 1).submit({theirs.binding()}, {{done, 1}}, {{behind, 1}}).ok());
      CHECK(behind->wait(1, 10s).message() ==
            "device 'hip:0' is lost: submit: no work ended within 500 ms; look for a kernel that does not end, or "
            "raise the device's time_limit_ms");
      CHECK(wait_for(append_digit(*other, 2), {theirs.binding()}).message() == "");
    }
    CHECK(theirs.read() == W{2});
    CHECK(other->losses().num_quarantined == 0);
  }
  standin.num_quarantined = standin.control.live_objects().size();
}

}  // namespace millrace
