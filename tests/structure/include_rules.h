// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/structure/source_tree.h"

namespace millrace::structure {

/// A file of a layer includes its own layer or layers to its right: graph -> ops -> jit -> hal -> base.
/// Tests, examples, tools and benchmarks stand left of all of them.
Violations check_include_arrows(const SourceTree&);

/// What runs programs (src/graph/run) reaches no header of jit or ops, and no file of graph that builds, compiles or
/// prints, through others neither: it is a library of its own.
Violations check_running_half(const SourceTree&);

/// What executes a GPU's machine code (src/isa) is a library apart from millrace, so no other file of
/// the library includes it. It may use all of hal and base; it gets the disassembler as a function.
Violations check_executor_apart(const SourceTree&);

/// LLVM, LLD, xbyak, HIP, Eigen, the import formats and the benchmarks' peers stay in the files made for them.
Violations check_foreign_headers(const SourceTree&);

/// What an application includes needs the standard library and our own public headers; the optional interop headers
/// may name the library that they bridge to.
Violations check_public_headers(const SourceTree&);

/// The oracle shares only dtypes, shapes and the names of ops with the code that it tests: op bodies serve the CPU, the
/// GPU and constant folding alike, so a wrong body would agree with itself.
Violations check_oracle_independence(const SourceTree&);

}  // namespace millrace::structure
