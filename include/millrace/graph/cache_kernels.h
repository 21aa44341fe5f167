// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/base/status.h"
#include "millrace/graph/compile.h"

namespace millrace {

/// The files of the cache's directory that programs need.
struct CachedFiles {
  std::uint64_t written = 0;  // written by this call
  std::uint64_t present = 0;  // found there already
};

/// Fills the directory of the context's cache with all the code that compile() and Program::on need for this graph on
/// each of `options.targets`. This host need not be able to run it. An application that reads the directory as a layer
/// (ContextOptions::read_only_cache_directories) then needs no LLVM. The code that prepares constants when a program is
/// loaded is included. A CPU level stands for all cores of that level, whatever features they have beyond it.
///
/// The other options are those that the application gives compile(); no device is opened. Give `options.context` a
/// directory, no layers (their kernels are not copied), and requires_cache_writes. Files that the same context has
/// written or found before are not counted again.
///
/// Fails without a target or a cache, and where compile() fails before it needs a device. If requires_cache_writes is
/// set, also fails if code cannot be stored.
Result<CachedFiles> cache_kernels(Graph graph, const CompileOptions& options);

}  // namespace millrace
