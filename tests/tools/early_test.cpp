// SPDX-License-Identifier: Apache-2.0
// What `millrace run` and `millrace bench` find before they compile: a compiler that cannot be opened stands in the
// way.
#include <cstdlib>

#include <doctest/doctest.h>

#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

TEST_CASE("arguments are checked before anything is compiled") {
  const Workplace here;
  // Of sizes that no other test compiles, so that no cache has them.
  here.write("fresh.mr",
             "graph fresh(%x: f32[rows in 1..64, 1237]) {\n  %s = add(%x, %x)\n"
             "  %y, %i = topk(%s) {k = k in 0..1237, axis = 1}\n  return y = %y\n}\n");
  here.write("module.so", "no module");
  setenv("MILLRACE_LLVM_MODULE", here.path("module.so").c_str(), 1);
  for (const std::string command : {"run", "bench"}) {
    const auto error = [&](const std::string& arguments) { return here.error_of(command + " fresh.mr " + arguments); };
    CHECK(error("--input x=ones,2x1237 --dim k=2") == "millrace: llvm: cannot open " + here.path("module.so") + ": " +
                                                          here.path("module.so") + ": file too short\n");
    CHECK(error("--input z=ones") == "millrace: --input z=ones: the graph has no input 'z'; it has: x\n");
    CHECK(error("--input x=@none.npy") ==
          "millrace: npy 'none.npy': the file cannot be opened: No such file or directory; check the path\n");
    CHECK(error("--input x=ones,2x3x4") ==
          "millrace: --input x=ones,2x3x4: found f32[2x3x4], expected f32[rows, 1237]; give elements and axes like "
          "these\n");
    CHECK(error("--input x=ones,2x7 --dim k=2") ==
          "millrace: input 'x' is [2x7], expected 1237 in dim 1 of f32[rows, 1237]; bind tensors that agree\n");
    CHECK(error("--input x=ones,65x1237 --dim k=2") ==
          "millrace: input 'x': dim 0 is 65, expected rows in 1..64; keep the promise, or build the graph with "
          "another\n");
    CHECK(error("--input x=ones,2x1237") == "millrace: the size k in 0..1237 is told by no input; say --dim k=N\n");
    CHECK(error("--input x=ones,2x1237 --dim j=2") ==
          "millrace: --dim j=2: 'j' is no symbolic size of the graph, which has: k, rows\n");
  }
  CHECK(here.error_of("run fresh.mr --input x=ones,2x1237 --dim k=2 --output z=@z.npy") ==
        "millrace: --output z=@z.npy: the graph has no output 'z'; it has: y\n");
  unsetenv("MILLRACE_LLVM_MODULE");
}

TEST_CASE("a size whose facts leave one value need not be said, and may be") {
  const Workplace here;
  here.write("pinned.mr",
             "graph pinned(%x: f32[rows in 2..2, 4]) {\n  %y, %i = topk(%x) {k = k in 3..3, axis = 1}\n"
             "  return y = %y\n}\n");
  const std::string y = "y: f32[2x3]\n  [[3, 2, 1],\n   [7, 6, 5]]\n";
  CHECK(here.output_of("run pinned.mr --input x=arange") == y);
  CHECK(here.output_of("run pinned.mr --input x=arange,2x4") == y);
  CHECK(here.output_of("run pinned.mr --input x=arange --dim k=3 --dim rows=2") == y);
  CHECK(here.run("bench pinned.mr --input x=randn --min-time 0.001").exit_code == 0);
  CHECK(contains(here.output_of("explain pinned.mr"), "\n    writes     24 bytes\n"));
  CHECK(here.error_of("run pinned.mr --input x=arange --dim k=4") ==
        "millrace: --dim k=4: the graph promises k in 3..3; say a value that keeps this\n");
  CHECK(here.error_of("run pinned.mr --input x=arange,3x4") ==
        "millrace: input 'x': dim 0 is 3, expected rows in 2..2; keep the promise, or build the graph with another\n");
}

TEST_CASE("a run of what is cached maps no LLVM") {
  const Workplace here;
  const auto loaded = [&](const std::string& arguments) {
    setenv("LD_DEBUG", "files", 1);
    setenv("LD_DEBUG_OUTPUT", here.path("loaded").c_str(), 1);
    here.run(arguments + "; cat loaded.* > loaded; rm loaded.*");
    unsetenv("LD_DEBUG");
    unsetenv("LD_DEBUG_OUTPUT");
    return here.read("loaded");
  };
  Workplace::forget_kernels();
  const std::string run = "run top.mr --input x=arange --dim rows=2";
  CHECK(contains(loaded(run), "libmillrace_llvm"));
  const std::string again = loaded(run);
  CHECK(contains(again, "libc.so"));
  CHECK_FALSE(contains(again, "LLVM"));
  CHECK_FALSE(contains(again, "libmillrace_llvm"));
}

}  // namespace
}  // namespace millrace
