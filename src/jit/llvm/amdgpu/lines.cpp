// SPDX-License-Identifier: Apache-2.0
// Adds line tables to a GPU kernel that map its instructions to lines of the kernel's text.
#include "jit/llvm/amdgpu/lines.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include "jit/ir/instruction_lines.h"

namespace millrace {

LlvmLines::LlvmLines(llvm::Module& module, const MachineKernel& kernel)
    : builder_(module), lines_(instruction_lines(kernel)) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 5);  // the first version that can hold source text
  const std::string text = to_text(kernel);
  file_ = builder_.createFile(kernel.name + ".kernel", "", std::nullopt, llvm::StringRef(text));
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C, file_, "millrace", true, "", 0, "",
                             llvm::DICompileUnit::LineTablesOnly);
}

void LlvmLines::begin(llvm::Function& function) {
  auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  scope_ = builder_.createFunction(file_, function.getName(), function.getName(), file_, 1, type, 1,
                                   llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  function.setSubprogram(scope_);
}

void LlvmLines::set_line(llvm::IRBuilder<>& ir, std::size_t number) const {
  ir.SetCurrentDebugLocation(llvm::DILocation::get(ir.getContext(), lines_[number], 1, scope_));
}

}  // namespace millrace
