// SPDX-License-Identifier: Apache-2.0
#include "compile_ir.h"

#include <llvm-c/Target.h>

#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>

#include "jit/llvm/amdgpu/lld.h"

namespace millrace::test {
namespace {

Result<std::unique_ptr<llvm::Module>> parse(const std::string& ir, llvm::LLVMContext& context) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(ir, diagnostic, context);
  if (module == nullptr) {
    return internal_error(fmt::format("{}: {}", diagnostic.getMessage().str(), diagnostic.getLineContents().str()));
  }
  return module;
}

class Jit final : public NativeIr {
 public:
  explicit Jit(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}
  Function find(const std::string& name) override {
    auto address = jit_->lookup(name);
    if (!address) {
      fmt::print(stderr, "{}\n", llvm::toString(address.takeError()));
      return nullptr;
    }
    return address->toPtr<Function>();
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace

Result<std::vector<std::byte>> compile_ir_for_gpu(const std::string& ir, const std::string& gfx,
                                                  std::uint32_t subgroup_size) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  LLVMInitializeAMDGPUAsmPrinter();
  LLVMInitializeAMDGPUDisassembler();
  constexpr char kTriple[] = "amdgcn-amd-amdhsa";
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (target == nullptr) return internal_error(error);
  const char* features = subgroup_size == 32 ? "+wavefrontsize32" : "+wavefrontsize64";
  const std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(kTriple, gfx, features, {}, llvm::Reloc::PIC_));
  llvm::LLVMContext context;
  MILLRACE_TRY_ASSIGN(const std::unique_ptr<llvm::Module> module, parse(ir, context));
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return internal_error("the target emits no objects");
  }
  passes.run(*module);
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(object.data()), object.size());
  return link_gpu_objects({&bytes, 1});
}

Result<std::unique_ptr<NativeIr>> compile_ir_for_host(const std::string& ir) {
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  auto context = std::make_unique<llvm::LLVMContext>();
  MILLRACE_TRY_ASSIGN(std::unique_ptr<llvm::Module> module, parse(ir, *context));
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) return internal_error(llvm::toString(jit.takeError()));
  module->setDataLayout((*jit)->getDataLayout());
  if (auto error = (*jit)->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context)))) {
    return internal_error(llvm::toString(std::move(error)));
  }
  return std::unique_ptr<NativeIr>(std::make_unique<Jit>(std::move(*jit)));
}

}  // namespace millrace::test
