// SPDX-License-Identifier: Apache-2.0
// Linked to the objects of an example: each graph that it passes to compile() is first passed to cache_kernels(), as in
// the build of an application. The linker's --wrap sends the calls here (tests/shipping/CMakeLists.txt).
#include <cstdio>
#include <cstdlib>

#include "millrace/millrace.h"

namespace millrace {

Result<Program> call_compile(Graph graph, const CompileOptions& options) asm(
    "__real__ZN8millrace7compileENS_5GraphERKNS_14CompileOptionsE");
Result<Program> fill_and_compile(Graph graph, const CompileOptions& options) asm(
    "__wrap__ZN8millrace7compileENS_5GraphERKNS_14CompileOptionsE");

Result<Program> fill_and_compile(Graph graph, const CompileOptions& options) {
  CompileOptions filling = options;
  filling.targets = {"cpu:baseline", "cpu:avx2", "cpu:avx512"};
  filling.context = make_default_context({.cache_directory = std::getenv("MILLRACE_FILLED"),
                                          .read_only_cache_directories = {},
                                          .requires_cache_writes = true});
  MILLRACE_TRY_ASSIGN(const CachedFiles files, cache_kernels(graph, filling));
  std::fprintf(stderr, "written %d, present %d\n", static_cast<int>(files.written), static_cast<int>(files.present));
  return call_compile(std::move(graph), options);
}

}  // namespace millrace
