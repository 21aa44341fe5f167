// SPDX-License-Identifier: Apache-2.0
// The files of a cache: damage, permissions, layers, and what is removed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "jit/cache/directory.h"
#include "millrace/jit/kernel_cache.h"
#include "tests/jit/cache/counting_generator.h"
#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const TargetSpec kSpec{.isa = IsaLevel::kAvx2};

std::vector<fs::path> files_in(const std::string& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  return files;
}

/// What one process, that has nothing in memory, does for the kernel.
KernelCache::Stats get_once(const KernelCache::Options& options, const std::string& text) {
  static const CountingGenerator generator;
  KernelCache cache(options);
  const auto image = cache.get(planned_kernel("a", text), kSpec, generator);
  REQUIRE(image.ok());
  CHECK((*image)->bytes.size() == text.size());
  return cache.stats();
}

std::string mode_text(const fs::path& path) {
  struct stat info{};
  REQUIRE(lstat(path.c_str(), &info) == 0);
  return fmt::format("{:o}", info.st_mode & 07777);
}

void set_age(const fs::path& file, std::chrono::seconds age) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - age);
}

std::chrono::seconds age_of(const fs::path& file) {
  return std::chrono::duration_cast<std::chrono::seconds>(fs::file_time_type::clock::now() - fs::last_write_time(file));
}

TEST_CASE("anything but a kernel's file in its place is replaced, and the kernel is compiled anew") {
  const TemporaryDirectory directory;
  CHECK(get_once({.directory = directory.path()}, "text").misses == 1);
  const fs::path file = files_in(directory.path()).at(0);
  SUBCASE("8 TB of nothing") { fs::resize_file(file, std::uintmax_t{8} << 40); }
  SUBCASE("a byte longer than any kernel") { fs::resize_file(file, kMaxCacheFileBytes + 1); }
  SUBCASE("as long as a kernel may be") { fs::resize_file(file, kMaxCacheFileBytes); }
  SUBCASE("a byte") { fs::resize_file(file, 1); }
  SUBCASE("a byte more") { fs::resize_file(file, fs::file_size(file) + 1); }
  SUBCASE("a pipe") {
    fs::remove(file);
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  }
  SUBCASE("a link to a good file") {
    fs::rename(file, directory.path() + "/elsewhere");
    fs::create_symlink(directory.path() + "/elsewhere", file);
  }
  SUBCASE("a link to nothing") {
    fs::remove(file);
    fs::create_symlink(directory.path() + "/nowhere", file);
  }
  SUBCASE("an endless device") {
    fs::remove(file);
    fs::create_symlink("/dev/zero", file);
  }
  const KernelCache::Stats damaged = get_once({.directory = directory.path()}, "text");
  CHECK(damaged.misses == 1);
  CHECK(damaged.rejected == 1);
  CHECK(get_once({.directory = directory.path()}, "text").disk_hits == 1);
  CHECK(fs::is_regular_file(fs::symlink_status(file)));
}

TEST_CASE("a file that grows and shrinks while it is read is complete or damaged, never partly used") {
  const TemporaryDirectory directory;
  const std::string text(100'000, 'x');
  CHECK(get_once({.directory = directory.path(), .max_bytes = 0}, text).misses == 1);
  const fs::path file = files_in(directory.path()).at(0);
  const std::string key = file.filename();
  const std::uintmax_t size = fs::file_size(file);
  const KernelCacheDirectory reader(directory.path(), 0);
  const std::vector<std::byte> whole = reader.read(key).content.value();
  std::atomic<bool> is_over = false;
  // Shrinking loses the tail, growing gives zeros: the checksum tells both, and so does the length alone.
  std::thread writer([&] {
    std::ofstream tail(file, std::ios::app | std::ios::binary);
    while (!is_over) {
      tail.write("more", 4).flush();
      fs::resize_file(file, size);
      fs::resize_file(file, size - 1);
      fs::resize_file(file, size);
    }
  });
  int num_wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    const CacheFile found = reader.read(key);
    if (found.refusal.empty() != found.content.has_value()) ++num_wrong;
    if (found.content && (found.content->size() > whole.size() + 4 ||
                          (*found.content != whole && decode_image(*found.content, key).ok()))) {
      ++num_wrong;
    }
  }
  is_over = true;
  writer.join();
  CHECK(num_wrong == 0);
}

