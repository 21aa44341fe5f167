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
  bool line_tables = false;  // see LlvmOptions
  // Extra output for people to read.
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

/// The LLVM version that this library was built with: "19.1.7", or "none".
std::string_view llvm_version();

/// The module's file: $MILLRACE_LLVM_MODULE if that is set, otherwise the first existing file of module_paths. Checks
/// only whether files exist, and opens none. There is one exception: if the variable holds a name without a slash, only
/// dlopen can find the file, so the module is opened. On failure, the message names every path searched. This function
/// may find a file of another build, or one that others can write to; opening the module skips such files.
Result<std::string> find_llvm_module();

// A fatal LLVM error (report_fatal_error, "LLVM ERROR: ...") does not end the application. LLVM cannot continue after
// one, so the module runs each call's LLVM work on a thread of its own. The failing thread then waits until the process
// ends, and the call returns kInternal with LLVM's text. If memory runs out inside LLVM, the call returns
// kResourceExhausted, and LLVM's unfinished objects are leaked. In both cases LLVM is unusable from then on: all later
// calls below return the same error immediately. Compiled programs and cached kernels still work. If little memory is
// left before LLVM is called, the call returns kResourceExhausted, and LLVM stays usable.
// These still end the process: a crash, an assertion or an llvm_unreachable in LLVM, and a fatal error in lld caused by
// an object that LLVM did not emit.

/// Emits through the module. The first call opens it for the rest of the process, which takes 10-15 ms for libLLVM's
/// relocations.
/// Precondition: `kernel.mapped` is a MachineKernel.
Result<LlvmEmitOutput> emit_with_llvm(const PlannedKernel& kernel, const TargetSpec&, const LlvmEmitOptions&);

/// Disassembles machine code: one instruction per line with its offset. Bytes that are not an instruction are shown one
/// by one.
Result<std::string> disassemble_with_llvm(std::span<const std::byte> code, const TargetSpec&);

/// Links relocatable objects for one GPU target into a shared object.
Result<std::vector<std::byte>> link_with_llvm(std::span<const std::span<const std::byte>> objects);

// The module's exports. Both sides are from one build (one build_id), so they share the layout of every struct.
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
inline constexpr char kLlvmDecodeCodeObjectSymbol[] = "millrace_llvm_decode_code_object";
using LlvmDecodeCodeObjectFunction = void (*)(std::span<const std::byte>, Result<MachineCode>&);

}  // namespace millrace
