// SPDX-License-Identifier: Apache-2.0
// Compiles a kernel to an image by way of LLVM IR. A pool keeps JITs for reuse.
#include "jit/llvm/jit.h"

#include <llvm-c/Target.h>
#include <mutex>

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "jit/llvm/amdgpu/code_object.h"
#include "jit/llvm/amdgpu/lld.h"
#include "jit/llvm/amdgpu/machine_code.h"
#include "jit/llvm/emit.h"
#include "jit/llvm/link.h"
#include "jit/llvm/optimize.h"

namespace millrace {
namespace {

namespace orc = llvm::orc;

std::unique_ptr<llvm::TargetMachine> make_target_machine(const LlvmTarget& target) {
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(target.triple, error);
  MILLRACE_CHECK(llvm_target != nullptr);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // only mul_add is fused
  // With this, a GPU's assembly listing shows registers, other resources and the occupancy.
  options.MCOptions.AsmVerbose = llvm::Triple(target.triple).isAMDGPU();
  return std::unique_ptr<llvm::TargetMachine>(
      llvm_target->createTargetMachine(target.triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                       llvm::CodeModel::Small, kLlvmCodeGenLevel, true));
}

/// Collects LLVM's errors, such as too much workgroup memory, which would otherwise end the process.
class ErrorCollector : public llvm::DiagnosticHandler {
 public:
  explicit ErrorCollector(std::string& errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& diagnostic) override {
    if (diagnostic.getSeverity() != llvm::DS_Error) return true;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    diagnostic.print(printer);
    llvm::StringRef message = text;
    message.consume_front("<unknown>:0:0: ");  // kernels have no source lines
    errors_ += (errors_.empty() ? "" : "; ") + message.str();
    return true;
  }

 private:
  std::string& errors_;
};

/// Emits one kernel at a time for one target.
class LlvmJit {
 public:
  static Result<std::unique_ptr<LlvmJit>> create(const LlvmTarget& target) {
    auto self = std::unique_ptr<LlvmJit>(new LlvmJit(target));
    if (self->makes_gpu_objects()) return self;
    auto linker = LlvmLinker::create(*self->machine_);
    if (!linker) return internal_error("llvm: " + llvm::toString(linker.takeError()));
    self->linker_ = std::move(*linker);
    return self;
  }

  Status emit(const PlannedKernel& kernel, const TargetSpec& spec, const LlvmEmitOptions& options,
              LlvmEmitOutput& output) {
    std::string errors;
    auto context = std::make_unique<llvm::LLVMContext>();
    context->setDiagnosticHandler(std::make_unique<ErrorCollector>(errors));
    output.image.target = kernel.target_of(spec).to_text();
    output.image.generator = kernel.generator;
    output.image.info = kernel.info;
    const std::string symbol = makes_gpu_objects() ? kernel_symbol(kernel) : kLlvmEntryName;
    auto module = emit_llvm_module(*context, machine_->createDataLayout(),
                                   {.kernel = std::get<MachineKernel>(kernel.mapped),
                                    .plan = kernel.memory,
                                    .symbol = symbol,
                                    .has_lines = options.line_tables && makes_gpu_objects()},
                                   target_);
    std::string broken;
    llvm::raw_string_ostream broken_stream(broken);
    if (llvm::verifyModule(*module, &broken_stream)) return failure(kernel, "gives invalid IR: " + broken);
    optimizer_.run(*module);
    show(*module, options, output);
    const Status linked = makes_gpu_objects()
                              ? link_gpu_object(*module, kernel, spec, options, output)
                              : link_host_code(std::move(module), std::move(context), kernel, output.image);
    return errors.empty() ? linked : failure(kernel, errors);
  }

  const LlvmTarget& target() const { return target_; }

  std::unique_ptr<LlvmJit> next_idle;  // the next JIT in the list of its pool

 private:
  explicit LlvmJit(const LlvmTarget& target)
      : target_(target), machine_(make_target_machine(target)), optimizer_(*machine_) {}

  static Status failure(const PlannedKernel& kernel, const std::string& what) {
    return internal_error("llvm: kernel '" + kernel.name + "': " + what);
  }

  bool makes_gpu_objects() const { return machine_->getTargetTriple().isAMDGPU(); }

