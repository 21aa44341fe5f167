// SPDX-License-Identifier: Apache-2.0
// millrace bench: its rows, its JSON, and Google Benchmark's own flags.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using nlohmann::json;
using test::contains;
using test::Workplace;

const std::string kQuick = " --min-time 0.001";

/// The names of the rows that would be measured.
std::string listed(const Workplace& here, const std::string& arguments) {
  const test::ToolRun run = here.run("bench " + arguments + " --benchmark_list_tests=true");
  CHECK(run.exit_code == 0);
  return run.out;
}

TEST_CASE("a row's name is its graph and what distinguishes it from others: its device, its generator, its file") {
  const Workplace here;
  const std::string inputs = " --input x=ones --input w=ones --dim rows=2";
  CHECK(listed(here, "top.mr --input x=ones --dim rows=2") == "top/real_time\n");
  CHECK(listed(here, "top.mr net.mr" + inputs) == "top/real_time\nnet/real_time\n");
  CHECK(listed(here, "net.mr --input x=ones --input w=ones --device cpu:avx2 --target cpu:baseline") ==
        "net/cpu:avx2/real_time\nnet/cpu:baseline/real_time\n");
  CHECK(listed(here, "top.mr --input x=ones --dim rows=2 --generator xbyak --generator llvm --device cpu:avx2") ==
        "top/xbyak/real_time\ntop/llvm/real_time\n");
  here.write("copy.mr", here.read("top.mr"));
  CHECK(listed(here, "top.mr copy.mr" + std::string(" --input x=ones --dim rows=2")) ==
        "top.mr:top/real_time\ncopy.mr:top/real_time\n");
}

TEST_CASE("kernels and copies have rows of their own, in the order in which they run") {
  const Workplace here;
  here.write("copy.mr", "graph copy(%x: f32[4, 4]) {\n  %a = neg(%x)\n  return y = %a, again = %a\n}\n");
  const test::ToolRun run =
      here.run("bench copy.mr --input x=ones --device cpu:avx2 --kernels --json times.json" + kQuick);
  CHECK(run.exit_code == 0);
  const json rows = json::parse(here.read("times.json"))["benchmarks"];
  REQUIRE(rows.size() == 3);
  const auto begins = [&](std::size_t row) {
    const std::string name = rows[row]["run_name"];
    return name.substr(0, name.find("/iterations"));
  };
  CHECK(begins(0) == "copy/real_time");
  CHECK(begins(1) == "copy/neg_0 (a)");
  CHECK(begins(2) == "copy/copy to again");
  CHECK(rows[1]["generator"] == "llvm");
  CHECK(rows[2]["generator"] == "");  // a copy
  CHECK(rows[1]["iterations"] >= 10);
  CHECK(rows[1]["iterations"] == rows[2]["iterations"]);
}

TEST_CASE("the JSON names the graph, dims, device and generator of each row, and the version once") {
  const Workplace here;
  const test::ToolRun run = here.run(
      "bench top.mr net.mr --input x=ones --input w=ones --dim rows=5 --device cpu:avx2 "
      "--benchmark_repetitions=2 --json times.json" +
      kQuick);
  CHECK(run.exit_code == 0);
  const json written = json::parse(here.read("times.json"));
  CHECK(written["context"]["millrace_version"] == MILLRACE_VERSION);
  const json& rows = written["benchmarks"];
  REQUIRE(rows.size() == 12);  // of each, two repetitions, and mean, median, stddev and cv
  CHECK(rows[0]["file"] == "top.mr");
  CHECK(rows[0]["graph"] == "top");
  CHECK(rows[0]["device"] == "cpu:avx2");
  CHECK(rows[0]["target"] == "cpu:avx2");
  CHECK(rows[0]["generator"] == "llvm");  // rows of ten, lane by lane
  CHECK(rows[0]["dims"] == json{{"rows", 5}});
  CHECK(rows[11]["file"] == "net.mr");
  CHECK(rows[11]["generator"] == "llvm, xbyak");
  CHECK(rows[11]["dims"] == json::object());
  CHECK(rows[11]["aggregate_name"] == "cv");
  CHECK(rows[11]["copies"] == nullptr);  // 0 / 0
}

