// SPDX-License-Identifier: Apache-2.0
#include "gpu_modules.h"

#include <llvm-c/Target.h>

#include <doctest/doctest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>

#include "jit/llvm/amdgpu/lld.h"

namespace millrace::test {
namespace {

constexpr char kTriple[] = "amdgcn-amd-amdhsa";

}  // namespace

std::string compile_gpu_module(const std::string& ir, const char* gfx) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  LLVMInitializeAMDGPUAsmPrinter();
  LLVMInitializeAMDGPUDisassembler();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  REQUIRE_MESSAGE(target != nullptr, error);
  const std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(kTriple, gfx, "", {}, llvm::Reloc::PIC_));
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(ir, diagnostic, context);
  REQUIRE_MESSAGE(module != nullptr, diagnostic.getMessage().str());
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  REQUIRE(!machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile));
  passes.run(*module);
  return std::string(object);
}

Result<std::vector<std::byte>> link_gpu_modules(const std::vector<std::string>& objects) {
  std::vector<std::span<const std::byte>> spans;
  for (const std::string& object : objects) spans.push_back(std::as_bytes(std::span(object)));
  return link_gpu_objects(spans);
}

CodeObjectInfo info_of_gpu_module(const std::string& ir, const char* gfx) {
  return read_llvm_code_object(link_gpu_modules({compile_gpu_module(ir, gfx)}).value()).value();
}

}  // namespace millrace::test
