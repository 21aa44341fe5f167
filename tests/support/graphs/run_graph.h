// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "millrace/graph/compile.h"
#include "tests/reference/tensor.h"

namespace millrace::test {

/// The usual generators, and kernels kept in memory only: a test neither reads nor leaves files.
std::shared_ptr<const Context> test_context();
/// Also with the driver isa, which executes a GPU's machine code; its code has line tables, which findings need.
std::shared_ptr<const Context> isa_context();

/// Every ISA level of the host with the generators in order, and the best one with the interpreter alone.
std::vector<CompileOptions> every_way_to_compile();
/// "cpu:avx2 interpreter", for messages.
std::string to_text(const CompileOptions&);

/// Runs the program `num_runs` times, in memory that ends at a page without access, with inputs mapped read-only. Fails
/// with the status of run(), or with kInternal if bytes around an output have changed or a later run differs from the
/// first.
Result<std::vector<reference::Tensor>> run_guarded(const Program&, std::span<const reference::Tensor> inputs,
                                                   std::span<const DimBinding> dims = {}, int num_runs = 2);

}  // namespace millrace::test