TEST_CASE("whoever may list a directory may read its entries, whatever the umask is") {
  for (const mode_t mask : {0022, 0077}) {
    const TemporaryDirectory directory;
    const mode_t before = umask(mask);
    for (const auto& [of_directory, of_file] :
         {std::pair{0700, "600"}, {0711, "600"}, {0750, "640"}, {0755, "644"}, {0751, "640"}}) {
      const std::string path = fmt::format("{}/{:o}", directory.path(), of_directory);
      fs::create_directory(path);
      REQUIRE(chmod(path.c_str(), static_cast<mode_t>(of_directory)) == 0);
      CHECK(get_once({.directory = path}, "text").misses == 1);
      CHECK(mode_text(files_in(path).at(0)) == of_file);
    }
    umask(before);
  }
}

TEST_CASE("only this user may read directories that the cache makes") {
  const TemporaryDirectory directory;
  const mode_t before = umask(0);
  CHECK(get_once({.directory = directory.path() + "/a/b"}, "text").misses == 1);
  umask(before);
  CHECK(mode_text(directory.path() + "/a") == "700");
  CHECK(mode_text(directory.path() + "/a/b") == "700");
  CHECK(mode_text(files_in(directory.path() + "/a/b").at(0)) == "600");
}

TEST_CASE("a lower layer is read if the directory lacks a kernel, and never written") {
  const TemporaryDirectory upper, first, second;
  CHECK(get_once({.directory = first.path()}, "one").misses == 1);
  CHECK(get_once({.directory = second.path()}, "two").misses == 1);
  set_age(files_in(second.path()).at(0), 48h);
  const KernelCache::Options options{.directory = upper.path(), .read_only_directories = {first.path(), second.path()}};
  CHECK(get_once(options, "one").disk_hits == 1);
  CHECK(get_once(options, "two").disk_hits == 1);
  CHECK(files_in(upper.path()).empty());
  CHECK(get_once(options, "three").misses == 1);
  CHECK(files_in(upper.path()).size() == 1);
  CHECK(files_in(first.path()).size() == 1);
  CHECK(files_in(second.path()).size() == 1);
  CHECK(age_of(files_in(second.path()).at(0)) > 47h);
  CHECK(get_once({.read_only_directories = {second.path()}}, "two").disk_hits == 1);
}

TEST_CASE("a damaged entry is restored from the layer below, and a damaged entry of a layer from the next") {
  const TemporaryDirectory upper, first, second;
  for (const auto* layer : {&upper, &first, &second}) CHECK(get_once({.directory = layer->path()}, "text").misses == 1);
  fs::resize_file(files_in(upper.path()).at(0), 5);
  fs::resize_file(files_in(first.path()).at(0), 5);
  const KernelCache::Options options{.directory = upper.path(), .read_only_directories = {first.path(), second.path()}};
  const KernelCache::Stats mended = get_once(options, "text");
  CHECK(mended.disk_hits == 1);
  CHECK(mended.misses == 0);
  CHECK(mended.rejected == 1);
  CHECK(get_once({.directory = upper.path()}, "text").disk_hits == 1);
  CHECK(fs::file_size(files_in(first.path()).at(0)) == 5);
}

TEST_CASE("layers come from the environment, as absolute paths") {
  const char* name = "MILLRACE_CACHE_LAYERS";
  using Paths = std::vector<std::string>;
  for (const auto& [value, expected] :
       {std::pair{"", Paths{}}, {"/a", Paths{"/a"}}, {"/a:/b c", Paths{"/a", "/b c"}}, {":rel::/b:", Paths{"/b"}}}) {
    REQUIRE(setenv(name, value, 1) == 0);
    CHECK(default_read_only_cache_directories() == expected);
    CHECK(ignored_cache_layers() ==
          (std::string_view(value).find("rel") == std::string_view::npos ? Paths{} : Paths{"rel"}));
  }
  REQUIRE(unsetenv(name) == 0);
  CHECK(default_read_only_cache_directories().empty());
}