  void show(llvm::Module& module, const LlvmEmitOptions& options, LlvmEmitOutput& output) {
    if (options.want_ir) {
      llvm::raw_string_ostream stream(output.ir);
      module.print(stream, nullptr);
    }
    if (options.want_asm) output.assembly = print(module, llvm::CodeGenFileType::AssemblyFile);
    if (options.want_object && !makes_gpu_objects()) output.object = print(module, llvm::CodeGenFileType::ObjectFile);
  }

  Status link_host_code(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context,
                        const PlannedKernel& kernel, ExecutableImage& image) {
    auto linked = linker_->link(orc::ThreadSafeModule(std::move(module), std::move(context)), kLlvmEntryName);
    if (!linked) return failure(kernel, llvm::toString(linked.takeError()));
    image.format = ImageFormat::kHostCode;
    image.bytes = std::move(linked->bytes);
    image.code_bytes = linked->code_bytes;
    image.entry_offset = linked->entry_offset;
    return {};
  }

  /// The image stays relocatable, so that the kernels of a program can be linked together. It is also linked alone, for
  /// check_code_object and for listings.
  Status link_gpu_object(llvm::Module& module, const PlannedKernel& kernel, const TargetSpec& spec,
                         const LlvmEmitOptions& options, LlvmEmitOutput& output) {
    const std::string object = print(module, llvm::CodeGenFileType::ObjectFile);
    const auto bytes = std::as_bytes(std::span(object));
    output.image.format = ImageFormat::kGpuObject;
    output.image.bytes = SharedBytes(bytes);
    output.image.symbol = kernel_symbol(kernel);
    MILLRACE_TRY_ASSIGN(const std::vector<std::byte> linked, link_gpu_objects({{bytes}}));
    if (options.want_object) output.object.assign(reinterpret_cast<const char*>(linked.data()), linked.size());
    MILLRACE_TRY_ASSIGN(const CodeObjectInfo info, read_llvm_code_object(linked));
    return check_code_object(info, kernel, spec);
  }

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
  std::unique_ptr<LlvmLinker> linker_;  // for host code only
};

/// The JITs that are not in use. The list is intrusive, so that nothing is allocated while the mutex is held: this file
/// is built without exceptions, so a failed allocation would leave the mutex locked.
class JitPool {
 public:
  Status emit(const PlannedKernel& kernel, const TargetSpec& spec, const LlvmEmitOptions& options,
              LlvmEmitOutput& output) {
    const LlvmTarget& target = llvm_target(spec);
    std::unique_ptr<LlvmJit> jit = take(target);
    if (jit == nullptr) {
      MILLRACE_TRY_ASSIGN(jit, LlvmJit::create(target));
    }
    // A JIT that failed is discarded: it may hold half-linked symbols.
    MILLRACE_TRY(jit->emit(kernel, spec, options, output));
    give_back(std::move(jit));
    return {};
  }

 private:
  std::unique_ptr<LlvmJit> take(const LlvmTarget& target) {
    const std::lock_guard lock(mutex_);
    for (std::unique_ptr<LlvmJit>* link = &idle_; *link != nullptr; link = &(*link)->next_idle) {
      if (&(*link)->target() != &target) continue;
      std::unique_ptr<LlvmJit> jit = std::move(*link);
      *link = std::move(jit->next_idle);
      return jit;
    }
    return nullptr;
  }

  void give_back(std::unique_ptr<LlvmJit> jit) {
    const std::lock_guard lock(mutex_);
    jit->next_idle = std::move(idle_);
    idle_ = std::move(jit);
  }

  std::mutex mutex_;
  std::unique_ptr<LlvmJit> idle_;
};

JitPool& jit_pool() {
  // Never destroyed, because at exit libLLVM's own static objects may already be destroyed.
  static JitPool* const pool = new JitPool;
  return *pool;
}

}  // namespace

void initialize_llvm_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86Disassembler();
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUDisassembler();
  });
}

Status emit_with_jit(const PlannedKernel& kernel, const TargetSpec& spec, const LlvmEmitOptions& options,
                     LlvmEmitOutput& output) {
  initialize_llvm_targets();
  return jit_pool().emit(kernel, spec, options, output);
}

}  // namespace millrace
