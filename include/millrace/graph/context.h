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

/// What there is to compile with and run on, listed explicitly: nothing registers itself. Shareable between threads
/// once built. Whoever makes one includes the headers of what it holds.
struct Context {
  std::vector<Driver> drivers;
  std::vector<std::shared_ptr<const KernelCompiler>> generators;  // in the order in which they are asked
  std::shared_ptr<KernelCache> cache;                             // null: every kernel is compiled anew

  /// What code is made for: "cpu", "cpu:avx2", "amdgpu:gfx1100", "sim:gfx1100" (see TargetSpec). A target needs no
  /// device: code can be made here and run elsewhere. Fails naming what was asked, and the generators that there are.
  Result<Target> target(std::string_view spec) const;
  /// What runs it: "cpu", "cpu:avx2", "sim:gfx1100,seed=3" (see DeviceSpec), "trace(cpu)", which writes each command to
  /// the standard error. Fails naming what was asked, and the devices that there are.
  Result<std::shared_ptr<Device>> device(std::string_view spec) const;
};

struct ContextOptions {
  /// Empty: kernels are cached in memory only. Default: default_cache_directory().
  std::string cache_directory = default_cache_directory();
  /// See KernelCache::Options.
  std::vector<std::string> read_only_cache_directories = default_read_only_cache_directories();
  std::uint64_t max_cache_bytes = kDefaultMaxCacheBytes;
  LlvmOptions llvm = {};
};

/// The cpu and sim drivers; xbyak, LLVM and the interpreter.
std::shared_ptr<const Context> make_default_context(const ContextOptions& = {});

}  // namespace millrace
