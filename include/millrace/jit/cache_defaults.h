// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

// Where kernels are kept when nothing is said; see KernelCache::Options.

inline constexpr std::uint64_t kDefaultMaxCacheBytes = std::uint64_t{1} << 30;
/// "$XDG_CACHE_HOME/millrace" or "~/.cache/millrace"; empty when neither is set.
std::string default_cache_directory();
/// The absolute paths of "$MILLRACE_CACHE_LAYERS", which colons separate; none when it is not set.
std::vector<std::string> default_read_only_cache_directories();

}  // namespace millrace
