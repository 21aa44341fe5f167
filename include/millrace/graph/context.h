// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/jit/cache_defaults.h"
#include "millrace/jit/options.h"

namespace millrace {

class Device;          // hal/device.h
struct Driver;         // hal/driver.h
class KernelCache;     // jit/kernel_cache.h
class KernelCompiler;  // jit/kernel_compiler.h
class Target;          // jit/target.h

/// The drivers and generators to use, listed explicitly: nothing registers itself. Once built, a Context can be shared
/// between threads. Code that builds one must also include the headers that define its members' types.
struct Context {
  std::vector<Driver> drivers;
  std::vector<std::shared_ptr<const KernelCompiler>> generators;  // tried in this order
  std::shared_ptr<KernelCache> cache;                             // null: every kernel is compiled anew

  /// Parses a TargetSpec, such as "cpu", "cpu:avx2", "amdgpu:gfx1100" or "sim:gfx1100", and finds its generators. A
  /// target needs no device: code can be generated here and run elsewhere. The error names the spec and lists the
  /// generators.
  Result<Target> target(std::string_view spec) const;
  /// Opens the device of a DeviceSpec, such as "cpu", "cpu:avx2", "hip" or "sim:gfx1100,seed=3". "trace(cpu)" opens
  /// "cpu" and writes each command to standard error. The error names the spec and lists the drivers.
  Result<std::shared_ptr<Device>> device(std::string_view spec) const;
};

struct ContextOptions {
  /// If empty, kernels are cached in memory only. Default: default_cache_directory().
  std::string cache_directory = default_cache_directory();
  /// See KernelCache::Options.
  std::vector<std::string> read_only_cache_directories = default_read_only_cache_directories();
  std::uint64_t max_cache_bytes = kDefaultMaxCacheBytes;
  /// Whether it is an error if code cannot be stored in `cache_directory`. Set this in a context whose purpose is to
  /// fill the directory (cache_kernels).
  bool requires_cache_writes = false;
  LlvmOptions llvm = {};
};

/// A context with the drivers cpu, hip and sim (for isa, see isa/driver.h), and the generators xbyak, LLVM and the
/// interpreter.
std::shared_ptr<const Context> make_default_context(const ContextOptions& = {});

}  // namespace millrace
