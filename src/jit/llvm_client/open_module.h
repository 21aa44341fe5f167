// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "millrace/hal/executable.h"
#include "millrace/hal/target_spec.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

struct LlvmEmitOptions {
  bool line_tables = false;  // as LlvmOptions
  // What to print beside emitting, for people.
  bool want_ir = false;      // LLVM IR, optimised
  bool want_asm = false;     // the target's assembly
  bool want_object = false;  // an object file
};

struct LlvmEmitOutput {
  ExecutableImage image;
  std::string ir;
  std::string assembly;
  std::string object;
};

/// The LLVM this library was built beside: "19.1.7", or "none".
std::string_view llvm_version();

/// The module's file: $MILLRACE_LLVM_MODULE and nothing else when that is set; else the first of module_places that
/// there is. Looks at names only, opens nothing. Fails naming every place looked in. Opening skips a file of another
/// build, and one that others can write to.
Result<std::string> find_llvm_module();

// A fatal error of LLVM (report_fatal_error, "LLVM ERROR: ...") does not end the application. LLVM never gets control
// back from one, so the module does all of LLVM's work on threads of its own, one a call: the thread that met the error
// waits in it for the end of the process, and the call returns kInternal with LLVM's text. LLVM is then broken: all
// later calls below return the same, at once. Programs that are compiled, and kernels from the cache, work on.
// What ends the process all the same: a crash, an assertion or an llvm_unreachable in LLVM, and a fatal error that lld
// itself finds in an object which is no object of LLVM's.

/// Emits through the module, which the first call opens for the rest of the process: 10-15 ms, libLLVM's relocations.
/// Precondition: `kernel.mapped` is a MachineKernel.
Result<LlvmEmitOutput> emit_with_llvm(const PlannedKernel& kernel, const TargetSpec&, const LlvmEmitOptions&);

/// Machine code as text, an instruction a line with its offset, by the module's disassembler. What is no instruction
/// is shown byte by byte.
Result<std::string> disassemble_with_llvm(std::span<const std::byte> code, const TargetSpec&);

/// Relocatable objects of one GPU target as one shared object.
Result<std::vector<std::byte>> link_with_llvm(std::span<const std::span<const std::byte>> objects);

// What the module exports. Both sides are of one build (one build_id), so they share the layout of every struct.
inline constexpr char kLlvmBuildIdSymbol[] = "millrace_llvm_build_id";
using LlvmBuildIdFunction = const char* (*)();
inline constexpr char kLlvmEmitSymbol[] = "millrace_llvm_emit";
using LlvmEmitFunction = void (*)(const PlannedKernel&, const TargetSpec&, const LlvmEmitOptions&,
                                  Result<LlvmEmitOutput>&);
inline constexpr char kLlvmDisassembleSymbol[] = "millrace_llvm_disassemble";
using LlvmDisassembleFunction = void (*)(std::span<const std::byte> code, const TargetSpec&, Result<std::string>& text);
inline constexpr char kLlvmLinkSymbol[] = "millrace_llvm_link";
using LlvmLinkFunction = void (*)(std::span<const std::span<const std::byte>> objects,
                                  Result<std::vector<std::byte>>& linked);
inline constexpr char kLlvmReadCodeObjectSymbol[] = "millrace_llvm_read_code_object";
using LlvmReadCodeObjectFunction = void (*)(std::span<const std::byte>, Result<CodeObjectInfo>&);

}  // namespace millrace
