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

/// The maximum size of a file, which is more than any kernel needs. A longer file is damaged and is not read.
inline constexpr std::uint64_t kMaxCacheFileBytes = std::uint64_t{64} << 20;

/// The result of reading a cache file.
struct CacheFile {
  /// Why the code in the file must not run: "can be written by everybody (mode 0666)". The file could have been written
  /// by another user, is not a readable regular file, is too long, or changed while it was read. Empty if the file may
  /// be used or does not exist.
  std::string refusal = {};
  std::optional<std::vector<std::byte>> content = {};
};

/// Whether a file with this name is an entry.
bool is_cache_key(std::string_view name);

/// Cleans a cache directory. Removes temporaries whose writers left them more than an hour ago, entries that are too
/// long, and, if the others exceed `max_bytes` (0: no limit), the least recently used ones. Touches nothing else in the
/// directory. Any number of processes may do this at once.
void trim_cache_directory(const std::string& path, std::uint64_t max_bytes);

/// The files of a KernelCache, one per key, shared by processes. Each is written whole or not at all.
class KernelCacheDirectory {
 public:
  /// With an empty path, finds and keeps nothing. `max_bytes` is as in KernelCache::Options.
  KernelCacheDirectory(std::string path, std::uint64_t max_bytes) : path_(std::move(path)), max_bytes_(max_bytes) {}

  CacheFile read(const std::string& key) const;
  /// CacheFile::refusal, without reading the file.
  std::string find_refusal(const std::string& key) const;
  /// Marks the file as used, unless that was done within the last day. read() alone leaves no trace.
  void note_use(const std::string& key) const;
  /// Replaces the file, or says why that is impossible. Trims the directory after the first write, and after each
  /// further 64th of `max_bytes` written (at most 16 MiB), so that short-lived processes trim too.
  [[nodiscard]] Status write(const std::string& key, std::span<const std::byte> content) const;

  const std::string& path() const { return path_; }

 private:
  std::string file_of(const std::string& key) const { return path_ + "/" + key; }
  int replace(const std::string& key, std::span<const std::byte> content) const;

  bool is_to_trim(std::uint64_t size_bytes) const;

  std::string path_;
  std::uint64_t max_bytes_;
  mutable std::atomic<std::uint64_t> written_bytes_ = 0;
};

}  // namespace millrace
