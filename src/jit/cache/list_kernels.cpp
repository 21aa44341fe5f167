// SPDX-License-Identifier: Apache-2.0
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
    kernel.problem = "others could have written it, or it is no readable file";
    return kernel;
  }
  const Result<ExecutableImage> image = decode_image(*file.content, key);
  if (!image.ok()) {
    kernel.problem = image.status().message();
    return kernel;
  }
  kernel.name = image->info.name;
  kernel.target = image->target;
  kernel.generator = image->generator;
  return kernel;
}

}  // namespace

Result<std::vector<CachedKernel>> list_cached_kernels(const std::string& directory) {
  const auto where = [&] { return fmt::format("kernel cache '{}'", printable(directory)); };
  return guard_allocations(where, [&]() -> Result<std::vector<CachedKernel>> {
    std::vector<CachedKernel> kernels;
    std::error_code error;
    auto entries = std::filesystem::directory_iterator(directory, error);
    if (error == std::errc::no_such_file_or_directory) return kernels;
    const KernelCacheDirectory files(directory, 0);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
      const std::string key = entries->path().filename().string();
      if (is_cache_key(key)) kernels.push_back(describe(files, directory, key));
    }
    if (error) {
      return unavailable(fmt::format("{}: cannot be listed: {}; check the path", where(), error.message()));
    }
    std::ranges::sort(kernels, [](const CachedKernel& a, const CachedKernel& b) {
      return a.used != b.used ? a.used > b.used : a.key < b.key;
    });
    return kernels;
  });
}

void prune_cached_kernels(const std::string& directory, std::uint64_t max_bytes) {
  trim_cache_directory(directory, max_bytes == 0 ? 1 : max_bytes);  // there, 0 is no limit; no entry has a byte
}

}  // namespace millrace
