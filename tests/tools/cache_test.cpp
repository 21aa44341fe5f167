// SPDX-License-Identifier: Apache-2.0
// millrace cache: showing, pruning and filling a cache.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

std::size_t num_files(const std::string& directory) {
  std::error_code error;
  const std::filesystem::directory_iterator files(directory, error);
  return error ? 0 : static_cast<std::size_t>(std::distance(files, std::filesystem::directory_iterator()));
}

/// Hides the LLVM module, and a layer takes its place.
class WithoutLlvm {
 public:
  explicit WithoutLlvm(const Workplace& here, const std::string& layers = "") {
    here.write("module.so", "no module");
    setenv("MILLRACE_LLVM_MODULE", here.path("module.so").c_str(), 1);
    if (!layers.empty()) setenv("MILLRACE_CACHE_LAYERS", layers.c_str(), 1);
    Workplace::forget_kernels();
  }
  WithoutLlvm(const WithoutLlvm&) = delete;
  WithoutLlvm& operator=(const WithoutLlvm&) = delete;
  ~WithoutLlvm() {
    unsetenv("MILLRACE_LLVM_MODULE");
    unsetenv("MILLRACE_CACHE_LAYERS");
  }
};

/// Reads the counts in "written 5, present 0\n" at the front, and returns the rest: the output of `millrace cache`.
std::string after_counts(const std::string& output, std::size_t& written, std::size_t& present) {
  int end = 0;
  REQUIRE(std::sscanf(output.c_str(), "written %zu, present %zu\n%n", &written, &present, &end) == 2);
  return output.substr(static_cast<std::size_t>(end));
}

TEST_CASE("a cache is filled for several targets, shown, and pruned to a size") {
  const Workplace here;
  const std::string at = " --directory kernels";
  CHECK(here.output_of("cache" + at) == "kernels: kernels 0, 0 bytes\n");
  const std::string fill = "cache net.mr top.mr --target cpu:avx2 --target amdgpu:gfx1100 --target sim:gfx1100" + at;
  std::size_t written = 0, present = 0;
  const std::string filled = after_counts(here.output_of(fill), written, present);
  CHECK(written == num_files(here.path("kernels")));
  CHECK(present == 0);
  CHECK(filled.starts_with("kernels: kernels "));
  CHECK(contains(filled, "\n  cpu:avx2 by llvm "));
  CHECK(contains(filled, "\n  cpu:avx2 by xbyak "));
  CHECK(contains(filled, "\n  amdgpu:gfx1100 by llvm "));
  CHECK_FALSE(contains(filled, "sim:"));  // interpreted: no code
  CHECK(here.output_of("cache" + at) == filled);
  CHECK(after_counts(here.output_of(fill), written, present) == filled);
  CHECK(written == 0);
  CHECK(present > 0);
  const std::string list = here.output_of("cache --list" + at);
  CHECK(list.starts_with(filled));
  CHECK(contains(list, " dot_tanh_0 for cpu:avx2 by xbyak\n"));
  const std::size_t before = num_files(here.path("kernels"));
  CHECK(here.output_of("cache --prune 1000000000" + at) == filled);
  here.output_of("cache --prune 4096" + at);
  CHECK(num_files(here.path("kernels")) < before);
  CHECK(here.output_of("cache --prune 0" + at) == "kernels: kernels 0, 0 bytes\n");
  CHECK(num_files(here.path("kernels")) == 0);
}

TEST_CASE("a program runs from a filled layer, without LLVM and with an empty cache of its own") {
  const Workplace here;
  here.write("table.mr",
             "graph table(%x: f32[4, 64]) {\n  %i = iota() {shape = [64, 64], dtype = f32, axis = 0}\n"
             "  %w = sin(%i)\n  %t = transpose(%w) {permutation = [1, 0]}\n  %both = add(%t, %w)\n"
             "  %y = dot(%x, %both) {x_contract = [1], y_contract = [0]}\n  return y = %y\n}\n");
  here.output_of("cache two.mr table.mr --target cpu:baseline --target cpu:avx2 --target cpu:avx512 --directory layer");
  const WithoutLlvm hidden(here, here.path("layer"));
  CHECK(contains(here.output_of("run two.mr --input x=arange --dim rows=2"), "values: f32[2x3]\n"));
  CHECK(contains(here.output_of("run table.mr --input x=ones"), "y: f32[4x64]\n"));
  CHECK(num_files(Workplace::kernels()) == 0);
}

TEST_CASE("a device that executes machine code finds its kernels in a layer") {
  const Workplace here;
  here.output_of("cache two.mr --target isa:gfx1100 --directory layer");
  Workplace::forget_kernels();
  setenv("MILLRACE_CACHE_LAYERS", here.path("layer").c_str(), 1);
  here.output_of("run two.mr --input x=arange --dim rows=2 --device isa:gfx1100");
  CHECK(num_files(Workplace::kernels()) == 0);
  unsetenv("MILLRACE_CACHE_LAYERS");
}

