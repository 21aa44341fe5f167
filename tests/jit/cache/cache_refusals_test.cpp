// SPDX-License-Identifier: Apache-2.0
// The messages of a cache about files that it does not use, kernels that it does not find, and writes that fail.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "jit/cache/directory.h"
#include "millrace/jit/cache_directory.h"
#include "millrace/jit/kernel_cache.h"
#include "tests/jit/cache/counting_generator.h"
#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

const TargetSpec kTargetOfRefused{.isa = IsaLevel::kAvx2};

/// A generator whose library is away.
class AwayGenerator final : public KernelCompiler {
 public:
  std::string_view name() const override { return "counting"; }  // whose kernels it would take
  std::string version() const override { return "1"; }
  Status supports(const TargetSpec&) const override { return {}; }
  Result<PlannedKernel> plan(const Kernel&, const TargetSpec&) const override { return unimplemented("not needed"); }
  Result<ExecutableImage> emit(const PlannedKernel&, const TargetSpec&) const override {
    return unavailable("away: the library is not there");
  }
};

Status status_of_get(const KernelCache::Options& options, const KernelCompiler& generator) {
  KernelCache cache(options);
  return cache.get(planned_kernel("a", "text"), kTargetOfRefused, generator).status();
}

/// A directory with one entry.
struct Filled {
  Filled() { REQUIRE(status_of_get({.directory = directory.path()}, CountingGenerator()).ok()); }
  std::string key() const { return fs::directory_iterator(directory.path())->path().filename(); }
  fs::path file() const { return directory.path() + "/" + key(); }
  TemporaryDirectory directory;
};

std::string mode_of_everybody() { return "can be written by everybody (mode 0646)"; }

struct Refused {
  const char* name;
  std::function<void(const fs::path&)> spoil;
  std::string expected;
};

/// Ways in which a file is not to be trusted.
std::vector<Refused> refused_files() {
  const auto set_mode = [](mode_t mode) {
    return [mode](const fs::path& file) { REQUIRE(chmod(file.c_str(), mode) == 0); };
  };
  std::vector<Refused> all = {
      {"written by everybody", set_mode(0646), mode_of_everybody()},
      {"written by its group", set_mode(0664), fmt::format("can be written by group {} (mode 0664)", getegid())},
      {"a directory", [](const fs::path& file) { fs::remove(file), fs::create_directory(file); }, "is a directory"},
      {"a link", [](const fs::path& file) { fs::remove(file), fs::create_symlink("/dev/zero", file); },
       "is a symbolic link"},
      {"a pipe", [](const fs::path& file) { fs::remove(file), mkfifo(file.c_str(), 0600); }, "is not a regular file"},
      {"too long", [](const fs::path& file) { fs::resize_file(file, kMaxCacheFileBytes + 1); },
       "has 67108865 bytes, expected at most 67108864"}};
  if (geteuid() == 0) {
    const auto give_away = [](const fs::path& file) { REQUIRE(chown(file.c_str(), 54321, 54321) == 0); };
    all.push_back({"of another user", give_away, "belongs to user 54321"});
  }
  return all;
}

TEST_CASE("the message about a missing kernel names the target, the directories, and why a file there is refused") {
  for (const Refused& refused : refused_files()) {
    CAPTURE(refused.name);
    const TemporaryDirectory own;
    const Filled layer;
    refused.spoil(layer.file());
    const Status status =
        status_of_get({.directory = own.path(), .read_only_directories = {"/no/such/layer", layer.directory.path()}},
                      AwayGenerator());
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK(
        status.message() ==
        fmt::format("kernel 'a' for cpu:avx2 is in no kernel cache, and cannot be generated: away: the library is not "
                    "there; searched {}, /no/such/layer (does not exist), {} (refused: the file {} there {})",
                    own.path(), layer.directory.path(), layer.key(), refused.expected));
  }
}

