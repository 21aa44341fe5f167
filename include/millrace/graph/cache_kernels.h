// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/base/status.h"
#include "millrace/graph/compile.h"

namespace millrace {

/// The files of the cache's directory that programs need.
struct CachedFiles {
  std::uint64_t written = 0;  // now
  std::uint64_t present = 0;  // before
};

/// Fills the directory of the context's cache with all code that compile() needs of the graph, and Program::on of the
/// program, for each of `options.targets`, which this host need not be able to run: so that an application that reads
/// the directory as a layer (ContextOptions::read_only_cache_directories) needs no LLVM. That includes the code that
/// prepares constants when a program is loaded. A level of CPUs stands for all cores of that level, whatever features
/// they have beyond it.
///
/// The other options are those that the application gives compile(); no device is opened. Give `options.context` a
/// directory, no layers, whose kernels are not copied, and requires_cache_writes. Files that the same context has
/// written or found before are not counted again.
///
/// Fails without a target or a cache, where compile() fails before it needs a device, and, if requires_cache_writes is
/// set, where code cannot be stored.
Result<CachedFiles> cache_kernels(Graph graph, const CompileOptions& options);

}  // namespace millrace
