// SPDX-License-Identifier: Apache-2.0
// millrace cache: what it shows, prunes and fills.
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::contains;
using test::Workplace;

std::size_t num_files(const std::string& directory) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator()));
}

TEST_CASE("a cache is filled for several targets, shown, and pruned to a size") {
  const Workplace here;
  const std::string at = " --directory kernels";
  CHECK(here.output_of("cache" + at) == "kernels: kernels 0, 0 bytes\n");
  const std::string filled =
      here.output_of("cache net.mr top.mr --target cpu:avx2 --target amdgpu:gfx1100 --target sim:gfx1100" + at);
  CHECK(filled.starts_with("kernels: kernels "));
  CHECK(contains(filled, "\n  cpu:avx2 by llvm "));
  CHECK(contains(filled, "\n  cpu:avx2 by xbyak "));
  CHECK(contains(filled, "\n  amdgpu:gfx1100 by llvm "));
  CHECK_FALSE(contains(filled, "sim:"));  // interpreted: there is no code
  CHECK(here.output_of("cache" + at) == filled);
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
  here.output_of("cache two.mr --target cpu --directory layer");
  here.write("module.so", "no module");
  setenv("MILLRACE_LLVM_MODULE", here.path("module.so").c_str(), 1);
  Workplace::forget_kernels();
  const std::string run = "run two.mr --input x=arange --dim rows=2";
  CHECK(contains(here.error_of(run), "cannot open"));
  setenv("MILLRACE_CACHE_LAYERS", here.path("layer").c_str(), 1);
  CHECK(contains(here.output_of(run), "values: f32[2x3]\n"));
  unsetenv("MILLRACE_CACHE_LAYERS");
  unsetenv("MILLRACE_LLVM_MODULE");
}

TEST_CASE("a damaged file is told, and neither used nor fatal") {
  const Workplace here;
  here.write("kernels-are-elsewhere", "");
  std::filesystem::create_directory(here.path("kernels"));
  std::filesystem::permissions(here.path("kernels"), std::filesystem::perms::owner_all);
  here.write("kernels/00000000000000000000000000000000", "damaged");
  here.write("kernels/notes.txt", "not a kernel");
  const std::string list = here.output_of("cache --list --directory kernels");
  CHECK(contains(list, "\n  not usable                                1, 7 bytes\n"));
  CHECK(contains(list, "  kernel image: found 7 bytes, expected a checksum of 16\n"));
  CHECK_FALSE(contains(list, "notes"));
  CHECK(here.error_of("cache --directory kernels-are-elsewhere") ==
        "millrace: kernel cache 'kernels-are-elsewhere': cannot be listed: Not a directory; check the path\n");
}

TEST_CASE("devices says when there is no LLVM module, and what still works") {
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
