// SPDX-License-Identifier: Apache-2.0
#include "base/replace_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/base/file.h"
#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int replace_with(const std::string& path, std::string_view text, const ReplaceFileOptions& options = {}) {
  return replace_file(path, std::array{std::as_bytes(std::span<const char>(text))}, options);
}

mode_t mode_of(const std::string& path) {
  struct stat info{};
  REQUIRE(lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

std::size_t num_entries(const std::string& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

/// The names of the files that `f` creates in the directory.
template <class F>
std::vector<std::string> created_names(const std::string& directory, F f) {
  const int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  REQUIRE(events >= 0);
  REQUIRE(inotify_add_watch(events, directory.c_str(), IN_CREATE) >= 0);
  f();
  alignas(inotify_event) char buffer[4096];
  const ssize_t size = read(events, buffer, sizeof buffer);
  close(events);
  std::vector<std::string> names;
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    names.emplace_back(event->name);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  return names;
}

TEST_CASE("a file that is written twice goes through two temporaries of different random names") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/w.npy";
  const std::vector<std::string> names = created_names(directory.path(), [&] {
    CHECK(write_file("test", path, "one").ok());
    CHECK(write_file("test", path, "two").ok());
  });
  REQUIRE(names.size() == 2);
  for (const std::string& name : names) CHECK(is_replacement_name(name));
  // Digits that agree: 2 of 32 on average; 16 or more once in 10^10 runs.
  int num_equal = 0;
  for (std::size_t i = 10; i < 42; ++i) num_equal += names[0][i] == names[1][i] ? 1 : 0;
  CHECK(num_equal < 16);
  CHECK(content_of(path) == "two");
  CHECK(num_entries(directory.path()) == 1);
}

TEST_CASE("links planted where a hash, the process and a counter would put a temporary are not written through") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/w.npy", victim = directory.path() + "/victim";
  std::ofstream(victim) << "precious";
  for (int i = 0; i < 1000; ++i) {
    fs::create_symlink(
        victim, fmt::format("{}/.{:x}.{}.{}.tmp", directory.path(), std::hash<std::string>()(path), getpid(), i));
  }
  CHECK(write_file("test", path, "new").ok());
  CHECK(content_of(victim) == "precious");
  CHECK(fs::is_regular_file(fs::symlink_status(path)));
  CHECK(content_of(path) == "new");
}

TEST_CASE("a replaced file keeps its permissions, a new one has those that the umask leaves") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/w.npy";
  const mode_t old_mask = umask(027);
  CHECK(write_file("test", path, "new").ok());
  CHECK(mode_of(path) == 0640);
  CHECK(chmod(path.c_str(), 0604) == 0);
  CHECK(write_file("test", path, "newer").ok());
  CHECK(mode_of(path) == 0604);
  CHECK(replace_with(path, "newest", {.mode = 0644}) == 0);
  CHECK(mode_of(path) == 0644);
  umask(old_mask);
  CHECK(content_of(path) == "newest");
}

TEST_CASE("a failure leaves the old file, and no temporary") {
  const TemporaryDirectory directory;
  fs::create_directory(directory.path() + "/d");
  CHECK(replace_with(directory.path() + "/d", "text") == EISDIR);
  CHECK(replace_with(directory.path() + "/no/file", "text") == ENOENT);
  CHECK(replace_with(directory.path() + "/" + std::string(300, 'n'), "text") == ENAMETOOLONG);
  CHECK(num_entries(directory.path()) == 1);
}

TEST_CASE("a link in the file's place is replaced by replace_file, and followed by write_file") {
  const TemporaryDirectory directory;
  const std::string target = directory.path() + "/target", link = directory.path() + "/link";
  fs::create_symlink(target, link);
  CHECK(write_file("test", link, "through").ok());
  CHECK(content_of(target) == "through");
  CHECK(fs::is_symlink(link));
  CHECK(replace_with(link, "instead", {.sync = true}) == 0);
  CHECK(content_of(target) == "through");
  CHECK(content_of(link) == "instead");
  CHECK_FALSE(fs::is_symlink(link));
}

/// What write_file says in a child that is not root, for whom permissions count.
std::string error_as_nobody(const std::string& path) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    const bool is_root = geteuid() == 0;
    const std::string said =
        is_root && setuid(kNobody) != 0 ? "no other user" : write_file("test", path, "text").message();
    _exit(write_all(ends[1], std::as_bytes(std::span<const char>(said))));
  }
  close(ends[1]);
  std::string said(1000, '\0');
  const ssize_t size = read(ends[0], said.data(), said.size());
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return said;
}

TEST_CASE("a directory that takes no file is named as the reason, but a writable file in it is written") {
  const TemporaryDirectory directory;
  const std::string places = directory.path() + "/places", old = places + "/old", kept = places + "/kept";
  fs::create_directory(places);
  std::ofstream(old) << "old";
  std::ofstream(kept) << "kept";
  fs::permissions(old, fs::perms(0666));
  fs::permissions(kept, fs::perms(0444));
  fs::permissions(directory.path(), fs::perms(0755));
  fs::permissions(places, fs::perms(0555));
  const std::string denied = "test: the file cannot be written: Permission denied; check the path and the space";
  CHECK(error_as_nobody(places + "/new") == denied);
  CHECK(error_as_nobody(kept) == denied);
  CHECK(error_as_nobody(old) == "");
  fs::permissions(places, fs::perms(0755));
  CHECK(num_entries(places) == 2);
  CHECK(content_of(old) == "text");
  CHECK(content_of(kept) == "kept");
}

TEST_CASE("names of temporaries are recognised") {
  CHECK(is_replacement_name(".millrace-0123456789abcdef0123456789abcdef.tmp"));
  for (const char* name :
       {"", ".tmp", ".millrace-.tmp", ".millrace-0123456789abcdef0123456789abcdeg.tmp",
        ".millrace-0123456789abcdef0123456789abcdef0.tmp", "millrace-00123456789abcdef0123456789abcdef.tmp"}) {
    CHECK_FALSE(is_replacement_name(name));
  }
}

}  // namespace
}  // namespace millrace
