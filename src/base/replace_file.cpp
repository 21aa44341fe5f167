// SPDX-License-Identifier: Apache-2.0
// Replaces a file through a temporary one, so that readers never see half of it. write_file and the kernel cache use
// it.
#include "base/replace_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/descriptor.h"

namespace millrace {
namespace {

constexpr std::string_view kPrefix = ".millrace-", kSuffix = ".tmp";
constexpr std::size_t kNumDigits = 32;

/// A temporary file's name with 128 random bits from the system. Empty, with errno set, on failure.
std::string random_name() {
  std::array<std::uint64_t, 2> bits{};
  std::size_t size = 0;
  while (size < sizeof bits) {
    const ssize_t count = getrandom(reinterpret_cast<char*>(bits.data()) + size, sizeof bits - size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {};
    size += static_cast<std::size_t>(count);
  }
  return fmt::format("{}{:016x}{:016x}{}", kPrefix, bits[0], bits[1], kSuffix);
}

int fill(Descriptor& file, std::span<const std::span<const std::byte>> parts, const ReplaceFileOptions& options) {
  for (const auto& part : parts) {
    if (const int error = write_all(file.number(), part)) return error;
  }
  if (options.mode && fchmod(file.number(), *options.mode) != 0) return errno;
  if (options.sync && fsync(file.number()) != 0) return errno;
  return file.close();
}

}  // namespace

int write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return 0;
}

int replace_file(const std::string& path, std::span<const std::span<const std::byte>> parts,
                 const ReplaceFileOptions& options) {
  const std::size_t name_at = path.rfind('/') + 1;  // 0 without a '/'
  // Held open, so that the temporary and the final name are in one directory even if the directory is renamed.
  const Descriptor directory(
      open(name_at == 0 ? "." : path.substr(0, name_at).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return errno;
  const std::string temporary = random_name();
  if (temporary.empty()) return errno;
  // Nobody else may read the file until it has its final permissions.
  const mode_t first_mode = options.mode ? S_IRUSR | S_IWUSR : 0666;
  Descriptor file(
      openat(directory.number(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, first_mode));
  if (!file.is_open()) return errno;
  int error = fill(file, parts, options);
  if (error == 0 && renameat(directory.number(), temporary.c_str(), directory.number(), path.c_str() + name_at) != 0) {
    error = errno;
  }
  if (error != 0) unlinkat(directory.number(), temporary.c_str(), 0);
  return error;
}

bool is_replacement_name(std::string_view name) {
  if (name.size() != kPrefix.size() + kNumDigits + kSuffix.size()) return false;
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
         std::ranges::all_of(name.substr(kPrefix.size(), kNumDigits), is_digit);
}

}  // namespace millrace
