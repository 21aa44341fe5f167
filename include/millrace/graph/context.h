// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/hal/device.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// What there is to compile with and run on, listed explicitly: nothing registers itself. Shareable between threads
/// once built.
struct Context {
  std::vector<Driver> drivers;
  std::vector<std::shared_ptr<const KernelCompiler>> generators;  // in the order in which they are asked
  std::shared_ptr<KernelCache> cache;                             // null: every kernel is compiled anew

  /// "cpu", "cpu:avx2", "amdgpu:gfx1100", "sim:gfx1100". A target needs no device: code can be made here and run
  /// elsewhere. Both fail naming what was asked, and the devices and generators that there are.
  Result<Target> target(std::string_view spec) const;
  Result<std::shared_ptr<Device>> device(std::string_view spec) const;
};

struct ContextOptions {
  /// Empty: kernels are cached in memory only. Default: KernelCache::default_directory().
  std::string cache_directory = KernelCache::default_directory();
  /// See KernelCache::Options.
  std::vector<std::string> read_only_cache_directories = KernelCache::default_read_only_directories();
  std::uint64_t max_cache_bytes = KernelCache::kDefaultMaxBytes;
  LlvmOptions llvm = {};
};

/// The cpu and sim drivers; xbyak, LLVM and the interpreter.
std::shared_ptr<const Context> make_default_context(const ContextOptions& = {});

}  // namespace millrace
