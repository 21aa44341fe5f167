// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

// The contents of a KernelCache directory, for tools.

/// A file of the directory. If no cache of this build would use it, `problem` says why, and the name, target and
/// generator are empty.
struct CachedKernel {
  std::string key = {};  // the file's name
  std::uint64_t size_bytes = 0;
  std::time_t used = 0;                                // the time of the last use, with a resolution of one day
  std::string name = {}, target = {}, generator = {};  // of the kernel; for a GPU program, of its first kernel
  std::string problem = {};
};

/// The kernels, most recently used first. A directory that does not exist has no kernels. Fails if it cannot be listed.
Result<std::vector<CachedKernel>> list_cached_kernels(const std::string& directory);

/// Why kernels of the directory are not used: "does not exist", "cannot be listed: Permission denied", or "2 of 5 files
/// refused, such as KEY can be written by everybody (mode 0666)". Empty if all may be used. Does not read the files, so
/// it does not notice damaged ones.
std::string find_cache_refusal(const std::string& directory);

/// Removes the least recently used kernels beyond `max_bytes`, and leftovers of killed writers.
void prune_cached_kernels(const std::string& directory, std::uint64_t max_bytes);

}  // namespace millrace
