// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/replace_file.h"

namespace millrace {
namespace {

/// "No such file or directory".
std::string reason_of(int error) { return std::generic_category().message(error); }

/// As it comes, into what is there. 0, or the number of what failed.
int write_in_place(const std::string& path, std::span<const std::span<const std::byte>> parts, int flags) {
  const int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | flags, 0666);
  if (file < 0) return errno;
  int error = 0;
  for (const auto& part : parts) {
    if (error == 0) error = write_all(file, part);
  }
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

/// 0, or the number of what failed.
int write_or_replace(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  struct stat old{};
  const bool is_there = lstat(path.c_str(), &old) == 0;
  // What is written as it comes: a pipe, a device, or a link to either or to a file.
  if (is_there && !S_ISREG(old.st_mode)) return write_in_place(path, parts, O_CREAT);
  ReplaceFileOptions options;
  if (is_there) options = {.mode = old.st_mode & 0777, .sync = true};
  const int error = replace_file(path, parts, options);
  if (error != EACCES) return error;
  return write_in_place(path, parts, O_NOFOLLOW);  // the directory takes no new file, but this one may be writable
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& where, const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) {
    return not_found(fmt::format("{}: the file cannot be opened: {}; check the path", where, reason_of(errno)));
  }
  std::vector<std::byte> bytes;
  std::size_t size = 0;
  // Piece by piece, as a pipe has no size to ask for.
  while (size == bytes.size()) {
    constexpr std::size_t kLeast = std::size_t{1} << 16;
    bytes.resize(std::max(kLeast, size * 2));
    size += std::fread(bytes.data() + size, 1, bytes.size() - size, file.get());
  }
  if (std::ferror(file.get()) != 0) {
    return data_loss(fmt::format("{}: the file cannot be read: {}; check what it is", where, reason_of(errno)));
  }
  bytes.resize(size);
  return bytes;
}

Status write_file(const std::string& where, const std::string& path,
                  std::span<const std::span<const std::byte>> parts) {
  const int failed = write_or_replace(path, parts);
  if (failed == 0) return {};
  return unavailable(
      fmt::format("{}: the file cannot be written: {}; check the path and the space", where, reason_of(failed)));
}

Status write_file(const std::string& where, const std::string& path, std::string_view text) {
  return write_file(where, path, std::array{std::as_bytes(std::span<const char>(text))});
}

Status write_standard_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return unavailable(fmt::format("standard output: cannot be written: {}; check where it leads", reason_of(errno)));
}

}  // namespace millrace
