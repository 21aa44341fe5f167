// SPDX-License-Identifier: Apache-2.0
// Traces and benchmarks of the command line.
#include <unistd.h>

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

json trace_of(const Workplace& here, const std::string& run) {
  here.output_of("run " + run + " --trace t.json");
  return json::parse(here.read("t.json"));
}

double begin_of(const json& event) { return event["ts"].get<double>(); }
double end_of(const json& event) { return begin_of(event) + event["dur"].get<double>(); }

/// The one event of the name.
json event_of(const json& trace, const std::string& category, const std::string& name) {
  std::vector<json> found;
  for (const json& event : events_of(trace, category)) {
    if (event["name"] == name) found.push_back(event);
  }
  REQUIRE_MESSAGE(found.size() == 1, name);
  return found[0];
}

TEST_CASE("a trace has the phases of compiling in order, and the time of each pass and kernel") {
  const Workplace here;
  const json trace = trace_of(here, "net.mr --input x=ones --input w=ones");
  const json compile = event_of(trace, "compile", "compile");
  double at = 0;
  constexpr double kRounding = 0.01;  // of microseconds, in which a trace counts
  for (const char* file : {"read", "inputs"}) {
    const json event = event_of(trace, "files", file);
    CHECK_MESSAGE(begin_of(event) >= at - kRounding, file);
    at = end_of(event);
  }
  CHECK(at <= begin_of(compile) + kRounding);
  for (const char* phase : {"passes", "form", "lower", "schedule", "code", "load"}) {
    const json event = event_of(trace, "compile", phase);
    CHECK_MESSAGE(begin_of(event) >= at - kRounding, phase);
    CHECK_MESSAGE(end_of(event) > begin_of(event), phase);
    at = end_of(event);
  }
  CHECK(at <= end_of(compile) + kRounding);
  const json passes = event_of(trace, "compile", "passes"), code = event_of(trace, "compile", "code");
  const json fold = event_of(trace, "compile", "fold_constants"), kernel = event_of(trace, "compile", "reduce_max_1");
  CHECK(begin_of(fold) >= begin_of(passes) - kRounding);
  CHECK(end_of(fold) <= end_of(passes) + kRounding);
  CHECK(begin_of(kernel) >= begin_of(code) - kRounding);
  CHECK(end_of(kernel) <= end_of(code) + kRounding);
}

TEST_CASE("a trace has each dispatch of a run, with explain's cost, and its rates") {
  const Workplace here;
  const json trace = trace_of(here, "net.mr --input x=ones --input w=ones");
  const std::vector<json> dispatches = events_of(trace, "dispatch");
  REQUIRE(dispatches.size() == 2);
  double at = end_of(event_of(trace, "compile", "compile"));
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    const json& args = dispatches[i]["args"];
    const std::string explained = here.output_of("explain net.mr --dispatch " + std::to_string(i));
    CHECK(contains(explained, "kernel     " + dispatches[i]["args"]["kernel"].get<std::string>() + " by "));
    CHECK(contains(explained, "\n    reads      " + args["bytes_read"].dump() + " bytes\n"));
    CHECK(contains(explained, "\n    writes     " + args["bytes_written"].dump() + " bytes\n"));
    CHECK(contains(explained, "\n    flops      " + args["flops"].dump() + ", "));
    const double nanoseconds = dispatches[i]["dur"].get<double>() * 1000;
    const double bytes = args["bytes_read"].get<double>() + args["bytes_written"].get<double>();
    CHECK(args["GB/s"].get<double>() == doctest::Approx(bytes / nanoseconds));
    CHECK(args["GFLOP/s"].get<double>() == doctest::Approx(args["flops"].get<double>() / nanoseconds));
    CHECK(begin_of(dispatches[i]) >= at - 0.01);  // a trace counts in microseconds, and rounds
    at = end_of(dispatches[i]);
  }
  CHECK(begin_of(event_of(trace, "files", "outputs")) >= at);
  CHECK(dispatches[0]["name"] == "dot_tanh_0 (h)");
  CHECK(dispatches[0]["args"]["bytes_read"] == 4 * (16 * 32 + 32 * 24));
  CHECK(dispatches[0]["args"]["bytes_written"] == 4 * 16 * 24);
}

TEST_CASE("a dispatch that writes a part of a value counts only these bytes") {
  const Workplace here;
  here.write("parts.mr",
             "graph parts(%a: f32[3, 4], %b: f32[5, 4]) {\n"
             "  %c = concat(%a, %b) {axis = 0} : f32[8, 4]\n  return y = %c\n}\n");
  const std::vector<json> dispatches = events_of(trace_of(here, "parts.mr --input a=ones --input b=ones"), "dispatch");
  REQUIRE(dispatches.size() == 2);
  CHECK(dispatches[0]["args"]["bytes_written"].get<int>() + dispatches[1]["args"]["bytes_written"].get<int>() ==
        4 * 8 * 4);
}

TEST_CASE("a dispatch without a count of operations has none in its trace") {
  const Workplace here;
  const std::vector<json> dispatches = events_of(trace_of(here, "two.mr --input x=ones,2x10"), "dispatch");
  REQUIRE(dispatches.size() == 2);
  CHECK(dispatches[0]["args"].contains("flops"));
  CHECK_FALSE(dispatches[1]["args"].contains("flops"));
  CHECK_FALSE(dispatches[1]["args"].contains("GFLOP/s"));
}

TEST_CASE("JSON has names that are not UTF-8 as text") {
  const Workplace here;
  here.write("odd.mr", "graph \"g\xff\"(%\"x\xff\": f32[4]) {\n  return \"r\xff\" = %\"x\xff\"\n}\n");
  const json trace = trace_of(here, "odd.mr --input \"$(printf 'x\\377=ones')\"");
  CHECK(events_of(trace, "copy").size() == 1);
  const test::ToolRun bench =
      here.run("bench odd.mr --input \"$(printf 'x\\377=ones')\" --min-time 0.001 --json odd.json");
  CHECK(bench.exit_code == 0);
  CHECK(json::parse(here.read("odd.json"))["benchmarks"][0]["name"] == "g\\xff/real_time");
}

TEST_CASE("the environment cannot make a benchmark measure nothing") {
  const Workplace here;
  setenv("BENCHMARK_FILTER", "nothing", 1);
  setenv("BENCHMARK_LIST_TESTS", "true", 1);
  CHECK(here.run("bench top.mr --input x=randn --dim rows=8 --min-time 0.001 --json times.json").exit_code == 0);
  unsetenv("BENCHMARK_FILTER");
  unsetenv("BENCHMARK_LIST_TESTS");
  CHECK(json::parse(here.read("times.json"))["benchmarks"].size() == 1);
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

TEST_CASE("bench reports mistakes before it measures") {
  const Workplace here;
  CHECK(here.error_of("bench top.mr --input x=randn") ==
        "millrace: --input x=randn: found f32[rows, 10], whose rows is unknown; say --dim rows=N, or give a shape, as "
        "in x=zeros,8x32000\n");
  CHECK(here.error_of("bench some.mr --input x=randn,9") ==
        "millrace: the size k in 0..8 is unknown, because no input determines it; say --dim k=N\n");
}

}  // namespace
}  // namespace millrace
