// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>

#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// Debug information that maps each instruction to its line of to_text(kernel), for debuggers and profilers. It
/// contains the text, so no source file is needed.
class LlvmLines {
 public:
  LlvmLines(llvm::Module&, const MachineKernel&);
  /// Starts the function that holds the kernel's code.
  void begin(llvm::Function&);
  /// Assigns the code that follows to instruction `number`, an index of instruction_lines().
  void set_line(llvm::IRBuilder<>&, std::size_t number) const;
  void finish() { builder_.finalize(); }

 private:
  llvm::DIBuilder builder_;
  llvm::DIFile* file_;
  llvm::DISubprogram* scope_ = nullptr;
  std::vector<std::uint32_t> lines_;
};

}  // namespace millrace
