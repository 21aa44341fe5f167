// SPDX-License-Identifier: Apache-2.0
// What is measured: traces, and benchmarks.
#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "millrace/graph/npy.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using nlohmann::json;
using test::contains;
using test::Workplace;

/// All complete events ("X") of a category.
std::vector<json> events_of(const json& trace, const std::string& category) {
  std::vector<json> events;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] == category) events.push_back(event);
  }
  return events;
}

TEST_CASE("a trace has the phases of compiling, and each dispatch of each run with its cost") {
  const Workplace here;
  here.output_of("run net.mr --input x=ones --input w=ones --trace t.json");
  const json trace = json::parse(here.read("t.json"));
  std::set<std::string> phases;
  for (const json& event : events_of(trace, "compile")) phases.insert(event["name"]);
  for (const char* phase : {"compile", "passes", "fold_constants", "lowering", "code", "load"}) {
    CHECK_MESSAGE(phases.contains(phase), phase);
  }
  const std::vector<json> dispatches = events_of(trace, "dispatch");
  REQUIRE(dispatches.size() == 2);
  const json& product = dispatches[0];
  CHECK(contains(product["name"].get<std::string>(), "dot"));
  CHECK(product["args"]["bytes_read"] == 4 * (16 * 32 + 32 * 24));
  CHECK(product["args"]["bytes_written"] == 4 * 16 * 24);
  CHECK(product["args"]["flops"].get<int>() >= 2 * 16 * 24 * 32);
  CHECK(product["args"]["GB/s"].get<double>() > 0);
  CHECK(dispatches[1]["args"]["bytes_written"] == 4 * 24);
  CHECK(dispatches[1]["ts"].get<double>() >= product["ts"].get<double>() + product["dur"].get<double>());
}

TEST_CASE("a trace of repeated runs has all of them, and sizes as they were bound") {
  const Workplace here;
  CHECK(here.run("run top.mr --input x=ones --dim rows=6 --repeat 4 --trace t.json").exit_code == 0);
  const std::vector<json> dispatches = events_of(json::parse(here.read("t.json")), "dispatch");
  REQUIRE(dispatches.size() % 4 == 0);
  CHECK(dispatches[0]["args"]["bytes_read"] == 4 * 6 * 10);
}

TEST_CASE("bench prints Google Benchmark's table, and writes its JSON") {
  const Workplace here;
  const test::ToolRun run = here.run("bench top.mr --input x=randn --dim rows=8 --min-time 0.001 --json times.json");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "top/real_time "));
  CHECK(contains(run.out, "bytes/s="));
  const json times = json::parse(here.read("times.json"));
  REQUIRE(times["benchmarks"].size() == 1);
  CHECK(times["benchmarks"][0]["name"] == "top/real_time");
  CHECK(times["benchmarks"][0]["real_time"].get<double>() > 0);
}

TEST_CASE("bench says what is wrong before it measures") {
  const Workplace here;
  CHECK(
      here.error_of("bench top.mr --input x=randn") ==
      "millrace: --input x=randn: found f32[rows, 10], whose rows nothing tells; say --dim rows=N, or give a shape, as "
      "in x=zeros,8x32000\n");
  CHECK(here.error_of("bench some.mr --input x=randn,9") ==
        "millrace: the size k in 0..8 is told by no input; say --dim k=N\n");
}

}  // namespace
}  // namespace millrace
TEST_CASE("bench reads a file once, for all of its inputs") {
  const Workplace here;
  const std::vector<float> elements(20, 1.0f);
  REQUIRE(write_npy(here.path("x.npy"), {DType::kF32, {2, 10}}, std::as_bytes(std::span(elements))).ok());
  const std::string file = here.read("x.npy");
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  REQUIRE(::write(ends[1], file.data(), file.size()) == static_cast<ssize_t>(file.size()));
  close(ends[1]);  // who reads again finds nothing
  const test::ToolRun run =
      here.run("bench top.mr --min-time 0.001 --input x=@/proc/self/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "top/real_time "));
}