TEST_CASE("a missing kernel is reported with a damaged file, with a file in a layer's place, and without a directory") {
  const Filled damaged;
  fs::resize_file(damaged.file(), 7);
  const std::string start =
      "kernel 'a' for cpu:avx2 is in no kernel cache, and cannot be generated: away: the library is not there; ";
  CHECK(status_of_get({.directory = damaged.directory.path()}, AwayGenerator()).message() ==
        start + fmt::format("searched {} (refused: the file {} there is damaged: kernel image: found 7 bytes, expected "
                            "at least 16 for the checksum)",
                            damaged.directory.path(), damaged.key()));
  CHECK(status_of_get({.read_only_directories = {damaged.file()}}, AwayGenerator()).message() ==
        start + fmt::format("searched {} (is not a directory)", damaged.file().string()));
  CHECK(status_of_get({}, AwayGenerator()).message() == start + "this context has no cache directory");
}

TEST_CASE("another failure of a generator is passed on as it is") {
  KernelCache cache({});
  const CountingGenerator generator;
  CHECK(cache.get(planned_kernel("a", "impossible"), kTargetOfRefused, generator).status().message() ==
        "impossible: cannot be emitted");
}

TEST_CASE("a directory reports how many of its files are refused, and why the first is") {
  for (const Refused& refused : refused_files()) {
    CAPTURE(refused.name);
    const Filled filled;
    CHECK(find_cache_refusal(filled.directory.path()) == "");
    refused.spoil(filled.file());
    CHECK(find_cache_refusal(filled.directory.path()) ==
          fmt::format("1 of 1 files refused, such as {} {}", filled.key(), refused.expected));
    const std::vector<CachedKernel> listed = list_cached_kernels(filled.directory.path()).value();
    REQUIRE(listed.size() == 1);
    CHECK(listed[0].problem == refused.expected);
  }
  const TemporaryDirectory directory;
  CHECK(find_cache_refusal(directory.path() + "/none") == "does not exist");
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "text";
  CHECK(find_cache_refusal(file) == "cannot be listed: Not a directory");
}

/// The message of a fill of the directory, which must fail.
std::string filling_error(const std::string& directory) {
  const Status status = status_of_get({.directory = directory, .requires_writes = true}, CountingGenerator());
  CHECK(status.code() == StatusCode::kFailedPrecondition);
  CHECK(status_of_get({.directory = directory}, CountingGenerator()).ok());  // where writing is not required
  return status.message();
}

TEST_CASE("if writes are required, a failing write is an error with the file and the reason") {
  const Filled filled;
  const std::string start =
      fmt::format("kernel cache '{}': entry {} cannot be written: ", filled.directory.path(), filled.key());
  fs::remove(filled.file());
  SUBCASE("a directory in its place") {
    const fs::path file = filled.directory.path() + "/" + start.substr(start.find("entry ") + 6, 32);
    fs::create_directory(file);
    CHECK(filling_error(filled.directory.path()) == start + "a directory has its name; remove the directory");
  }
  SUBCASE("no space on the disk") {
    // A file may grow to no byte here, which a full disk says with another errno.
    const rlimit none{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    const std::string error = filling_error(filled.directory.path());
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK(error == start + "File too large");
  }
  CHECK(filling_error("/proc/none").ends_with(" cannot be written: No such file or directory"));
}

TEST_CASE("a fill counts what it has written, and finds it again") {
  const TemporaryDirectory directory;
  const CountingGenerator generator;
  const auto fill = [&] {
    KernelCache cache({.directory = directory.path(), .requires_writes = true});
    for (const char* name : {"a", "b"}) {
      REQUIRE(cache.get(planned_kernel(name, std::string("text of ") + name), kTargetOfRefused, generator).ok());
      REQUIRE(cache.get(planned_kernel(name, std::string("text of ") + name), kTargetOfRefused, generator).ok());
    }
    return std::pair{cache.stats().written, cache.stats().disk_hits};
  };
  CHECK(fill() == std::pair<std::uint64_t, std::uint64_t>{2, 0});
  CHECK(fill() == std::pair<std::uint64_t, std::uint64_t>{0, 2});
}

}  // namespace
}  // namespace millrace
