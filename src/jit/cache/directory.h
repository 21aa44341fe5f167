// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

/// The maximum size of a cache file, more than any kernel needs. A larger file is treated as damaged and not read.
inline constexpr std::uint64_t kMaxCacheFileBytes = std::uint64_t{64} << 20;

/// The result of reading a cache file.
struct CacheFile {
  /// Why the file must not be used, such as "can be written by everybody (mode 0666)": another user could have written
  /// it, it is not a readable regular file, it is too long, or it changed while it was read. Empty if the file may be
  /// used or does not exist.
  std::string refusal = {};
  std::optional<std::vector<std::byte>> content = {};
};

/// Whether this is the file name of a cache entry: 32 lowercase hexadecimal digits.
bool is_cache_key(std::string_view name);

/// Removes temporary files that were last written over an hour ago, entries above kMaxCacheFileBytes, and then the
/// least recently used entries until the rest fit in `max_bytes` (0: no limit). Touches no other files. Several
/// processes may trim a directory at once.
void trim_cache_directory(const std::string& path, std::uint64_t max_bytes);

/// The files of a KernelCache, one per key, shared by processes. Each is written whole or not at all.
class KernelCacheDirectory {
 public:
  /// With an empty path, read() finds nothing and write() does nothing. `max_bytes` is as in KernelCache::Options.
  KernelCacheDirectory(std::string path, std::uint64_t max_bytes) : path_(std::move(path)), max_bytes_(max_bytes) {}

  CacheFile read(const std::string& key) const;
  /// Returns CacheFile::refusal without reading the content.
  std::string find_refusal(const std::string& key) const;
  /// Sets the file's modification time to now, unless it is within the last day. Trimming treats this time as the time
  /// of last use. read() does not change it.
  void note_use(const std::string& key) const;
  /// Replaces the file, or says why that is impossible. Trims the directory after the first write, so that short-lived
  /// processes trim too. Trims again each time that another `max_bytes` / 64 bytes (at most 16 MiB) have been written.
  [[nodiscard]] Status write(const std::string& key, std::span<const std::byte> content) const;

  const std::string& path() const { return path_; }

 private:
  std::string file_of(const std::string& key) const { return path_ + "/" + key; }
  int replace(const std::string& key, std::span<const std::byte> content) const;

  /// Counts `size_bytes` as written, and returns whether to trim now.
  bool note_written(std::uint64_t size_bytes) const;

  std::string path_;
  std::uint64_t max_bytes_;
  mutable std::atomic<std::uint64_t> written_bytes_ = 0;
};

}  // namespace millrace
