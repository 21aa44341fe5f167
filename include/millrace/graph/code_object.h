// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

struct LoweredGraph;    // lowered_graph.h
struct ProgramVariant;  // lowered_graph.h
class Target;           // jit/target.h

/// All kernels of a graph that was lowered for a GPU, as one code object, for programs that launch it themselves:
/// kernels that are equal are in it once, under the name that follows from what they do (`kernel_symbol`). Their
/// arguments are the address of a u32 status word, those of the buffers, and the i64 sizes, each naturally aligned; the
/// grid is a kernel's groups of its workgroup size, in one dim. Fails for a target that is no GPU or a simulated one,
/// and where there is no kernel.
Result<std::vector<std::byte>> make_code_object(const LoweredGraph&, const Target&);
/// Likewise, of kernels whose code a program holds.
Result<std::vector<std::byte>> make_code_object(const ProgramVariant&);

}  // namespace millrace
