// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// "No such file or directory".
std::string reason_of(int error) { return std::generic_category().message(error); }

/// 0, or the number of what failed.
int write_parts(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return errno;
  int error = 0;
  for (const auto& part : parts) {
    if (error == 0 && std::fwrite(part.data(), 1, part.size(), file) != part.size()) error = errno;
  }
  if (std::fclose(file) != 0 && error == 0) error = errno;
  return error;
}

/// 0, or the number of what failed.
int replace_file(const std::string& path, const fs::file_status& old,
                 std::span<const std::span<const std::byte>> parts) {
  static std::atomic<unsigned> counter = 0;
  // A short name, as a long one of the path's may not grow.
  const std::string temporary =
      fs::path(path)
          .replace_filename(fmt::format(".{:x}.{}.{}.tmp", std::hash<std::string>()(path), getpid(), counter++))
          .string();
  std::error_code error;
  int failed = write_parts(temporary, parts);
  if (failed == EACCES) return write_parts(path, parts);  // of the directory: the file may be written all the same
  if (failed == 0 && fs::exists(old)) fs::permissions(temporary, old.permissions(), error);
  if (failed == 0) {
    fs::rename(temporary, path, error);
    failed = error.value();
  }
  if (failed != 0) fs::remove(temporary, error);
  return failed;
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
  std::error_code error;
  const fs::file_status old = fs::symlink_status(path, error);
  const bool is_replaced = old.type() == fs::file_type::regular || old.type() == fs::file_type::not_found;
  // What is written as it comes: a pipe, a device, or a link to either or to a file.
  const int failed = is_replaced ? replace_file(path, old, parts) : write_parts(path, parts);
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
