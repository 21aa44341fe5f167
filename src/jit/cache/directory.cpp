// SPDX-License-Identifier: Apache-2.0
#include "jit/cache/directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/replace_file.h"

namespace millrace {
namespace {

constexpr std::time_t kHour = 3600, kDay = 24 * kHour;
constexpr std::size_t kKeyDigits = 32;

/// Fills `content`, and returns whether the file has exactly this length.
bool read_whole(int descriptor, std::span<std::byte> content) {
  std::size_t size = 0;
  while (true) {
    // Reading one byte too many shows whether the file has grown.
    std::byte beyond{};
    const bool is_full = size == content.size();
    const ssize_t count =
        is_full ? pread(descriptor, &beyond, 1, static_cast<off_t>(size))
                : pread(descriptor, content.data() + size, content.size() - size, static_cast<off_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return is_full && count == 0;
    if (is_full) return false;
    size += static_cast<std::size_t>(count);
  }
}

bool only_we_can_write(const struct stat& info) {
  const bool is_ours = info.st_uid == geteuid() || info.st_uid == 0;
  return S_ISREG(info.st_mode) && is_ours && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Users who may list the directory and access its files may read them.
mode_t mode_of_entries(mode_t directory) {
  mode_t mode = S_IRUSR | S_IWUSR;
  if ((directory & S_IRGRP) != 0 && (directory & S_IXGRP) != 0) mode |= S_IRGRP;
  if ((directory & S_IROTH) != 0 && (directory & S_IXOTH) != 0) mode |= S_IROTH;
  return mode;
}

/// Creates missing directories for this user only, as the XDG specification asks.
void make_directories(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_directory(path, ignored)) return;
  make_directories(std::filesystem::path(path).parent_path().string());
  mkdir(path.c_str(), S_IRWXU);
}

struct Entry {
  std::string name;
  std::uint64_t size_bytes = 0;
  timespec used{};
};

/// Removes leftovers and returns the remaining entries.
std::vector<Entry> remove_leftovers(DIR* directory) {
  std::vector<Entry> entries;
  const std::time_t now = std::time(nullptr);
  while (const dirent* found = readdir(directory)) {
    const std::string_view name = found->d_name;
    const bool is_temporary = is_replacement_name(name);
    if (!is_temporary && !is_cache_key(name)) continue;
    struct stat info{};
    if (fstatat(dirfd(directory), found->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (is_temporary ? now - info.st_mtim.tv_sec > kHour : size > kMaxCacheFileBytes) {
      unlinkat(dirfd(directory), found->d_name, 0);
    } else if (!is_temporary) {
      entries.push_back({std::string(name), size, info.st_mtim});
    }
  }
  return entries;
}

bool is_older(const Entry& a, const Entry& b) {
  return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
}

}  // namespace

bool is_cache_key(std::string_view name) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == kKeyDigits && std::ranges::all_of(name, is_digit);
}

void trim_cache_directory(const std::string& path, std::uint64_t max_bytes) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (directory == nullptr) return;
  std::vector<Entry> entries = remove_leftovers(directory.get());
  std::uint64_t total = 0;
  for (const Entry& entry : entries) total += entry.size_bytes;
  if (max_bytes == 0 || total <= max_bytes) return;
  std::ranges::sort(entries, is_older);
  // A reader that has a file open keeps it; a later reader compiles the kernel again.
  for (const Entry& entry : entries) {
    if (total <= max_bytes) break;
    unlinkat(dirfd(directory.get()), entry.name.c_str(), 0);
    total -= entry.size_bytes;
  }
}

CacheFile KernelCacheDirectory::read(const std::string& key) const {
  if (path_.empty()) return {};
  // Does not follow a link, or wait for the other end of a pipe.
  const Descriptor file(open(file_of(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return {.is_rejected = errno != ENOENT && errno != ENOTDIR};
  struct stat info{};
  if (fstat(file.number(), &info) != 0 || !only_we_can_write(info)) return {.is_rejected = true};
  if (static_cast<std::uint64_t>(info.st_size) > kMaxCacheFileBytes) return {.is_rejected = true};
  // Reads instead of mapping: if somebody truncates a mapped file, the process crashes.
  std::vector<std::byte> content(static_cast<std::size_t>(info.st_size));
  if (!read_whole(file.number(), content)) return {.is_rejected = true};
  return {.content = std::move(content)};
}

void KernelCacheDirectory::note_use(const std::string& key) const {
  struct stat info{};
  if (path_.empty() || lstat(file_of(key).c_str(), &info) != 0) return;
  if (std::time(nullptr) - info.st_mtim.tv_sec < kDay) return;
  utimensat(AT_FDCWD, file_of(key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

bool KernelCacheDirectory::replace(const std::string& key, std::span<const std::byte> content) const {
  struct stat directory{};
  if (stat(path_.c_str(), &directory) != 0) return false;
  const std::array<std::span<const std::byte>, 1> parts{content};
  return replace_file(file_of(key), parts, {.mode = mode_of_entries(directory.st_mode)}) == 0;
}

/// Counts `size_bytes` as written and returns whether to trim now. Trimming scans the whole directory.
bool KernelCacheDirectory::is_to_trim(std::uint64_t size_bytes) const {
  constexpr std::uint64_t kLargestStep = std::uint64_t{16} << 20;
  const std::uint64_t step =
      max_bytes_ == 0 ? kLargestStep : std::clamp<std::uint64_t>(max_bytes_ / 64, 1, kLargestStep);
  const std::uint64_t before = written_bytes_.fetch_add(size_bytes);
  return before == 0 || before / step != (before + size_bytes) / step;
}

void KernelCacheDirectory::write(const std::string& key, std::span<const std::byte> content) const {
  if (path_.empty() || content.size() > kMaxCacheFileBytes) return;
  make_directories(path_);
  if (replace(key, content) && is_to_trim(content.size())) trim_cache_directory(path_, max_bytes_);
}

}  // namespace millrace
