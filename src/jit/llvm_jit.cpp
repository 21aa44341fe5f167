// SPDX-License-Identifier: Apache-2.0
// The module's entry functions. Each thread that emits borrows a JIT of its target, which is kept for the next.
#include <llvm-c/Target.h>
#include <mutex>

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "jit/build_id.h"
#include "jit/llvm_disassemble.h"
#include "jit/llvm_emit.h"
#include "jit/llvm_link.h"
#include "jit/llvm_optimize.h"
#include "jit/open_llvm_module.h"

namespace millrace {
namespace {

namespace orc = llvm::orc;

std::unique_ptr<llvm::TargetMachine> make_target_machine(const LlvmTarget& target) {
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(target.triple, error);
  MILLRACE_CHECK(llvm_target != nullptr);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a * b + c is fused where mul_add says so, nowhere else
  return std::unique_ptr<llvm::TargetMachine>(llvm_target->createTargetMachine(
      target.triple, target.cpu, "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small, kLlvmCodeGenLevel, true));
}

/// Emits one kernel at a time for one target.
class LlvmJit {
 public:
  static Result<std::unique_ptr<LlvmJit>> create(const LlvmTarget& target) {
    auto self = std::unique_ptr<LlvmJit>(new LlvmJit(target));
    auto linker = LlvmLinker::create(*self->machine_);
    if (!linker) return internal_error("llvm: " + llvm::toString(linker.takeError()));
    self->linker_ = std::move(*linker);
    return self;
  }

  Status emit(const PlannedKernel& kernel, const TargetSpec& spec, const LlvmEmitOptions& options,
              LlvmEmitOutput& output) {
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = emit_llvm_module(*context, machine_->createDataLayout(), std::get<MachineKernel>(kernel.mapped),
                                   kernel.memory, target_);
    std::string broken;
    llvm::raw_string_ostream broken_stream(broken);
    if (llvm::verifyModule(*module, &broken_stream)) {
      return internal_error("llvm: kernel '" + kernel.name + "' gives invalid IR: " + broken);
    }
    optimizer_.run(*module);
    if (options.want_ir) {
      llvm::raw_string_ostream stream(output.ir);
      module->print(stream, nullptr);
    }
    if (options.want_asm) output.assembly = print(*module, llvm::CodeGenFileType::AssemblyFile);
    if (options.want_object) output.object = print(*module, llvm::CodeGenFileType::ObjectFile);
    auto linked = linker_->link(orc::ThreadSafeModule(std::move(module), std::move(context)), kLlvmEntryName);
    if (!linked) {
      return internal_error("llvm: kernel '" + kernel.name + "': " + llvm::toString(linked.takeError()));
    }
    output.image.bytes = std::move(linked->bytes);
    output.image.code_bytes = linked->code_bytes;
    output.image.entry_offset = linked->entry_offset;
    output.image.format = ImageFormat::kHostCode;
    output.image.target = spec.to_text();
    output.image.generator = kernel.generator;
    output.image.info = kernel.info;
    return {};
  }

 private:
  explicit LlvmJit(const LlvmTarget& target)
      : target_(target), machine_(make_target_machine(target)), optimizer_(*machine_) {}

  std::string print(llvm::Module& module, llvm::CodeGenFileType file_type) {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    MILLRACE_CHECK(!machine_->addPassesToEmitFile(passes, stream, nullptr, file_type));
    passes.run(*llvm::CloneModule(module));
    return std::string(text);
  }

  const LlvmTarget& target_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  LlvmOptimizer optimizer_;
  std::unique_ptr<LlvmLinker> linker_;
};

/// JITs that nobody uses just now.
class JitPool {
 public:
  Status emit(const PlannedKernel& kernel, const TargetSpec& spec, const LlvmEmitOptions& options,
              LlvmEmitOutput& output) {
    const LlvmTarget& target = llvm_target(spec);
    std::unique_ptr<LlvmJit> jit = take(target);
    if (jit == nullptr) {
      MILLRACE_TRY_ASSIGN(jit, LlvmJit::create(target));
    }
    // One that failed is not used again: a half-linked symbol may be left in it.
    MILLRACE_TRY(jit->emit(kernel, spec, options, output));
    const std::lock_guard lock(mutex_);
    idle_.emplace_back(&target, std::move(jit));
    return {};
  }

 private:
  std::unique_ptr<LlvmJit> take(const LlvmTarget& target) {
    const std::lock_guard lock(mutex_);
    for (auto entry = idle_.begin(); entry != idle_.end(); ++entry) {
      if (entry->first != &target) continue;
      std::unique_ptr<LlvmJit> jit = std::move(entry->second);
      idle_.erase(entry);
      return jit;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::vector<std::pair<const LlvmTarget*, std::unique_ptr<LlvmJit>>> idle_;
};

JitPool& jit_pool() {
  // Never destroyed: at exit libLLVM's own statics may already be gone.
  static JitPool* const pool = new JitPool;
  return *pool;
}

/// Before anything is asked of LLVM.
void initialize_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86Disassembler();
  });
}

}  // namespace
}  // namespace millrace

extern "C" const char* millrace_llvm_build_id() { return millrace::build_id().data(); }

extern "C" void millrace_llvm_emit(const millrace::PlannedKernel& kernel, const millrace::TargetSpec& spec,
                                   const millrace::LlvmEmitOptions& options, millrace::LlvmEmitOutput& output,
                                   millrace::Status& status) {
  millrace::initialize_targets();
  status = millrace::jit_pool().emit(kernel, spec, options, output);
}

extern "C" void millrace_llvm_disassemble(std::span<const std::byte> code, const millrace::TargetSpec& spec,
                                          std::string& text) {
  millrace::initialize_targets();
  text = millrace::disassemble(code, millrace::llvm_target(spec));
}
