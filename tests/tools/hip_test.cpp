// SPDX-License-Identifier: Apache-2.0
// The command line on HIP devices, whose runtime is the stand-in.
#include <cstdlib>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/hip_standin/control.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using nlohmann::json;
using test::contains;
using test::Workplace;

std::string on_hip(const std::string& rest = "") {
  return " --device 'hip:library=" + std::string(hip_standin::kLibrary) + rest + "'";
}

/// Two GPUs for commands that run during its lifetime.
class TwoGpus {
 public:
  TwoGpus() { setenv(kName, "gfx1100 gfx90a:sramecc+:xnack-", 1); }
  TwoGpus(const TwoGpus&) = delete;
  TwoGpus& operator=(const TwoGpus&) = delete;
  ~TwoGpus() { unsetenv(kName); }

 private:
  static constexpr const char* kName = "MILLRACE_HIP_STANDIN_ARCHITECTURES";
};

TEST_CASE("a run on a HIP device gives the host's results, cold and warm, on either architecture") {
  const Workplace here;
  const TwoGpus gpus;
  Workplace::forget_kernels();
  for (const std::string run :
       {"run top.mr --input x=randn --dim rows=5", "run some.mr --input x=randn,40 --dim k=8"}) {
    const std::string expected = here.output_of(run);
    for (const std::string rest : {"", "", ",arch=gfx90a", ",arch=gfx90a,streams=1,staging_kib=4"}) {
      CAPTURE(rest);
      CHECK(here.output_of(run + on_hip(rest)) == expected);
    }
  }
}

/// The dispatches of a traced run.
std::vector<json> traced_dispatches(const Workplace& here) {
  here.output_of("run net.mr --input x=ones --input w=ones --trace t.json" + on_hip());
  std::vector<json> dispatches;
  const json trace = json::parse(here.read("t.json"));
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] == "dispatch") dispatches.push_back(event);
  }
  return dispatches;
}

TEST_CASE("a trace on a HIP device has each dispatch by the device's own clock, with explain's cost") {
  const Workplace here;
  const std::vector<json> dispatches = traced_dispatches(here), again = traced_dispatches(here);
  REQUIRE(dispatches.size() == 2);
  REQUIRE(again.size() == 2);
  double at = 0;
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    const std::string explained = here.output_of("explain net.mr --dispatch " + std::to_string(i) + on_hip());
    CHECK(contains(explained, "kernel     " + dispatches[i]["args"]["kernel"].get<std::string>() + " by "));
    CHECK(contains(explained, "\n    reads      " + dispatches[i]["args"]["bytes_read"].dump() + " bytes\n"));
    CHECK(contains(explained, "\n    writes     " + dispatches[i]["args"]["bytes_written"].dump() + " bytes\n"));
    const double begin = dispatches[i]["ts"].get<double>(), duration = dispatches[i]["dur"].get<double>();
    CHECK(begin >= at - 0.01);  // a trace counts in microseconds, and rounds
    at = begin + duration;
    // The clock of the stand-in tells the same each time.
    CHECK(duration > 0);
    CHECK(again[i]["dur"].get<double>() == doctest::Approx(duration).epsilon(0.01));
  }
}

TEST_CASE("bench on a HIP device measures by the device's own clock") {
  const Workplace here;
  const test::ToolRun run =
      here.run("bench top.mr --input x=randn --dim rows=8 --min-time 0.001 --json times.json" + on_hip());
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "top/manual_time "));
  const json times = json::parse(here.read("times.json"));
  REQUIRE(times["benchmarks"].size() == 1);
  CHECK(times["benchmarks"][0]["name"] == "top/manual_time");
  CHECK(times["benchmarks"][0]["real_time"].get<double>() > 0);
}

TEST_CASE("explain, check and dump accept a HIP device as its architecture") {
  const Workplace here;
  const TwoGpus gpus;
  for (const std::string gfx : {"gfx1100", "gfx90a"}) {
    const std::string device = on_hip(",arch=" + gfx), target = " --target amdgpu:" + gfx;
    CHECK(here.output_of("explain net.mr" + device) == here.output_of("explain net.mr" + target));
    CHECK(here.output_of("dump net.mr --stage asm" + device) == here.output_of("dump net.mr --stage asm" + target));
    CHECK(here.output_of("check top.mr" + device) ==
          "top.mr: graph 'top' is valid: inputs 1, outputs 2, nodes 3; for amdgpu:" + gfx +
              ": dispatches 2, kernels 2\n");
  }
}

TEST_CASE("refusals of a HIP device, and findings of a run on it, are reported as on other devices") {
  const Workplace here;
  here.write("pick.mr", "graph pick(%x: f32[4], %i: i64[6]) {\n  %y = gather(%x, %i) {axis = 0}\n  return y = %y\n}\n");
  const std::string pick = "run pick.mr --input x=ones --input i=arange";
  CHECK(here.error_of(pick + on_hip()) ==
        "millrace: run: %y = gather: index 4 at [4] of operand 1, %i of i64[6], is outside axis 0 of operand 0, %x of "
        "f32[4]; give -4 to 3\n");
  CHECK(here.error_of(pick + on_hip()) == here.error_of(pick));
  const std::string library = hip_standin::kLibrary;
  for (const std::string command : {"run", "bench", "explain", "check"}) {
    CAPTURE(command);
    const std::string inputs = command == "run" || command == "bench" ? " --input x=ones,2x10" : "";
    CHECK(here.error_of(command + " top.mr" + inputs + on_hip(",arch=gfx942")) ==
          "millrace: device 'hip:library=" + library +
              ",arch=gfx942': no device is a gfx942; found hip:0 (gfx1100); use one of them\n");
  }
  CHECK(here.error_of("run top.mr --input x=ones,2x10 --counts" + on_hip()) ==
        "millrace: --counts: device 'hip:library=" + library +
            "' counts nothing, expected a GPU of sim or isa; say --device sim:gfx1100 or isa:gfx1100\n");
}

}  // namespace
}  // namespace millrace
