// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

// Where kernels are cached by default; see KernelCache::Options.

inline constexpr std::uint64_t kDefaultMaxCacheBytes = std::uint64_t{1} << 30;
/// "$XDG_CACHE_HOME/millrace" or "~/.cache/millrace"; empty if neither variable is set.
std::string default_cache_directory();
/// The absolute paths in the colon-separated "$MILLRACE_CACHE_LAYERS"; empty if it is not set.
std::vector<std::string> default_read_only_cache_directories();
/// The relative paths in "$MILLRACE_CACHE_LAYERS". They are ignored, because their meaning depends on the working
/// directory.
std::vector<std::string> ignored_cache_layers();

}  // namespace millrace
