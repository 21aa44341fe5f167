// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/cache/directory.h"
#include "millrace/hal/executable.h"
#include "millrace/jit/kernel_cache.h"

namespace millrace {

/// The result of searching the directories of a cache for one entry.
struct FoundEntry {
  std::shared_ptr<const ExecutableImage> image = {};  // null if there is no usable file
  /// One text for the directory, then one for each layer that was searched. The text says why the file there was not
  /// used (CacheFile::refusal, or how the file is damaged). It is empty if the file was used or does not exist.
  std::vector<std::string> refusals = {};

  bool is_rejected() const;
};

/// The directory and the read-only layers of a KernelCache. Thread-safe.
class KernelCacheDirectories {
 public:
  explicit KernelCacheDirectories(const KernelCache::Options&);

  bool has_directory() const { return !directory_.path().empty(); }
  /// Loads from the directory or the layers, in this order. If the directory has a file that cannot be used, replaces
  /// it with the file of a layer.
  Result<FoundEntry> load(const std::string& key) const;
  /// See KernelCacheDirectory::write.
  [[nodiscard]] Status write(const std::string& key, std::span<const std::byte> content) const;
  /// For a message about an entry that was not found: "searched /a (does not exist), /b (refused: the file KEY there
  /// can be written by everybody (mode 0666))".
  std::string searched_text(const std::string& key, const FoundEntry&) const;

 private:
  KernelCacheDirectory directory_;
  std::list<KernelCacheDirectory> layers_;  // read-only
};

}  // namespace millrace