TEST_CASE("above the limit the least recently used entries are removed") {
  const TemporaryDirectory directory;
  const auto text_of = [](int i) { return std::string(1000, static_cast<char>('a' + i)); };
  std::vector<fs::path> files;
  for (int i = 0; i < 6; ++i) {
    const std::vector<fs::path> before = files_in(directory.path());
    CHECK(get_once({.directory = directory.path()}, text_of(i)).misses == 1);
    for (const fs::path& file : files_in(directory.path())) {
      if (std::ranges::find(before, file) == before.end()) files.push_back(file);
    }
    set_age(files.back(), 100h - i * 1h);
  }
  // A hit counts as use: the oldest is the newest now.
  CHECK(get_once({.directory = directory.path()}, text_of(0)).disk_hits == 1);
  CHECK(age_of(files[0]) < 1h);
  std::ofstream(directory.path() + "/notes.txt") << std::string(100'000, 'n');
  const std::uint64_t limit = 4 * fs::file_size(files[0]) + 1;
  CHECK(get_once({.directory = directory.path(), .max_bytes = limit}, text_of(6)).misses == 1);
  CHECK(fs::exists(files[0]));
  CHECK_FALSE(fs::exists(files[1]));
  CHECK_FALSE(fs::exists(files[2]));
  CHECK_FALSE(fs::exists(files[3]));
  CHECK(fs::exists(files[4]));
  CHECK(fs::exists(files[5]));
  CHECK(fs::exists(directory.path() + "/notes.txt"));
  CHECK(get_once({.directory = directory.path(), .max_bytes = limit}, text_of(6)).disk_hits == 1);
}

TEST_CASE("an entry is marked as used once a day") {
  const TemporaryDirectory directory;
  CHECK(get_once({.directory = directory.path()}, "text").misses == 1);
  const fs::path file = files_in(directory.path()).at(0);
  set_age(file, 23h);
  CHECK(get_once({.directory = directory.path()}, "text").disk_hits == 1);
  CHECK(age_of(file) >= 23h);
  set_age(file, 25h);
  CHECK(get_once({.directory = directory.path()}, "text").disk_hits == 1);
  CHECK(age_of(file) < 1h);
}

TEST_CASE("a directory stays near its limit, however many short processes write to it") {
  const TemporaryDirectory directory;
  constexpr std::uint64_t kLimit = 64'000;
  std::uint64_t max_bytes = 0;
  for (int i = 0; i < 600; ++i) {
    CHECK(get_once({.directory = directory.path(), .max_bytes = kLimit}, fmt::format("{:0>500}", i)).misses == 1);
    if (i % 20 != 19) continue;
    std::uint64_t total = 0;
    for (const fs::path& file : files_in(directory.path())) total += fs::file_size(file);
    max_bytes = std::max(max_bytes, total);
  }
  CHECK(max_bytes > kLimit / 2);
  CHECK(max_bytes < kLimit + kLimit / 8);
}

TEST_CASE("files that killed writers left an hour ago are removed, and files that are being written stay") {
  const TemporaryDirectory directory;
  const auto temporary = [&](char digit) {
    const std::string path = directory.path() + "/.millrace-" + std::string(32, digit) + ".tmp";
    std::ofstream(path) << "part";
    return path;
  };
  const std::string old = temporary('0'), young = temporary('1'), foreign = directory.path() + "/.other.tmp";
  const std::string endless = directory.path() + "/" + std::string(32, 'e');
  for (const std::string& path : {foreign, endless}) std::ofstream(path) << "text";
  fs::resize_file(endless, std::uintmax_t{8} << 40);
  set_age(old, 61min);
  set_age(young, 59min);
  set_age(foreign, 61min);
  SUBCASE("without a limit") { trim_cache_directory(directory.path(), 0); }
  SUBCASE("with a writer's first file") {
    CHECK(get_once({.directory = directory.path()}, "text").misses == 1);
    CHECK(get_once({.directory = directory.path()}, "text").disk_hits == 1);
  }
  SUBCASE("with a later file of a writer") {
    const KernelCacheDirectory writer(directory.path(), 64'000);
    const std::vector<std::byte> content(600);
    CHECK(writer.write(std::string(32, '0'), content).ok());
    CHECK_FALSE(fs::exists(old));
    temporary('0');
    set_age(old, 61min);
    CHECK(writer.write(std::string(32, 'f'), std::span(content).first(300)).ok());
    CHECK(fs::exists(old));
    CHECK(writer.write(std::string(32, 'f'), std::span(content).first(100)).ok());
  }
  CHECK_FALSE(fs::exists(old));
  CHECK_FALSE(fs::exists(endless));
  CHECK(fs::exists(young));
  CHECK(fs::exists(foreign));
}

TEST_CASE("processes that trim one directory at once leave it readable and within its limit") {
  const TemporaryDirectory directory;
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const CountingGenerator generator;
      for (int k = 0; k < 200; ++k) {
        KernelCache cache({.directory = directory.path(), .max_bytes = 4000});
        const auto image = cache.get(planned_kernel("a", std::string(500 + k % 20, 'x')), kSpec, generator);
        if (!image.ok() || cache.stats().rejected != 0) ++num_wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(num_wrong == 0);
  trim_cache_directory(directory.path(), 4000);
  std::uint64_t total = 0;
  for (const fs::path& file : files_in(directory.path())) total += fs::file_size(file);
  CHECK(total <= 4000);
}

}  // namespace
}  // namespace millrace
