// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace {

/// The files of a KernelCache: one per key, written whole or not at all, shared by processes.
class KernelCacheDirectory {
 public:
  /// Empty: nothing is found and nothing is kept.
  explicit KernelCacheDirectory(std::string path) : path_(std::move(path)) {}

  /// The file's content; nothing when there is none. `is_foreign` is set when there is a file that another user could
  /// have written: code from it must not run.
  std::optional<std::vector<std::byte>> read(const std::string& key, bool& is_foreign) const;
  /// Replaces the file, if it can.
  void write(const std::string& key, std::span<const std::byte> content) const;

 private:
  std::string path_;
};

}  // namespace millrace
