// SPDX-License-Identifier: Apache-2.0
// Mistakes that `millrace run` and `millrace bench` find before they compile: the compiler cannot be opened here.
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/npy.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

TEST_CASE("arguments are checked before anything is compiled") {
  const Workplace here;
  // No other test compiles these sizes, so no cache has them.
  here.write("fresh.mr",
             "graph fresh(%x: f32[rows in 1..64, 1237]) {\n  %s = add(%x, %x)\n"
             "  %y, %i = topk(%s) {k = k in 0..1237, axis = 1}\n  return s = %s, y = %y\n}\n");
  here.write("module.so", "no module");
  setenv("MILLRACE_LLVM_MODULE", here.path("module.so").c_str(), 1);
  for (const std::string command : {"run", "bench"}) {
    const auto error = [&](const std::string& arguments) { return here.error_of(command + " fresh.mr " + arguments); };
    CHECK(contains(error("--input x=ones,2x1237 --dim k=2"), "cannot be generated: llvm: cannot open " +
                                                                 here.path("module.so") + ": " +
                                                                 here.path("module.so") + ": file too short; "));
    CHECK(error("--input z=ones") == "millrace: --input z=ones: the graph has no input 'z'; it has: x\n");
    CHECK(error("--input x=@none.npy") ==
          "millrace: npy 'none.npy': the file cannot be opened: No such file or directory; check the path\n");
    CHECK(error("--input x=ones,2x3x4") ==
          "millrace: --input x=ones,2x3x4: found f32[2x3x4], expected f32[rows, 1237]; give elements and axes that "
          "match\n");
    CHECK(error("--input x=ones,2x7 --dim k=2") ==
          "millrace: input 'x' is [2x7], expected 1237 in dim 1 of f32[rows, 1237]; bind tensors that agree\n");
    CHECK(error("--input x=ones,65x1237 --dim k=2") ==
          "millrace: input 'x': dim 0 is 65, expected rows in 1..64; keep the promise, or build the graph with "
          "other facts\n");
    CHECK(error("--input x=ones,2x1237") ==
          "millrace: the size k in 0..1237 is unknown, because no input determines it; say --dim k=N\n");
    CHECK(error("--input x=ones,2x1237 --dim j=2") ==
          "millrace: --dim j=2: unknown symbolic size 'j'; the graph has: k, rows\n");
  }
  CHECK(here.error_of("run fresh.mr --input x=ones,2x1237 --dim k=2 --output z=@z.npy") ==
        "millrace: --output z=@z.npy: the graph has no output 'z'; it has: s, y\n");
  unsetenv("MILLRACE_LLVM_MODULE");
}

/// An .npy file with the header of f32[rows, columns], and a hole in the place of its elements.
void write_hollow_npy(const Workplace& here, const std::string& name, std::int64_t rows, std::int64_t columns) {
  REQUIRE(write_npy(here.path(name), {DType::kF32, {0, 1}}, {}).ok());
  std::string header = here.read(name);
  const std::string shape = "(0, 1), }", wanted = fmt::format("({}, {}), }}", rows, columns);
  const std::size_t at = header.find(shape);
  REQUIRE(header.compare(at + shape.size(), wanted.size() - shape.size(),
                         std::string(wanted.size() - shape.size(), ' ')) == 0);
  here.write(name, header.replace(at, wanted.size(), wanted));
  std::filesystem::resize_file(here.path(name), header.size() + static_cast<std::uintmax_t>(rows * columns * 4));
}

TEST_CASE("extents of inputs are checked before their memory is allocated") {
  const Workplace here;
  here.write("fresh.mr", "graph fresh(%x: f32[rows in 1..64, 1237]) {\n  %s = add(%x, %x)\n  return s = %s\n}\n");
  write_hollow_npy(here, "rows.npy", 200'000'000, 1237);  // 990 GB
  write_hollow_npy(here, "columns.npy", 2, 200'000'000'000);
  for (const std::string command : {"run", "bench"}) {
    const auto error = [&](const std::string& arguments) { return here.error_of(command + " fresh.mr " + arguments); };
    const std::string rows =
        "millrace: input 'x': dim 0 is 200000000, expected rows in 1..64; keep the promise, or build the graph with "
        "other facts\n";
    CHECK(error("--input x=ones,200000000x1237") == rows);
    CHECK(error("--input x=@rows.npy") == rows);
    CHECK(error("--input x=@columns.npy") ==
          "millrace: input 'x' is [2x200000000000], expected 1237 in dim 1 of f32[rows, 1237]; bind tensors that "
          "agree\n");
  }
}

TEST_CASE("inputs and outputs that do not fit the machine's memory are refused before any allocation") {
  const Workplace here;
  here.write("any.mr", "graph any(%x: f32[n]) {\n  %s = cast(%x) {dtype = f64}\n  return s = %s\n}\n");
  const double machine =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 0x1p30;
  const auto message = [&](const char* times, double gigabytes) {
    return fmt::format(
        "millrace: inputs and outputs (x: f32[70368744177664], s: f64[70368744177664]){} take {:.3g} GiB, but this "
        "machine has {:.3g} GiB; say smaller sizes\n",
        times, gigabytes, machine);
  };
  constexpr double kOneRun = 65536 * 12;
  CHECK(here.error_of("run any.mr --input x=zeros,70368744177664") == message("", kOneRun));
  CHECK(here.error_of("run any.mr --input x=zeros --dim n=70368744177664") == message("", kOneRun));
  CHECK(here.error_of("bench any.mr --input x=zeros --dim n=70368744177664") == message(", 16 times,", 16 * kOneRun));
}

TEST_CASE("a size whose facts leave one value need not be given, but may be") {
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
        "millrace: --dim k=4: the graph promises k in 3..3; say a value that it allows\n");
  CHECK(here.error_of("run pinned.mr --input x=arange,3x4") ==
        "millrace: input 'x': dim 0 is 3, expected rows in 2..2; keep the promise, or build the graph with other "
        "facts\n");
}

TEST_CASE("a run from the cache does not load LLVM") {
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
  const std::string run = "run two.mr --input x=arange --dim rows=2";
  CHECK(contains(loaded(run), "libmillrace_llvm"));
  const std::string again = loaded(run);
  CHECK(contains(again, "libc.so"));
  CHECK_FALSE(contains(again, "LLVM"));
  CHECK_FALSE(contains(again, "libmillrace_llvm"));
}

}  // namespace
}  // namespace millrace
