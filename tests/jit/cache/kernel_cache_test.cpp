// SPDX-License-Identifier: Apache-2.0
#include "millrace/jit/kernel_cache.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "tests/jit/cache/counting_generator.h"
#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

const TargetSpec kSpec{.isa = IsaLevel::kAvx2};

std::vector<fs::path> files_in(const std::string& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  return files;
}

TEST_CASE("a kernel is compiled once and then found in memory") {
  KernelCache cache({});
  const CountingGenerator generator;
  const auto first = cache.get(planned_kernel("a", "text"), kSpec, generator).value();
  const auto second = cache.get(planned_kernel("a", "text"), kSpec, generator).value();
  CHECK(first == second);
  CHECK(generator.emissions == 1);
  CHECK(cache.stats().memory_hits == 1);
  CHECK(cache.stats().misses == 1);
}

TEST_CASE("text, target and version of the generator identify a kernel") {
  KernelCache cache({});
  const CountingGenerator one("1"), two("2");
  REQUIRE(cache.get(planned_kernel("a", "text"), kSpec, one).ok());
  REQUIRE(cache.get(planned_kernel("a", "other"), kSpec, one).ok());
  REQUIRE(cache.get(planned_kernel("a", "text"), {.isa = IsaLevel::kAvx512}, one).ok());
  REQUIRE(cache.get(planned_kernel("a", "text"), kSpec, two).ok());
  CHECK(one.emissions == 3);
  CHECK(two.emissions == 1);
}

TEST_CASE("generic code in a directory serves a tuned target, and tuned code only its own") {
  const TemporaryDirectory directory;
  const TargetSpec generic = kSpec;
  TargetSpec tuned = kSpec;
  tuned.tune = CpuTune::kIntel;
  PlannedKernel kernel = planned_kernel("a", "text");
  kernel.uses_tune = true;
  PlannedKernel other = planned_kernel("b", "other");
  other.uses_tune = true;
  const CountingGenerator generator;
  {
    KernelCache cache({.directory = directory.path()});
    CHECK(cache.get(kernel, generic, generator).value()->target == "cpu:avx2");
    CHECK(cache.get(other, tuned, generator).value()->target == "cpu:avx2,tune=intel");
    CHECK(generator.emissions == 2);
  }
  KernelCache cache({.directory = directory.path()});
  CHECK(cache.get(kernel, tuned, generator).value()->target == "cpu:avx2");
  CHECK(cache.get(other, tuned, generator).value()->target == "cpu:avx2,tune=intel");
  CHECK(cache.stats().disk_hits == 2);
  CHECK(generator.emissions == 2);
  CHECK(cache.get(other, generic, generator).value()->target == "cpu:avx2");
  CHECK(generator.emissions == 3);
}

TEST_CASE("a tool that fills a directory makes tuned code, though generic code is there") {
  const TemporaryDirectory directory;
  TargetSpec tuned = kSpec;
  tuned.tune = CpuTune::kIntel;
  PlannedKernel kernel = planned_kernel("a", "text");
  kernel.uses_tune = true;
  const CountingGenerator generator;
  KernelCache filling({.directory = directory.path(), .requires_writes = true});
  CHECK(filling.get(kernel, kSpec, generator).value()->target == "cpu:avx2");
  CHECK(filling.get(kernel, tuned, generator).value()->target == "cpu:avx2,tune=intel");
  CHECK(files_in(directory.path()).size() == 2);
}

TEST_CASE("a refused generic file is counted, and code is made in its place") {
  const TemporaryDirectory directory;
  TargetSpec tuned = kSpec;
  tuned.tune = CpuTune::kIntel;
  PlannedKernel kernel = planned_kernel("a", "text");
  kernel.uses_tune = true;
  const CountingGenerator generator;
  REQUIRE(KernelCache({.directory = directory.path()}).get(kernel, kSpec, generator).ok());
  REQUIRE(chmod(files_in(directory.path())[0].c_str(), 0666) == 0);
  KernelCache cache({.directory = directory.path()});
  CHECK(cache.get(kernel, tuned, generator).value()->target == "cpu:avx2,tune=intel");
  CHECK(cache.stats().rejected == 1);
  CHECK(generator.emissions == 2);
}

TEST_CASE("a kernel whose code does not depend on the tune has one entry for all") {
  KernelCache cache({});
  const CountingGenerator generator;
  TargetSpec tuned = kSpec;
  tuned.tune = CpuTune::kIntel;
  REQUIRE(cache.get(planned_kernel("a", "text"), kSpec, generator).ok());
  REQUIRE(cache.get(planned_kernel("a", "text"), tuned, generator).ok());
  CHECK(generator.emissions == 1);
}

TEST_CASE("targets share a kernel that needs none of the features in which they differ") {
  KernelCache cache({});
  const CountingGenerator generator;
  const TargetSpec plain{.isa = IsaLevel::kAvx512};
  const TargetSpec featured{.isa = IsaLevel::kAvx512, .features = {.vbmi2 = true, .vpopcntdq = true}};
  REQUIRE(cache.get(planned_kernel("a", "text"), plain, generator).ok());
  REQUIRE(cache.get(planned_kernel("a", "text"), featured, generator).ok());
  CHECK(generator.emissions == 1);
  PlannedKernel needs_one = planned_kernel("a", "text");
  needs_one.features.vbmi2 = true;
  REQUIRE(cache.get(needs_one, featured, generator).ok());
  CHECK(generator.emissions == 2);
  CHECK(needs_one.target_of(featured).to_text() == "cpu:avx512+vbmi2");
}