TEST_CASE("bench reports the machine's relevant properties, not how Google Benchmark's library was built") {
  const Workplace here;
  const test::ToolRun run = here.run("bench top.mr --input x=ones --dim rows=2" + kQuick);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.error, "Run on ("));
  CHECK_FALSE(contains(run.error, "Library was built"));
#ifdef NDEBUG
  CHECK_FALSE(contains(run.error, "assertions"));
#else
  CHECK(contains(run.error, "***WARNING*** millrace was built with assertions, which take time.\n"));
#endif
}

TEST_CASE("Google Benchmark's own flags are passed on") {
  const Workplace here;
  const std::string bench = "bench net.mr --input x=ones --input w=ones" + kQuick;
  const test::ToolRun as_json = here.run(bench + " --benchmark_format=json");
  CHECK(as_json.exit_code == 0);
  CHECK(json::parse(as_json.out)["benchmarks"][0]["graph"] == "net");
  CHECK(here.run(bench + " --benchmark_out=out.json").exit_code == 0);
  CHECK(json::parse(here.read("out.json"))["benchmarks"][0]["graph"] == "net");
  const test::ToolRun filtered = here.run(bench + " --kernels --benchmark_filter=dot");
  CHECK(contains(filtered.out, "net/dot_tanh_0 (h)/"));
  CHECK_FALSE(contains(filtered.out, "net/real_time"));
}

TEST_CASE("arguments that no graph, generator or benchmark takes are refused") {
  const Workplace here;
  const std::string bench = "bench net.mr --input x=ones --input w=ones";
  CHECK(here.error_of(bench + " --fast", 2) ==
        "millrace: The following argument was not expected: --fast; see 'millrace bench --help'\n");
  CHECK(here.error_of(bench + " --benchmark_fast=1") ==
        "millrace: bench: found --benchmark_fast=1, expected a flag of Google Benchmark with a valid value; "
        "'millrace bench --benchmark_help' lists them\n");
  CHECK(here.error_of(bench + " --benchmark_format=csv") ==
        "millrace: bench: found --benchmark_format=csv, expected console or json; choose one\n");
  CHECK(here.error_of(bench + " --benchmark_out=o --benchmark_out_format=csv") ==
        "millrace: bench: found --benchmark_out_format=csv, expected json; leave this flag out\n");
  CHECK(here.run(bench + " --benchmark_filter=nothing")
            .error.ends_with("millrace: bench: --benchmark_filter matches no row; 'millrace bench FILE "
                             "--benchmark_list_tests' lists them\n"));
  CHECK(here.error_of("bench net.mr top.mr --input x=ones --input w=ones --input z=ones --dim rows=2") ==
        "millrace: --input z=ones: no graph has an input 'z'; 'millrace check FILE' lists their inputs\n");
  CHECK(here.error_of("bench net.mr top.mr --input x=ones --input w=ones --dim rows=2 --dim n=2") ==
        "millrace: --dim n=2: no graph has a symbolic size 'n'; leave it out\n");
}

TEST_CASE("a graph that cannot be compiled is left out among others, with a notice, and alone is an error") {
  const Workplace here;
  const std::string bench = "bench net.mr --input x=ones --input w=ones --device cpu:avx2 --generator xbyak" + kQuick;
  const std::string why =
      "region reduce_max_1 (%best = reduce_max): lower 'reduce_max_1' for cpu:avx2: no algorithm lowers it; "
      "loop_pad_first: no operand is padded; loop_direct: kernel reduce_max_1: no generator of cpu:avx2 supports it:\n"
      "  xbyak: a reduce nest, expected a contraction, argmin or argmax\n";
  CHECK(here.error_of(bench) == "millrace: " + why);
  const test::ToolRun both = here.run(bench + " --generator llvm");
  CHECK(both.exit_code == 0);
  CHECK(both.error.starts_with("millrace: net/xbyak is left out: " + why));
  CHECK(contains(both.out, "net/llvm/real_time"));
}

}  // namespace
}  // namespace millrace
