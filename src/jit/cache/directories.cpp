// SPDX-License-Identifier: Apache-2.0
// Searches the directory of a cache and its read-only layers for an entry. For messages, lists where it searched.
#include "jit/cache/directories.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sys/stat.h>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "millrace/base/printable.h"

namespace millrace {
namespace {

/// Reads and decodes a file. Records in `found` the image, or the reason why the file cannot be used. Fails only if
/// memory runs out; the file may be intact then.
Result<CacheFile> read_entry(const KernelCacheDirectory& from, const std::string& key, FoundEntry& found) {
  CacheFile file = from.read(key);
  std::string refusal = file.refusal;
  if (file.content) {
    Result<ExecutableImage> image = decode_image(*file.content, key);
    if (image.ok()) {
      found.image = std::make_shared<const ExecutableImage>(*std::move(image));
    } else if (image.status().code() == StatusCode::kDataLoss) {
      refusal = "is damaged: " + image.status().message();
    } else {
      return image.status();
    }
  }
  found.refusals.push_back(std::move(refusal));
  return file;
}

/// " (does not exist)", or nothing for a directory.
std::string state_text(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? " (does not exist)" : fmt::format(" ({})", std::generic_category().message(errno));
  }
  return S_ISDIR(info.st_mode) ? "" : " (is not a directory)";
}

}  // namespace

bool FoundEntry::is_rejected() const {
  return std::ranges::any_of(refusals, [](const std::string& refusal) { return !refusal.empty(); });
}

KernelCacheDirectories::KernelCacheDirectories(const KernelCache::Options& options)
    : directory_(options.directory, options.max_bytes) {
  for (const std::string& path : options.read_only_directories) layers_.emplace_back(path, 0);
}

Result<FoundEntry> KernelCacheDirectories::load(const std::string& key) const {
  FoundEntry found;
  MILLRACE_TRY_ASSIGN(CacheFile file, read_entry(directory_, key, found));
  if (found.image != nullptr) directory_.note_use(key);
  for (auto layer = layers_.begin(); found.image == nullptr && layer != layers_.end(); ++layer) {
    MILLRACE_TRY_ASSIGN(file, read_entry(*layer, key, found));
    // Replaces the rejected file, which would otherwise be rejected each time. It is not an error if the directory
    // cannot be written.
    if (found.image != nullptr && found.is_rejected()) (void)directory_.write(key, *file.content);
  }
  return found;
}

Status KernelCacheDirectories::write(const std::string& key, std::span<const std::byte> content) const {
  return directory_.write(key, content);
}

std::string KernelCacheDirectories::searched_text(const std::string& key, const FoundEntry& found) const {
  std::vector<std::string> searched;
  const auto add = [&](const KernelCacheDirectory& directory, const std::string& refusal) {
    if (directory.path().empty()) return;
    const std::string path = printable(directory.path());
    searched.push_back(refusal.empty() ? path + state_text(directory.path())
                                       : fmt::format("{} (refused: the file {} there {})", path, key, refusal));
  };
  std::size_t number = 0;
  add(directory_, found.refusals[number++]);
  for (const KernelCacheDirectory& layer : layers_) add(layer, found.refusals[number++]);
  return searched.empty() ? "this context has no cache directory"
                          : fmt::format("searched {}", fmt::join(searched, ", "));
}

}  // namespace millrace
