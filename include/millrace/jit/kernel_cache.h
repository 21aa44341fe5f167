// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "millrace/hal/executable.h"
#include "millrace/jit/cache_defaults.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Where compiled kernels are kept. Keyed by a 128-bit XXH3 of the planned kernel's text (facts, strides, alignment,
/// used results), target, generator, its version (LLVM's too) and our own build. Thread-safe.
class KernelCache {
 public:
  struct Options {
    /// Where compiled kernels are kept; empty: in memory only. Each is a file that is written under a temporary name
    /// and renamed, so a reader never sees a part. A file may be read by those who may list the directory: mode 0644 in
    /// one of 0755, as a system's is, 0600 in one of 0700, as the cache makes it when it is not there.
    std::string directory = {};
    /// Searched in this order for what `directory` lacks, and never written: a system's kernels, say.
    std::vector<std::string> read_only_directories = {};
    /// Limits the files in `directory`; 0: no limit. Writers remove those that were used longest ago, to the day, and
    /// what killed writers left. They count once in a while, so that there may at times be a few percent more.
    std::uint64_t max_bytes = kDefaultMaxCacheBytes;
    std::size_t max_memory_entries = 4096;
  };
  explicit KernelCache(Options options);
  ~KernelCache();

  struct Stats {
    std::uint64_t memory_hits = 0, disk_hits = 0, misses = 0, rejected = 0;  // rejected: damaged or foreign files
  };
  /// From memory, from disk, or compiled by `compiler` and kept. A damaged file, and one that another user than this
  /// one or root owns or can write, is compiled anew and replaced, never trusted. A cache that cannot be written is no
  /// error.
  Result<std::shared_ptr<const ExecutableImage>> get(const PlannedKernel&, const TargetSpec&,
                                                     const KernelCompiler& compiler);
  Stats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The file format: magic, version, key, info, code, checksum. decode fails on any damage.
std::vector<std::byte> encode_image(const ExecutableImage&, const std::string& key);
Result<ExecutableImage> decode_image(std::span<const std::byte> file, const std::string& key);

}  // namespace millrace
