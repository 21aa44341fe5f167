// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "millrace/jit/kernel_compiler.h"

namespace millrace::test {

/// Second to the interpreter on simulated GPUs: a kernel is split at its barriers (split_barriers), and runs as machine
/// code of the host. It tells an observer nothing.
std::shared_ptr<const KernelCompiler> make_split_generator();

}  // namespace millrace::test
