// SPDX-License-Identifier: Apache-2.0
// millrace explain: the contents, cost and needs of each kernel.
#include <regex>

#include <doctest/doctest.h>

#include "tests/support/golden.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

TEST_CASE("explain prints for each dispatch why it is one, what runs it, and its cost") {
  const Workplace here;
  CHECK(test::golden_problem("explain.txt", here.output_of("explain net.mr --target cpu:avx2")) == "");
}

TEST_CASE("explain lists each remaining copy and the places of parts, and writes the schedule's numbers as JSON") {
  const Workplace here;
  here.write("copy.mr",
             "graph copy(%x: f32[rows in 0..1000, 4]) {\n"
             "  %a = cumulative_sum(%x) {axis = 1} : f32[rows, 4]\n"
             "  %m = reduce_max(%a) {axes = [1], keep_dims = true} : f32[rows, 1]\n"
             "  %s = reduce_sum(%m) {axes = [0], keep_dims = true} : f32[1x1]\n"
             "  %y = concat(%x, %a) {axis = 0} : f32[2*rows, 4]\n"
             "  return y = %y, s = %s, again = %s\n"
             "}\n");
  const std::string text = here.output_of("explain copy.mr --target cpu:avx2 --dim rows=8 --json copy.json");
  CHECK(contains(text, "\n  place      %a is in the memory of %y, from element 32\n"));
  CHECK(contains(text,
                 "\nschedule: max-concurrency, dispatches 4, copies 2, barriers 3, waits 3\n"
                 "  copy       concat_3, as %x is an input\n"
                 "  copy       copy to again, as %s is output s, too\n"
                 "\n"
                 "memory: slab of 64 bytes, constants of 0 bytes\n"
                 "  alive      64 bytes at most\n"));
  CHECK(here.read("copy.json") ==
        "{\"order\": \"max-concurrency\", \"num_dispatches\": 4, \"num_copies\": 2, \"num_waits\": 3, "
        "\"num_barriers\": 3, "
        "\"peak_bytes\": 64, \"lower_bound_bytes\": 64, \"constant_bytes\": 0, \"prepared_bytes\": 0}\n");
  CHECK(contains(here.output_of("explain copy.mr"), "\nmemory: slab of at most "));
}

TEST_CASE("explain prints how much memory a session keeps, and which updates and scatters copy") {
  const Workplace here;
  here.write("state.mr",
             "graph state(%x: f32[8], %i: i64[1], %one: f32[1]) {\n  %v = variable(0) : f32[8]\n  %w = variable(0) : "
             "f32[8]\n  %new = scatter(%v, %i, %one) {axis = 0}\n  %both = add(%v, %new)\n  update %v = %new\n  update "
             "%w = %x\n  return both = %both\n}\n");
  const std::string text = here.output_of("explain state.mr --target cpu:avx2");
  CHECK(contains(text, "  copy       scatter_0 copies its operand first, as %v is read later by add_1\n"));
  CHECK(contains(text, "  copy       copy to v, as %v is read later by add_1\n"));
  CHECK(contains(text, "  copy       copy to w, as %x is an input\n"));
  CHECK(contains(text, "  variables  128 bytes\n"));
  here.write(
      "count.mr",
      "graph count() {\n  %v = variable(0, 1) : f32[2]\n  %next = add(%v, %v)\n  update %v = %next\n  return\n}\n");
  const std::string count = here.output_of("explain count.mr --target cpu:avx2");
  CHECK(contains(count, "  place      %next replaces %v in its memory\n"));
  CHECK(contains(count, "    reads      8 bytes\n    writes     8 bytes\n"));
  CHECK(contains(count, "dispatches 1, copies 0, barriers 0, waits 0\n"));
}

TEST_CASE("explain prints how to launch a kernel for a GPU") {
  const Workplace here;
  const std::string text = here.output_of("explain top.mr --target amdgpu:gfx1100");
  CHECK(contains(text, "    symbol     "));
  here.write("rows.mr",
             "graph rows(%x: f16[n]) {\n  %y = neg(%x)\n  %c = constant(2) : f16[1]\n  %d = constant(3) : f16[1]\n"
             "  return y = %y, again = %y, c = %c, d = %d\n}\n");
  const std::string rows = here.output_of("explain rows.mr --target amdgpu:gfx1100 --dim n=0");
  const std::size_t begin = rows.find("launch: ");
  REQUIRE(begin != std::string::npos);
  // A symbol's number is a hash of the kernel's text, in which compilers order instructions differently.
  const std::string launch = std::regex_replace(rows.substr(begin, rows.find("\nschedule: ") - begin),
                                                std::regex("millrace_[0-9a-f]{16}"), "millrace_NUMBER");
  CHECK(test::golden_problem("launch.txt", launch) == "");
}

