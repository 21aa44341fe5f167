// SPDX-License-Identifier: Apache-2.0
// Measurements and counts of a graph with a loop in a branch in a loop.
#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "millrace/graph/text.h"
#include "tests/support/graphs/nested_graph.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using nlohmann::json;
using test::contains;
using test::Workplace;

/// The graph as a file, and its inputs.
struct Nested : Workplace {
  Nested() { write("nested.mr", to_text(test::nested_graph())); }
  const std::string run_it = "nested.mr --input x=arange --input at=zeros";
};

/// The kernels, copies and loops around the blocks, in their order.
std::vector<std::string> names_of(const Nested& here) {
  here.output_of("run " + here.run_it + " --device cpu:avx2 --trace t.json");
  std::vector<std::string> names;
  const json trace = json::parse(here.read("t.json"));
  for (const json& event : trace["traceEvents"]) {
    const std::string category = event.value("cat", "");
    if (category == "dispatch" || category == "copy" || category == "control") names.push_back(event["name"]);
  }
  return names;
}

TEST_CASE("a trace has the dispatches around nested blocks, and each loop as one event") {
  const Nested here;
  const std::vector<std::string> names = names_of(here);
  REQUIRE(names.size() >= 4);
  CHECK(names.front() == "sort_0");
  CHECK(std::ranges::count(names, "while_1") == 1);
  CHECK(names.back() != "while_1");  // kernels behind the loop
}

TEST_CASE("bench --kernels has a row for each kernel before and after nested blocks") {
  const Nested here;
  const test::ToolRun run =
      here.run("bench " + here.run_it + " --device cpu:avx2 --kernels --min-time 0.001 --json times.json");
  CHECK(run.exit_code == 0);
  const json rows = json::parse(here.read("times.json"))["benchmarks"];
  const std::vector<std::string> names = names_of(here);
  REQUIRE(rows.size() > 1 + names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = rows[i + 1]["run_name"];
    CHECK(name.starts_with("nested/" + names[i] + "/"));
    CHECK(rows[i + 1]["real_time"].get<double>() > 0);
  }
}

TEST_CASE("bench --kernels has a row for each kernel in a block that runs, with its launches per run") {
  const Workplace here;
  here.write("loop.mr",
             "graph g(%x: f32[1000], %i: i64[]) {\n"
             "  %again = less(%i, 5)\n"
             "  %n, %y = while(%again, %i, %x) {\n"
             "    graph round() {\n"
             "      %i = variable() : i64[]\n"
             "      %x = variable() : f32[1000]\n"
             "      %late = greater(%i, 100)\n"
             "      %z = if(%late, %x) {\n"
             "        graph yes(%x: f32[1000]) { %s, %p = sort(%x) return s = %s }\n"
             "        graph no(%x: f32[1000]) { %m = neg(%x) return m = %m }\n"
             "      }\n"
             "      %a = add(%i, 1)\n"
             "      %go = less(%a, 5)\n"
             "      update %i = %a\n"
             "      update %x = %z\n"
             "      return go = %go\n"
             "    }\n"
             "  }\n"
             "  return y = %y\n"
             "}\n");
  const test::ToolRun run = here.run(
      "bench loop.mr --input x=ones --input i=zeros --device cpu:avx2 --kernels --min-time 0.001 --json times.json");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.error, "/sort_"));
  CHECK(contains(run.error, " is left out: it did not run with these inputs\n"));
  std::size_t num_negations = 0;
  const json rows = json::parse(here.read("times.json"))["benchmarks"];
  for (const json& row : rows) {
    const std::string name = row["run_name"];
    CHECK(!contains(name, "/sort_"));
    if (!row.contains("launches")) continue;
    CHECK(name.starts_with("g/while_"));
    CHECK(row["launches"] == 5);
    CHECK(row["iterations"].get<double>() >= 50);
    num_negations += contains(name, "/neg_");
  }
  CHECK(num_negations == 1);
}

TEST_CASE("explain measures the kernels around nested blocks, and shows the kernels in them") {
  const Nested here;
  const std::string text =
      here.output_of("explain nested.mr --device cpu:avx2 --measure --input x=arange --input at=zeros");
  std::size_t num_measured = 0;
  for (std::size_t at = 0; (at = text.find("\n    measured   ", at)) != std::string::npos; ++at) ++num_measured;
  const std::vector<std::string> names = names_of(here);
  const auto is_kernel = [](const std::string& name) { return name != "while_1" && !name.starts_with("copy "); };
  CHECK(num_measured == std::ranges::count_if(names, is_kernel) + 1u);  // the last one is the sum
  CHECK(contains(text, "\n  body       "));
  CHECK(contains(text, "\n      body       "));
}

TEST_CASE("counts include the kernels of nested blocks, as often as they ran") {
  const Nested here;
  for (const std::string device : {"sim:gfx1100", "isa:gfx1100"}) {
    CAPTURE(device);
    const test::ToolRun run = here.run("run " + here.run_it + " --counts --device " + device);
    CHECK(run.exit_code == 0);
    CHECK(contains(run.error, "\nsort_0 "));
    const auto times_of = [&](const std::string& kernel) {
      std::size_t times = 0;
      for (std::size_t at = 0; (at = run.error.find("\n" + kernel + " ", at)) != std::string::npos; ++at) ++times;
      return times;
    };
    CHECK(times_of("gather_1") == 1);  // in the first round
    // In the others. Equal kernels of an object are one, by the name of the first, which runs outside as well.
    if (device == "sim:gfx1100") CHECK(times_of("sort_2") == 2);
    if (device == "isa:gfx1100") CHECK(times_of("sort_0") == 4);
    CHECK(times_of("add_less_2") == 3);  // in each
  }
}

}  // namespace
}  // namespace millrace
