// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/base/status.h"
#include "millrace/graph/compile.h"

namespace millrace {

/// Counts the files in the cache's directory that the graph's programs need.
struct CachedFiles {
  std::uint64_t written = 0;  // written by this call
  std::uint64_t present = 0;  // found there already
};

/// Fills the directory of the context's cache with all the code that compile() and Program::on need for this graph on
/// each of `options.targets`, including the code that prepares constants when a program is loaded. This host need not
/// be able to run it. An application that reads the directory as a layer (ContextOptions::read_only_cache_directories)
/// then needs no LLVM. A CPU level such as "cpu:avx512" also covers the cores that have features beyond the level
/// (CpuFeatures).
///
/// The other options must be those that the application passes to compile(). No device is opened. Create
/// `options.context` with a directory, without read-only directories (their kernels would not be copied), and with
/// requires_cache_writes. Files that the same context has written or found in an earlier call are not counted.
///
/// Fails if there is no target or no cache, or if compile() would fail before it needs a device. If
/// requires_cache_writes is set, also fails if code cannot be stored.
Result<CachedFiles> cache_kernels(Graph graph, const CompileOptions& options);

}  // namespace millrace
