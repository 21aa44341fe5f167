// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace {

/// More than any kernel has. A longer file is damaged and is not read.
inline constexpr std::uint64_t kMaxCacheFileBytes = std::uint64_t{64} << 20;

/// A file of a cache, as it was found.
struct CacheFile {
  /// There is a file, but no code from it may run: another user could have written it, it is no regular file or none
  /// that can be read, or it is too long, or changed while it was read.
  bool is_rejected = false;
  std::optional<std::vector<std::byte>> content = {};
};

/// Cleans a directory of a cache. It removes temporaries that their writers left more than an hour ago,
/// entries that are too long, and, when the others are more than `max_bytes` (0: no limit), those that were
/// used longest ago. Nothing else in the directory is touched. Any number of processes may do so at once.
void trim_cache_directory(const std::string& path, std::uint64_t max_bytes);

/// The files of a KernelCache: one per key, written whole or not at all, shared by processes.
class KernelCacheDirectory {
 public:
  /// Empty: nothing is found and nothing is kept. `max_bytes` as KernelCache::Options has it.
  KernelCacheDirectory(std::string path, std::uint64_t max_bytes) : path_(std::move(path)), max_bytes_(max_bytes) {}

  CacheFile read(const std::string& key) const;
  /// Remembers that the file is in use, if that was last done more than a day ago: read() alone leaves no trace.
  void note_use(const std::string& key) const;
  /// Replaces the file, if it can. With the first file, and then whenever another 64th of `max_bytes` (16 MiB at most)
  /// is written, it trims the directory: so one-off processes do it as well as long ones.
  void write(const std::string& key, std::span<const std::byte> content) const;

 private:
  std::string file_of(const std::string& key) const { return path_ + "/" + key; }
  bool replace(const std::string& key, std::span<const std::byte> content) const;

  bool is_to_trim(std::uint64_t size_bytes) const;

  std::string path_;
  std::uint64_t max_bytes_;
  mutable std::atomic<std::uint64_t> written_bytes_ = 0;
};

}  // namespace millrace
