// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/scalar.h"

namespace millrace::test {

/// The arguments of a kernel, and its expected results. Buffers are named; those that are not given begin with zeros.
struct KernelRun {
  SymbolValues symbols = {};
  std::map<std::string, std::vector<Scalar>> given = {}, expected = {};
  std::string error = {};  // part of the error of a run that fails: its code, and the message
};

/// The dtype of a buffer's elements, as stored.
std::optional<DType> find_buffer_dtype(const Kernel&, const std::string& name);

/// Runs a loop nest by its definition, then with every generator on every ISA level of the host and on a simulated GPU;
/// a machine kernel on the former, or, if its workgroups have several threads, on the latter. What differs, or empty.
std::string run_problem(const Kernel&, const KernelRun&);

/// The memory plan and the mapping, or why it cannot be mapped.
std::string plan_text(const Kernel&, const TargetSpec&);
/// The machine kernel, and the assembly that LLVM makes of it, where it is built in.
std::optional<std::string> code_text(const Kernel&, const TargetSpec&);

}  // namespace millrace::test