TEST_CASE("explain prints the occupancy of a kernel on a GPU, and what limits it") {
  const Workplace here;
  here.write("one.mr", "graph one(%x: f32[100000]) {\n  %y = neg(%x)\n  return y = %y\n}\n");
  const std::string one = here.output_of("explain one.mr --target amdgpu:gfx1100");
  CHECK(contains(one, "    registers  "));
  CHECK(contains(one, "    occupancy  16 of 16 subgroups per SIMD; 4 workgroups per compute unit\n"));
  here.write("sort.mr", "graph sort(%x: i64[7, 4000]) {\n  %y, %i = sort(%x)\n  return y = %y, i = %i\n}\n");
  CHECK(contains(
      here.output_of("explain sort.mr --target amdgpu:gfx90a"),
      "    occupancy  4 of 8 subgroups per SIMD, limited by workgroup memory; 1 workgroup per compute unit\n"));
  CHECK_FALSE(contains(here.output_of("explain one.mr --target sim:gfx1100"), "occupancy"));
}

TEST_CASE("explain measures each kernel against the limits of one thread of the machine") {
  const Workplace here;
  const std::string text = here.output_of("explain two.mr --dim rows=64 --measure --target cpu:avx2");
  std::size_t num_measured = 0, num_shares = 0;
  for (std::size_t at = 0; (at = text.find("\n    measured   ", at)) != std::string::npos; ++at) {
    const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    CHECK((contains(line, " us") || contains(line, " ms")));
    ++num_measured;
    num_shares += contains(line, " GB/s") &&
                          (contains(line, " the peak, ") || contains(line, " GB/s that memory reaches at this size"))
                      ? 1
                      : 0;
  }
  CHECK(num_measured == 3);  // two kernels and their sum
  CHECK(num_shares == 2);
  CHECK(here.run("explain two.mr --measure --input x=ones,2x10 --device sim:gfx1100").exit_code == 0);
  CHECK(here.error_of("explain two.mr --measure") ==
        "millrace: --input x=randn: found f32[rows, 10], whose rows is unknown; say --dim rows=N, or give a shape, as "
        "in x=zeros,8x32000\n");
}

TEST_CASE("explain names an equal pass in one line, and prints how threads of a GPU share a nest") {
  const Workplace here;
  here.write("long.mr", "graph long(%x: f32[1x4194304]) {\n  %y, %i = sort(%x)\n  return y = %y\n}\n");
  const std::string text = here.output_of("explain long.mr --target sim:gfx1100");
  CHECK(contains(text, "\n  kernel     sort_0_scan_1, as sort_0_scan_0\n  kernel     sort_0_scatter_1"));
  CHECK(contains(
      here.output_of("explain net.mr --target amdgpu:gfx1100"),
      "\n    mapping    1 point per thread; threads 16 along n0, 16 along m0, 256 per workgroup; operands staged "
      "in workgroup memory, 16 points of k0 at a time\n"));
}

TEST_CASE("explain names a constant that is too large to prepare, with its bytes") {
  const Workplace here;
  here.write("large.mr",
             "graph large(%x: f32[70000000]) {\n"
             "  %i = iota() {shape = [70000000], dtype = f32, axis = 0}\n"
             "  %layer3/table = exp(%i)\n"
             "  %y = mul(%x, %layer3/table)\n"
             "  return y = %y, table = %layer3/table\n"
             "}\n");
  CHECK(contains(
      here.output_of("explain large.mr"),
      "\n  unprepared %layer3/table = exp of 280000000 bytes, more than may be kept, so each run computes it\n"));
}

TEST_CASE("explain prints expressions, or numbers if --dim gives them") {
  const Workplace here;
  CHECK(contains(here.output_of("explain two.mr --dispatch 0"), " 40*rows bytes\n"));
  CHECK(contains(here.output_of("explain two.mr --dispatch 0 --dim rows=5"), " 200 bytes\n"));
  CHECK(here.error_of("explain two.mr --dispatch 7") ==
        "millrace: --dispatch 7: the graph has 2 dispatches, counted from 0; say a lower number\n");
}

TEST_CASE("explain counts the operations of scans and scatters, and prints that a sort has no count") {
  const Workplace here;
  CHECK(contains(here.output_of("explain two.mr --dispatch 1"), "\n    flops      n/a, because it only compares\n"));
  here.write("scan.mr",
             "graph scan(%x: f32[n, 8], %i: i64[3], %u: f32[3, 8], %k: i32[4]) {\n"
             "  %a = cumulative_sum(%x) {axis = 0}\n  %b = scatter_add(%x, %i, %u) {axis = 0}\n"
             "  %c = scatter(%x, %i, %u) {axis = 0}\n  %d = cumulative_sum(%k) {axis = 0}\n"
             "  return a = %a, b = %b, c = %c, d = %d\n}\n");
  const auto flops = [&](int dispatch) {
    const std::string text = here.output_of("explain scan.mr --dispatch " + std::to_string(dispatch));
    return text.substr(text.find("    flops"));
  };
  CHECK(flops(0) == "    flops      8*n\n");
  CHECK(flops(1) == "    flops      24\n");
  CHECK(flops(2) == "    flops      0\n");
  CHECK(flops(3) == "    flops      0\n");
}

}  // namespace
}  // namespace millrace
