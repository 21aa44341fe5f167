// SPDX-License-Identifier: Apache-2.0
// The directory of a kernel cache. Reads files only if no other user can have written them, replaces them atomically,
// and removes the least recently used ones.
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

#include <fmt/format.h>

#include "base/descriptor.h"
#include "base/replace_file.h"
#include "millrace/base/printable.h"

namespace millrace {
namespace {

constexpr std::time_t kHour = 3600, kDay = 24 * kHour;
constexpr std::size_t kKeyDigits = 32;

/// Fills `content`, and returns whether the file has exactly this length.
bool read_whole(int descriptor, std::span<std::byte> content) {
  std::size_t size = 0;
  while (true) {
    // Reading one more byte than expected shows whether the file has grown.
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

/// Opens the file. Does not follow a symbolic link, and does not wait for the other end of a pipe. Returns -1 and sets
/// errno on failure.
int open_entry(const std::string& path) { return open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); }

/// Whether this errno of open_entry means that the entry does not exist.
bool is_absence(int error) { return error == ENOENT || error == ENOTDIR; }

std::string open_refusal(int error) {
  return error == ELOOP ? "is a symbolic link"
                        : fmt::format("cannot be opened: {}", std::generic_category().message(error));
}

/// Returns a CacheFile::refusal; empty if only this user and root can have written the open file.
std::string writer_refusal(const struct stat& info) {
  if (S_ISDIR(info.st_mode)) return "is a directory";
  if (!S_ISREG(info.st_mode)) return "is not a regular file";
  if (info.st_uid != geteuid() && info.st_uid != 0) return fmt::format("belongs to user {}", info.st_uid);
  const auto mode = static_cast<unsigned>(info.st_mode & 07777);
  if ((info.st_mode & S_IWOTH) != 0) return fmt::format("can be written by everybody (mode {:04o})", mode);
  if ((info.st_mode & S_IWGRP) != 0) return fmt::format("can be written by group {} (mode {:04o})", info.st_gid, mode);
  return {};
}

/// Returns a CacheFile::refusal, and fills `info`.
std::string refusal_of(const Descriptor& file, struct stat& info) {
  if (fstat(file.number(), &info) != 0) return open_refusal(errno);
  std::string refusal = writer_refusal(info);
  if (refusal.empty() && static_cast<std::uint64_t>(info.st_size) > kMaxCacheFileBytes) {
    refusal = fmt::format("has {} bytes, expected at most {}", info.st_size, kMaxCacheFileBytes);
  }
  return refusal;
}

/// The mode of new entries: readable by the users who may both list and enter the directory.
mode_t mode_of_entries(mode_t directory) {
  mode_t mode = S_IRUSR | S_IWUSR;
  if ((directory & S_IRGRP) != 0 && (directory & S_IXGRP) != 0) mode |= S_IRGRP;
  if ((directory & S_IROTH) != 0 && (directory & S_IXOTH) != 0) mode |= S_IROTH;
  return mode;
}

/// Creates missing directories for this user only, as the XDG specification requires. Returns 0 or an errno.
int make_directories(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_directory(path, ignored)) return 0;
  if (const int error = make_directories(std::filesystem::path(path).parent_path().string())) return error;
  return mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST ? 0 : errno;
}

struct Entry {
  std::string name;
  std::uint64_t size_bytes = 0;
  timespec used{};
};

/// Removes old temporary files, and entries that are too long. Returns the remaining entries.
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
  const Descriptor file(open_entry(file_of(key)));
  if (!file.is_open()) return is_absence(errno) ? CacheFile() : CacheFile{.refusal = open_refusal(errno)};
  struct stat info{};
  if (std::string refusal = refusal_of(file, info); !refusal.empty()) return {.refusal = std::move(refusal)};
  // Reads instead of mapping: if somebody truncates a mapped file, the process crashes.
  std::vector<std::byte> content(static_cast<std::size_t>(info.st_size));
  if (!read_whole(file.number(), content)) return {.refusal = "has changed while it was read"};
  return {.content = std::move(content)};
}

std::string KernelCacheDirectory::find_refusal(const std::string& key) const {
  const Descriptor file(open_entry(file_of(key)));
  if (!file.is_open()) return is_absence(errno) ? "" : open_refusal(errno);
  struct stat info{};
  return refusal_of(file, info);
}

void KernelCacheDirectory::note_use(const std::string& key) const {
  struct stat info{};
  if (path_.empty() || lstat(file_of(key).c_str(), &info) != 0) return;
  if (std::time(nullptr) - info.st_mtim.tv_sec < kDay) return;
  utimensat(AT_FDCWD, file_of(key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

/// Returns 0 or an errno.
int KernelCacheDirectory::replace(const std::string& key, std::span<const std::byte> content) const {
  struct stat directory{};
  if (stat(path_.c_str(), &directory) != 0) return errno;
  const std::array<std::span<const std::byte>, 1> parts{content};
  return replace_file(file_of(key), parts, {.mode = mode_of_entries(directory.st_mode)});
}

// Trimming scans the whole directory, so it waits for several writes.
bool KernelCacheDirectory::note_written(std::uint64_t size_bytes) const {
  constexpr std::uint64_t kLargestStep = std::uint64_t{16} << 20;
  const std::uint64_t step =
      max_bytes_ == 0 ? kLargestStep : std::clamp<std::uint64_t>(max_bytes_ / 64, 1, kLargestStep);
  const std::uint64_t before = written_bytes_.fetch_add(size_bytes);
  return before == 0 || before / step != (before + size_bytes) / step;
}

Status KernelCacheDirectory::write(const std::string& key, std::span<const std::byte> content) const {
  if (path_.empty()) return {};
  const auto refuse = [&](const std::string& why) {
    return failed_precondition(
        fmt::format("kernel cache '{}': entry {} cannot be written: {}", printable(path_), key, why));
  };
  if (content.size() > kMaxCacheFileBytes) {
    return refuse(fmt::format("it has {} bytes, expected at most {}", content.size(), kMaxCacheFileBytes));
  }
  int error = make_directories(path_);
  if (error == 0) error = replace(key, content);
  if (error == EISDIR) return refuse("a directory has its name; remove the directory");
  if (error != 0) return refuse(std::generic_category().message(error));
  if (note_written(content.size())) trim_cache_directory(path_, max_bytes_);
  return {};
}

}  // namespace millrace
