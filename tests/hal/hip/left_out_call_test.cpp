// SPDX-License-Identifier: Apache-2.0
// Mistakes that the driver does not make: each call that orders or makes results, left out once. If the scenario still
// gave the right results whatever the order of the streams, either the call is not needed or our tests are blind.
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "tests/hal/hip/scenario.h"

namespace millrace {
namespace {

constexpr std::uint64_t kSeeds = 60;

enum class Outcome { kRight, kWrong, kNoSuchCall };

Outcome run_without(std::string_view entry, std::uint64_t number, std::uint64_t seed) {
  HipStandin standin({.seed = seed});
  standin.control.fail_calls(entry, number, hip::Error::kSuccess);
  Status status;
  {
    HipScenario scenario(standin);
    status = scenario.run_ordered();
    if (!standin.control.have_failed()) {
      CHECK(status.message() == "");
      return Outcome::kNoSuchCall;
    }
  }
  const bool is_right = standin.control.take_findings().empty() && status.ok();
  return is_right ? Outcome::kRight : Outcome::kWrong;
}

/// The numbers of the recordings that nobody waits for or asks about before the event is recorded anew: those of
/// allocations that follow each other.
std::set<std::uint64_t> find_superseded_records() {
  HipStandin standin;
  {
    HipScenario scenario(standin);
    REQUIRE(scenario.run_ordered().ok());
  }
  std::set<std::uint64_t> superseded;
  std::map<std::uint64_t, std::uint64_t> unused;  // the number of the last recording, by event
  std::uint64_t number = 0;
  for (const hip_standin::Call& call : standin.control.calls()) {
    if (call.entry == "hipEventRecord") {
      ++number;
      if (unused.contains(call.event)) superseded.insert(unused[call.event]);
      unused[call.event] = number;
    } else if (call.event != 0) {
      unused.erase(call.event);
    }
  }
  return superseded;
}

}  // namespace

TEST_CASE("hip: a call that is left out is noticed in some order of the streams") {
  const std::set<std::uint64_t> superseded = find_superseded_records();
  for (const char* entry : {"hipStreamWaitEvent", "hipEventRecord", "hipMemcpyAsync", "hipMemsetD8Async",
                            "hipMemsetD16Async", "hipMemsetD32Async", "hipModuleLaunchKernel"}) {
    CAPTURE(std::string(entry));
    bool is_called = true;
    for (std::uint64_t number = 1; is_called; ++number) {
      if (entry == std::string_view("hipEventRecord") && superseded.contains(number)) continue;
      CAPTURE(number);
      Outcome outcome = Outcome::kRight;
      for (std::uint64_t seed = 1; seed <= kSeeds && outcome == Outcome::kRight; ++seed) {
        outcome = run_without(entry, number, seed);
      }
      CHECK(outcome != Outcome::kRight);
      is_called = outcome != Outcome::kNoSuchCall;
    }
  }
}

}  // namespace millrace