TEST_CASE("a missing kernel is reported with its node, the searched directories, and the refused layer") {
  const Workplace here;
  here.output_of("cache two.mr --target cpu:baseline --directory layer");
  for (const auto& entry : std::filesystem::directory_iterator(here.path("layer"))) {
    std::filesystem::permissions(entry.path(), std::filesystem::perms(0666));
  }
  const std::string layer = here.path("layer");
  std::string first;
  for (const auto& entry : std::filesystem::directory_iterator(layer)) {
    const std::string key = entry.path().filename();
    if (first.empty() || key < first) first = key;
  }
  const std::string refusal = std::to_string(num_files(layer)) + " of " + std::to_string(num_files(layer)) +
                              " files refused, such as " + first + " can be written by everybody (mode 0666)\n";
  {
    const WithoutLlvm hidden(here, "/no/such/layer:relative:" + layer);
    const std::string error = here.error_of("run two.mr --input x=arange --dim rows=2 --device cpu:baseline");
    const std::string module = here.path("module.so");
    const std::string start =
        "millrace: %twice = add: kernel 'add_0' for cpu:baseline is in no kernel cache, and cannot "
        "be generated: llvm: cannot open " +
        module + ": " + module + ": file too short; searched " + Workplace::kernels() +
        " (does not exist), /no/such/layer (does not exist), " + layer + " (refused: the file ";
    CHECK(error.starts_with(start));
    CHECK(error.substr(std::min(error.size(), start.size() + 32)) ==
          " there can be written by everybody (mode 0666))\n");
    const std::string devices = here.output_of("devices");
    CHECK(contains(devices, "                  /no/such/layer, only read: does not exist\n"));
    CHECK(contains(devices,
                   "                  relative: ignored, because MILLRACE_CACHE_LAYERS takes only absolute paths\n"));
    CHECK(contains(devices, "                  " + layer + ", only read: " + refusal));
  }
  CHECK(here.output_of("cache --directory layer").ends_with("  " + refusal));
}

TEST_CASE("a kernel that cannot be stored ends a fill with the reason") {
  const Workplace here;
  here.write("neg.mr", "graph neg(%x: f32[4]) {\n  %y = neg(%x)\n  return y = %y\n}\n");
  std::size_t written = 0, present = 0;
  after_counts(here.output_of("cache neg.mr --target cpu:baseline --directory layer"), written, present);
  REQUIRE(written == 1);
  const std::string key = std::filesystem::directory_iterator(here.path("layer"))->path().filename();
  const auto error_of_fill = [&](const std::string& directory, const std::string& reason) {
    CHECK(here.error_of("cache neg.mr --target cpu:baseline --directory " + directory) ==
          "millrace: kernel cache '" + directory + "': entry " + key + " cannot be written: " + reason +
              "; the graphs before neg.mr: written 0, present 0\n");
  };
  error_of_fill("/proc/none", "No such file or directory");
  error_of_fill("neg.mr", "Not a directory");
  error_of_fill("/dev/full", "Not a directory");
  std::filesystem::create_directories(here.path("taken/" + key));
  error_of_fill("taken", "a directory has its name; remove the directory");
  const std::string listed = here.output_of("cache --directory taken --list");
  CHECK(contains(listed, "\n  1 of 1 files refused, such as " + key + " is a directory\n"));
  CHECK(listed.ends_with("  is a directory\n"));
}

TEST_CASE("a damaged file is reported, and neither used nor fatal") {
  const Workplace here;
  here.write("kernels-are-elsewhere", "");
  std::filesystem::create_directory(here.path("kernels"));
  std::filesystem::permissions(here.path("kernels"), std::filesystem::perms::owner_all);
  here.write("kernels/00000000000000000000000000000000", "damaged");
  here.write("kernels/notes.txt", "not a kernel");
  const std::string list = here.output_of("cache --list --directory kernels");
  CHECK(contains(list, "\n  not usable                                1, 7 bytes\n"));
  CHECK(contains(list, "  kernel image: found 7 bytes, expected at least 16 for the checksum\n"));
  CHECK_FALSE(contains(list, "notes"));
  CHECK(here.error_of("cache --directory kernels-are-elsewhere") ==
        "millrace: kernel cache 'kernels-are-elsewhere': cannot be listed: Not a directory; check the path\n");
}

TEST_CASE("devices reports a missing LLVM module, and what still works") {
  const Workplace here;
  here.write("module.so", "no module");
  const std::string path = here.path("module.so");
  CHECK_FALSE(contains(here.output_of("devices"), "makes no new code here"));
  setenv("MILLRACE_LLVM_MODULE", path.c_str(), 1);
  CHECK(contains(here.output_of("devices"),
                 "\n                  makes no new code here, only runs what is cached: llvm: cannot open " + path +
                     ": " + path + ": file too short\n"));
  unsetenv("MILLRACE_LLVM_MODULE");
}

}  // namespace
}  // namespace millrace
