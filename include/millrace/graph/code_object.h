// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "millrace/base/status.h"

namespace millrace {

struct LoweredGraph;    // lowered_graph.h
struct ProgramVariant;  // program_variant.h
class Target;           // jit/target.h

/// Links all kernels of a graph that was lowered for a GPU into one code object, for applications that launch the
/// kernels themselves. Equal kernels are included once, under a name that is derived from their content
/// (`kernel_symbol`). A kernel's arguments are the address of a u32 status word, the addresses of its buffers, and its
/// i64 sizes, each naturally aligned. The grid has one dim; launch it with the kernel's number of workgroups and its
/// workgroup size. Fails if the target is not a GPU or is simulated, or if there are no kernels.
Result<std::vector<std::byte>> make_code_object(const LoweredGraph&, const Target&);
/// Does the same for the kernels of a compiled program.
Result<std::vector<std::byte>> make_code_object(const ProgramVariant&);

}  // namespace millrace
