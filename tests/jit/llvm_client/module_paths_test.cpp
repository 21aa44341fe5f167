// SPDX-License-Identifier: Apache-2.0
#include "jit/llvm_client/module_paths.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

TEST_CASE("the module is searched for next to the library, by the install's layout, and in the system's directories") {
  const std::vector<std::string> beside = module_paths("/home/u/build/app", "");
  CHECK(beside.front() == "/home/u/build/libmillrace_llvm.so");
  const auto is_of_system = [](const std::string& place) { return place.starts_with("/usr/"); };
  CHECK(std::all_of(beside.begin() + 1, beside.end(), is_of_system));

  const std::vector<std::string> installed = module_paths("/opt/p/bin/app", "");
  REQUIRE(installed.size() == beside.size() + 1);
  CHECK(installed[0] == "/opt/p/bin/libmillrace_llvm.so");
  CHECK(installed[1].starts_with("/opt/p/lib"));
  CHECK(installed[1].ends_with("/libmillrace_llvm.so"));

  const std::vector<std::string> unknown = module_paths("", "");
  CHECK(std::ranges::all_of(unknown, is_of_system));
}

TEST_CASE(
    "the module of the package that an application was built with is searched for once, after those near the "
    "application") {
  const std::string module = "/opt/p/lib/libmillrace_llvm.so";
  const std::vector<std::string> without = module_paths("/home/u/build/app", "");
  std::vector<std::string> expected = without;
  expected.insert(expected.begin() + 1, module);
  CHECK(module_paths("/home/u/build/app", module) == expected);
  CHECK(module_paths("/opt/p/lib/libapp.so", module).front() == module);
  CHECK(module_paths("/opt/p/lib/libapp.so", module).size() == without.size());
  CHECK(std::string(millrace_package_module()) == "");  // this program is not built with a package
}

TEST_CASE("a program knows its own file, whatever its argv[0] is") {
  CHECK(own_file() == fs::read_symlink("/proc/self/exe").string());
}

/// A module in a directory of its own, both as only their owner may write them.
struct Place {
  Place() {
    fs::create_directory(directory);
    chmod(directory.c_str(), 0755);
    std::ofstream(module) << "module";
    chmod(module.c_str(), 0644);
  }
  /// The message for this library's owner, from "is not opened: " up to ", so others".
  std::string reason(uid_t library_owner = geteuid()) const {
    const std::string message = check_module_writers(module, library_owner).message();
    if (message.empty()) return "";
    const std::string begin = "llvm: " + module + " is not opened: ";
    const std::string end =
        ", so others may have changed it; remove their access, or name the module in MILLRACE_LLVM_MODULE";
    CHECK(message.starts_with(begin));
    CHECK(message.ends_with(end));
    return message.substr(begin.size(), message.size() - begin.size() - end.size());
  }
  TemporaryDirectory root;
  std::string directory = root.path() + "/d", module = directory + "/libmillrace_llvm.so";
};

TEST_CASE("a module that others can write to is refused, with the owner and the path") {
  const Place place;
  CHECK(place.reason() == "");
  chmod(place.module.c_str(), 0646);
  CHECK(place.reason() == place.module + " can be written by everybody");
  chmod(place.module.c_str(), 0644);
  chmod(place.directory.c_str(), 0757);
  CHECK(place.reason() == place.directory + " can be written by everybody");
  chmod(place.directory.c_str(), 01777);
  CHECK(place.reason() == "");
  chmod(place.directory.c_str(), 0755);
  const std::string link = place.root.path() + "/libmillrace_llvm.so";
  fs::create_symlink(place.module, link);
  CHECK(check_module_writers(link, geteuid()).ok());
  chmod(place.directory.c_str(), 0777);
  CHECK(check_module_writers(link, geteuid()).message() ==
        fmt::format("llvm: {} is not opened: {} can be written by everybody, so others may have changed it; remove "
                    "their access, or name the module in MILLRACE_LLVM_MODULE",
                    link, place.directory));
}

TEST_CASE("a module of another user is refused, unless that user owns the library; a foreign group may not write") {
  if (geteuid() != 0) {
    MESSAGE("not tried: only root can give files away");
    return;
  }
  constexpr uid_t kOther = 54321;
  const Place place;
  REQUIRE(chown(place.module.c_str(), kOther, kOther) == 0);
  CHECK(place.reason() == place.module + " belongs to user 54321");
  CHECK(place.reason(kOther) == "");
  chmod(place.module.c_str(), 0664);
  CHECK(place.reason(kOther) == place.module + " can be written by group 54321");
  REQUIRE(chown(place.module.c_str(), 0, 0) == 0);
  CHECK(place.reason() == "");
  REQUIRE(chown(place.directory.c_str(), kOther, 0) == 0);
  chmod(place.directory.c_str(), 01755);
  CHECK(place.reason() == place.directory + " belongs to user 54321");
}

}  // namespace
}  // namespace millrace
