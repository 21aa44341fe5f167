// SPDX-License-Identifier: Apache-2.0
// Lists, checks and prunes the kernels of a cache directory, for tools.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "jit/cache/directory.h"
#include "millrace/base/printable.h"
#include "millrace/jit/cache_directory.h"
#include "millrace/jit/kernel_cache.h"

namespace millrace {
namespace {

CachedKernel describe(const KernelCacheDirectory& files, const std::string& directory, const std::string& key) {
  CachedKernel kernel{.key = key};
  struct stat info{};
  if (lstat((directory + "/" + key).c_str(), &info) == 0) {
    kernel.size_bytes = static_cast<std::uint64_t>(info.st_size);
    kernel.used = info.st_mtim.tv_sec;
  }
  const CacheFile file = files.read(key);
  if (!file.content) {
    kernel.problem = file.refusal;
    return kernel;
  }
  const Result<ExecutableImage> image = unguarded(decode_image(*file.content, key));
  if (!image.ok()) {
    kernel.problem = image.status().message();
    return kernel;
  }
  kernel.name = image->info.name;
  kernel.target = image->target;
  kernel.generator = image->generator;
  return kernel;
}

/// The names of the entries of an existing directory, in no particular order.
Result<std::vector<std::string>> list_keys(const std::string& directory) {
  std::vector<std::string> keys;
  std::error_code error;
  for (auto entries = std::filesystem::directory_iterator(directory, error);
       !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    std::string key = entries->path().filename().string();
    if (is_cache_key(key)) keys.push_back(std::move(key));
  }
  if (error == std::errc::no_such_file_or_directory) return not_found("does not exist");
  if (error) return unavailable(fmt::format("cannot be listed: {}", error.message()));
  return keys;
}

}  // namespace

Result<std::vector<CachedKernel>> list_cached_kernels(const std::string& directory) {
  const auto where = [&] { return fmt::format("kernel cache '{}'", printable(directory)); };
  return guard_allocations(where, [&]() -> Result<std::vector<CachedKernel>> {
    std::vector<CachedKernel> kernels;
    const Result<std::vector<std::string>> keys = list_keys(directory);
    if (keys.status().code() == StatusCode::kNotFound) return kernels;
    if (!keys.ok()) return unavailable(fmt::format("{}: {}; check the path", where(), keys.status().message()));
    const KernelCacheDirectory files(directory, 0);
    for (const std::string& key : *keys) kernels.push_back(describe(files, directory, key));
    std::ranges::sort(kernels, [](const CachedKernel& a, const CachedKernel& b) {
      return a.used != b.used ? a.used > b.used : a.key < b.key;
    });
    return kernels;
  });
}

std::string find_cache_refusal(const std::string& directory) {
  const Result<std::vector<std::string>> keys = list_keys(directory);
  if (!keys.ok()) return keys.status().message();
  const KernelCacheDirectory files(directory, 0);
  std::size_t num_refused = 0;
  std::string first;
  for (const std::string& key : *keys) {
    const std::string refusal = files.find_refusal(key);
    if (refusal.empty()) continue;
    std::string line = key + " " + refusal;
    if (num_refused++ == 0 || line < first) first = std::move(line);
  }
  if (num_refused == 0) return {};
  return fmt::format("{} of {} files refused, such as {}", num_refused, keys->size(), first);
}

void prune_cached_kernels(const std::string& directory, std::uint64_t max_bytes) {
  trim_cache_directory(directory,
                       max_bytes == 0 ? 1 : max_bytes);  // 0 would mean no limit; every entry is larger than 1 byte
}

}  // namespace millrace