TEST_CASE("kernels that differ only in their names share code, each under its own name") {
  KernelCache cache({});
  const CountingGenerator generator;
  const auto a = cache.get(planned_kernel("a", "text"), kSpec, generator).value();
  const auto b = cache.get(planned_kernel("b", "text"), kSpec, generator).value();
  CHECK(generator.emissions == 1);
  CHECK(a->info.name == "a");
  CHECK(b->info.name == "b");
  CHECK(a->bytes == b->bytes);
}

TEST_CASE("another process's kernel is found on disk") {
  const TemporaryDirectory directory;
  const CountingGenerator generator;
  const std::string below = directory.path() + "/made/when/needed";
  REQUIRE(KernelCache({.directory = below}).get(planned_kernel("a", "text"), kSpec, generator).ok());
  KernelCache cache({.directory = below});
  const auto image = cache.get(planned_kernel("a", "text"), kSpec, generator).value();
  CHECK(generator.emissions == 1);
  CHECK(cache.stats().disk_hits == 1);
  CHECK(image->bytes.size() == 4);
  CHECK(image->entry_offset == 1);
  CHECK(image->target == "cpu:avx2");
  CHECK(image->info.buffer_is_written == std::vector<bool>{false, true});
}

TEST_CASE("a damaged file is compiled anew and replaced") {
  const TemporaryDirectory directory;
  const CountingGenerator generator;
  const PlannedKernel kernel = planned_kernel("a", "text");
  REQUIRE(KernelCache({.directory = directory.path()}).get(kernel, kSpec, generator).ok());
  const fs::path file = files_in(directory.path()).at(0);
  SUBCASE("truncated") { fs::resize_file(file, fs::file_size(file) - 1); }
  SUBCASE("empty") { fs::resize_file(file, 0); }
  SUBCASE("one byte changed") {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(40);
    stream.put('\x7f');
  }
  SUBCASE("of another kernel") {
    REQUIRE(KernelCache({.directory = directory.path()}).get(planned_kernel("b", "other"), kSpec, generator).ok());
    for (const fs::path& other : files_in(directory.path())) {
      if (other != file) fs::rename(other, file);
    }
  }
  SUBCASE("writable by everyone") { fs::permissions(file, fs::perms::others_write, fs::perm_options::add); }
  const int before = generator.emissions;
  KernelCache cache({.directory = directory.path()});
  const auto image = cache.get(kernel, kSpec, generator).value();
  CHECK(image->bytes.size() == 4);
  CHECK(image->bytes[0] == std::byte{'t'});
  CHECK(generator.emissions == before + 1);
  CHECK(cache.stats().rejected == 1);
  KernelCache after({.directory = directory.path()});
  REQUIRE(after.get(kernel, kSpec, generator).ok());
  CHECK(after.stats().disk_hits == 1);
  CHECK(files_in(directory.path()).size() == 1);
}

TEST_CASE("a directory that cannot be written is not an error") {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/a_file";
  std::ofstream(file) << "in the way";
  const CountingGenerator generator;
  for (const std::string& path : {file, std::string("/proc/no/such/place")}) {
    KernelCache cache({.directory = path});
    CHECK(cache.get(planned_kernel("a", "text"), kSpec, generator).ok());
    CHECK(cache.get(planned_kernel("a", "text"), kSpec, generator).ok());
    CHECK(cache.stats().memory_hits == 1);
  }
}

TEST_CASE("the least recently used kernel leaves memory first") {
  KernelCache cache({.max_memory_entries = 2});
  const CountingGenerator generator;
  for (const char* text : {"a", "b", "a", "c", "a"})
    REQUIRE(cache.get(planned_kernel("k", text), kSpec, generator).ok());
  CHECK(generator.emissions == 3);
  REQUIRE(cache.get(planned_kernel("k", "b"), kSpec, generator).ok());
  CHECK(generator.emissions == 4);
}

TEST_CASE("a generator's failure is passed on and not kept") {
  KernelCache cache({});
  const CountingGenerator generator;
  for (int i = 0; i < 2; ++i) {
    const auto result = cache.get(planned_kernel("a", "impossible"), kSpec, generator);
    CHECK(result.status().code() == StatusCode::kUnimplemented);
    CHECK(result.status().message() == "impossible: cannot be emitted");
  }
  CHECK(generator.emissions == 2);
}

TEST_CASE("threads that want one kernel compile it once") {
  KernelCache cache({});
  const CountingGenerator generator;
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        const auto image = cache.get(planned_kernel("a", std::to_string(k) + " text"), kSpec, generator);
        if (image.ok() && (*image)->bytes.size() > 5) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 800);
  CHECK(generator.emissions == 100);
}

TEST_CASE("processes share a directory, and never see an incomplete file") {
  const TemporaryDirectory directory;
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      const CountingGenerator generator;
      bool good = true;
      for (int k = 0; k < 200; ++k) {
        KernelCache cache({.directory = directory.path()});
        const auto image = cache.get(planned_kernel("a", std::string(1000 + k % 10, 'x')), kSpec, generator);
        good = good && image.ok() && cache.stats().rejected == 0;
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0);
  }
  CHECK(files_in(directory.path()).size() == 10);
}

}  // namespace
}  // namespace millrace
