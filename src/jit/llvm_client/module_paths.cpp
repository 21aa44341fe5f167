// SPDX-License-Identifier: Apache-2.0
// The paths where the LLVM module may be, and the check that nobody else can change the file that is loaded.
#include "jit/llvm_client/module_paths.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <grp.h>
#include <memory>
#include <pwd.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "millrace/base/file.h"

namespace millrace {
namespace {

/// Whether `address` is in the range at the start of a line of /proc/self/maps: "7f00-7f80 r-xp ...".
bool is_in_range(std::string_view line, std::uintptr_t address) {
  std::uintptr_t begin = 0, end = 0;
  const char* const stop = line.data() + line.size();
  const auto first = std::from_chars(line.data(), stop, begin, 16);
  if (first.ec != std::errc() || first.ptr == stop) return false;
  const auto second = std::from_chars(first.ptr + 1, stop, end, 16);
  return second.ec == std::errc() && begin <= address && address < end;
}

/// Whether this is a user private group: the user's primary group, with the user's name.
bool is_private_group(gid_t group) {
  std::array<char, 4096> user_text{}, group_text{};
  passwd user_entry{}, *user = nullptr;
  ::group group_entry{}, *found = nullptr;
  if (getpwuid_r(geteuid(), &user_entry, user_text.data(), user_text.size(), &user) != 0 || user == nullptr)
    return false;
  if (user->pw_gid != group) return false;
  if (getgrgid_r(group, &group_entry, group_text.data(), group_text.size(), &found) != 0 || found == nullptr)
    return false;
  return std::strcmp(found->gr_name, user->pw_name) == 0;
}

/// "belongs to user 1000", or empty if only trusted users can write there.
std::string foreign_writer(const struct stat& info, uid_t library_owner) {
  if (info.st_uid != 0 && info.st_uid != geteuid() && info.st_uid != library_owner) {
    return fmt::format("belongs to user {}", info.st_uid);
  }
  // In a sticky directory, only owners can move or remove entries.
  if (S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0) return {};
  if ((info.st_mode & S_IWOTH) != 0) return "can be written by everybody";
  if ((info.st_mode & S_IWGRP) != 0 && info.st_gid != 0 && !is_private_group(info.st_gid)) {
    return fmt::format("can be written by group {}", info.st_gid);
  }
  return {};
}

/// An address inside the library's file. A function's address may be in another library that exports the same name.
constexpr char kOfThisFile = 'm';

std::string directory_of(const std::string& path) { return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)); }

}  // namespace

std::string own_file() {
  const Result<std::vector<std::byte>> maps = read_file("llvm", "/proc/self/maps");
  if (!maps.ok()) return {};
  std::string_view text(reinterpret_cast<const char*>(maps->data()), maps->size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (is_in_range(line, reinterpret_cast<std::uintptr_t>(&kOfThisFile))) {
      const std::size_t path = line.find('/');
      return path == line.npos ? std::string() : std::string(line.substr(path));
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

extern "C" const char* millrace_package_module() { return ""; }

std::vector<std::string> module_paths(std::string_view own_file, std::string_view package_module) {
  constexpr std::string_view kPrograms = MILLRACE_PROGRAM_DIRECTORY, kLibraries = MILLRACE_LIBRARY_DIRECTORY;
  std::vector<std::string> paths;
  const std::size_t slash = own_file.rfind('/');
  if (slash != own_file.npos) {
    const std::string_view directory = own_file.substr(0, slash);
    paths.push_back(fmt::format("{}/{}", directory, kLlvmModuleFile));
    const std::string programs = fmt::format("/{}", kPrograms);
    if (!kPrograms.empty() && directory.ends_with(programs)) {
      const std::string_view prefix = directory.substr(0, directory.size() - programs.size());
      paths.push_back(fmt::format("{}/{}/{}", prefix, kLibraries, kLlvmModuleFile));
    }
  }
  const auto add = [&](std::string path) {
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
  };
  if (!package_module.empty()) add(std::string(package_module));
  constexpr std::string_view kSystem = MILLRACE_SYSTEM_DIRECTORY;
  if (!kSystem.empty()) add(fmt::format("{}/{}", kSystem, kLlvmModuleFile));
  return paths;
}

Status check_module_writers(const std::string& module, uid_t library_owner) {
  const std::unique_ptr<char, void (*)(void*)> resolved(realpath(module.c_str(), nullptr), std::free);
  if (!resolved) {
    return unavailable(fmt::format("llvm: {} is not opened: {}", module, std::generic_category().message(errno)));
  }
  // The first two differ if the module is a link.
  for (const std::string& path : {directory_of(module), directory_of(resolved.get()), std::string(resolved.get())}) {
    struct stat info{};
    const std::string why =
        stat(path.c_str(), &info) != 0 ? std::generic_category().message(errno) : foreign_writer(info, library_owner);
    if (why.empty()) continue;
    return unavailable(
        fmt::format("llvm: {} is not opened: {} {}, so others may have changed it; remove their access, or name the "
                    "module in MILLRACE_LLVM_MODULE",
                    module, path, why));
  }
  return {};
}

}  // namespace millrace
