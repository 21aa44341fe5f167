// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>

#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// Tells debuggers and profilers which line of to_text(kernel) an instruction comes from. The text itself stands in the
/// debug information, so that nobody has to keep a file of it.
class LlvmLines {
 public:
  LlvmLines(llvm::Module&, const MachineKernel&);
  /// The function that holds the kernel's code.
  void begin(llvm::Function&);
  /// What comes next is of instruction `number`, counted as instruction_lines does.
  void set_line(llvm::IRBuilder<>&, std::size_t number) const;
  void finish() { builder_.finalize(); }

 private:
  llvm::DIBuilder builder_;
  llvm::DIFile* file_;
  llvm::DISubprogram* scope_ = nullptr;
  std::vector<std::uint32_t> lines_;
};

}  // namespace millrace
