// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "millrace/hal/executable.h"
#include "millrace/jit/cache_defaults.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Keeps compiled kernels. The key is a 128-bit XXH3 of the planned kernel's text (facts, strides, alignment, used
/// results), the target, the generator and its version (which includes LLVM's) and our own build. Thread-safe.
class KernelCache {
 public:
  struct Options {
    /// The directory that stores compiled kernels; if empty, they are kept only in memory. Each file is written under a
    /// temporary name and renamed, so readers never see a partial file. Users who may list the directory may read its
    /// files: files get mode 0644 in a directory of mode 0755 (such as a system-wide one), and 0600 in a directory of
    /// mode 0700. The cache creates a missing directory with mode 0700.
    std::string directory = {};
    /// Searched in this order for kernels missing from `directory`, and never written; for example system-wide kernels.
    std::vector<std::string> read_only_directories = {};
    /// Limits the size of the files in `directory`; 0 for no limit. Writers remove the least recently used files (with
    /// a resolution of one day) and leftovers of killed writers. They check the size only occasionally, so the
    /// directory may exceed the limit by a few percent.
    std::uint64_t max_bytes = kDefaultMaxCacheBytes;
    std::size_t max_memory_entries = 4096;
    /// Whether get() fails if it cannot store a compiled kernel in `directory`; for tools that fill a cache. If false,
    /// a cache that cannot be written is not an error.
    bool requires_writes = false;
  };
  explicit KernelCache(Options options);
  ~KernelCache();

  struct Stats {
    std::uint64_t memory_hits = 0, disk_hits = 0, misses = 0;
    std::uint64_t rejected = 0;  // damaged or untrusted files
    std::uint64_t written = 0;   // files written to the directory
  };
  /// Returns the kernel from memory or disk, or compiles it with `compiler` and stores it. If the disk has no code with
  /// the target's tune, generic code from there serves, unless requires_writes is set. A file is recompiled and
  /// replaced, never trusted, if it is damaged, or if anyone other than this user or root owns it or can write it. If
  /// the compiler is not available, the error names the kernel, its target, the directories that were searched, and why
  /// files there were refused.
  Result<std::shared_ptr<const ExecutableImage>> get(const PlannedKernel&, const TargetSpec&,
                                                     const KernelCompiler& compiler);
  /// The code object of a GPU program: these kernels, linked in this order. Calls `link` if the object is not cached. A
  /// warm start needs neither the kernels' images nor LLVM.
  Result<SharedBytes> get_code_object(std::span<const PlannedKernel> kernels, const Target& target,
                                      const std::function<Result<std::vector<std::byte>>()>& link);
  Stats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The file format: magic, version, key, info, code, checksum. decode_image fails on any damage.
std::vector<std::byte> encode_image(const ExecutableImage&, const std::string& key);
Result<ExecutableImage> decode_image(std::span<const std::byte> file, const std::string& key);

}  // namespace millrace
