// SPDX-License-Identifier: Apache-2.0
// Every HIP call fails once: HipScenario uses all entries of the table.
#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "tests/hal/hip/scenario.h"

namespace millrace {
namespace {

using hip::Error;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeLimit{2};  // of a whole scenario, which takes milliseconds

/// The calls whose failure does not fail the work: they only query or release.
constexpr auto kMayFail = std::to_array<std::string_view>(
    {"hipGetDevice", "hipSetDevice", "hipModuleUnload", "hipStreamDestroy", "hipEventDestroy", "hipFree",
     "hipFreeAsync", "hipHostFree", "hipHostUnregister", "hipMemPoolDestroy", "hipMemPoolTrimTo", "hipMemGetInfo",
     "hipPointerGetAttributes"});

struct Injection {
  Error error;
  const char* name;
  bool loses_device;
};
constexpr Injection kInjections[] = {{Error::kUnknown, "hipErrorUnknown", false},
                                     {Error::kOutOfMemory, "hipErrorOutOfMemory", false},
                                     {Error::kLaunchFailure, "hipErrorLaunchFailure", true}};

struct Machine {
  const char* name;
  const char* library;
  hip_standin::Options options;
  std::uint32_t ordinal;
};
const Machine kMachines[] = {
    {"HIP 6", hip_standin::kLibrary, {}, 0},
    {"an old HIP without optional entries, its second device",
     hip_standin::kRequiredLibrary,
     {.devices = {{.architecture = "gfx90a:sramecc+:xnack-"}, {}},
      .version = 50'220'730,
      .seed = 3,
      .eagerness = hip_standin::Eagerness::kMixed},
     1},
};

struct Outcome {
  Status status;
  bool has_failed = false;   // when the work ended
  bool fails_later = false;  // or when all was released
  Clock::duration time = {};
};

/// Runs the scenario with the `number`-th call of the entry failing, and releases all.
Outcome run_failing(const Machine& machine, std::string_view entry, std::uint64_t number, const Injection& injection) {
  HipStandin standin(machine.options, machine.library);
  standin.control.fail_calls(entry, number, injection.error);
  Outcome outcome;
  const Clock::time_point begin = Clock::now();
  {
    HipScenario scenario(standin, machine.ordinal);
    outcome.status = scenario.run();
    outcome.has_failed = standin.control.have_failed();
  }
  outcome.time = Clock::now() - begin;
  outcome.fails_later = standin.control.have_failed();
  if (outcome.fails_later) {
    // A device that was lost stays so, and says why.
    const Status next = HipScenario(standin, machine.ordinal).run();
    CAPTURE(next.message());
    const bool names_loss = injection.loses_device && next.message().find(injection.name) != std::string::npos;
    CHECK((next.ok() || names_loss));
  }
  return outcome;
}

/// Whether there was such a call, whose failure then ended as it should.
bool fails_well(const Machine& machine, std::string_view entry, std::uint64_t number, const Injection& injection) {
  CAPTURE(std::string(machine.name));
  CAPTURE(std::string(entry));
  CAPTURE(number);
  CAPTURE(std::string(injection.name));
  // A real hang repeats; a delay on a busy machine does not.
  Outcome outcome = run_failing(machine, entry, number, injection);
  for (int i = 0; i < 2 && outcome.time > kTimeLimit; ++i) outcome = run_failing(machine, entry, number, injection);
  CHECK(outcome.time <= kTimeLimit);
  const auto& [status, has_failed, fails_later, time] = outcome;
  CAPTURE(status.message());
  CHECK(status.code() != StatusCode::kDataLoss);
  CHECK(status.code() != StatusCode::kDeadlineExceeded);
  const bool is_tried_again = injection.error == Error::kOutOfMemory && entry.find("Malloc") != entry.npos;
  const bool may_fail = is_tried_again || std::ranges::find(kMayFail, entry) != kMayFail.end();
  CHECK((has_failed || status.ok()));
  CHECK((!has_failed || may_fail || !status.ok()));
  if (!status.ok()) {
    CHECK(status.message().find(injection.name) != std::string::npos);
    // A device that is lost says so at whatever is asked of it next.
    CHECK((injection.loses_device || status.message().find(std::string(entry)) != std::string::npos));
  }
  return fails_later;
}

}  // namespace

TEST_CASE("hip: whichever call fails, its error comes back, nothing leaks or hangs, and the next run works") {
  std::set<std::string_view> called;
  for (const Machine& machine : kMachines) {
    for (const Injection& injection : kInjections) {
      for (const std::string_view entry : hip_standin::open_control(hip_standin::kLibrary).entries()) {
        if (entry == "hipGetErrorName") continue;  // has no error to fail with
        std::uint64_t number = 1;
        while (fails_well(machine, entry, number, injection)) ++number;
        if (number > 1) called.insert(entry);
      }
    }
  }
  CHECK(called.size() + 1 == hip_standin::open_control(hip_standin::kLibrary).entries().size());
}

}  // namespace millrace
