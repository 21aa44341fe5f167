// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "millrace/hal/executable.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Where compiled kernels are kept. Keyed by a 128-bit XXH3 of the planned kernel's text (facts, strides, alignment,
/// used results), target, generator, its version (LLVM's too) and our own build. Thread-safe.
class KernelCache {
 public:
  struct Options {
    /// Empty: memory only. Files are written to a temporary name and renamed, so a reader never sees a part.
    std::string directory = {};
    std::size_t max_memory_entries = 4096;
  };
  /// "$XDG_CACHE_HOME/millrace" or "~/.cache/millrace"; empty when neither is set.
  static std::string default_directory();

  explicit KernelCache(Options options);
  ~KernelCache();

  struct Stats {
    std::uint64_t memory_hits = 0, disk_hits = 0, misses = 0, rejected = 0;  // rejected: damaged or foreign files
  };
  /// From memory, from disk, or compiled by `compiler` and kept. A damaged or foreign file is compiled anew and
  /// replaced, never trusted. A cache that cannot be written is no error.
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
