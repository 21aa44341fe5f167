// SPDX-License-Identifier: Apache-2.0
// The module's entry functions. Each emitting thread borrows a JIT for its target and then returns it for reuse.
#include <llvm-c/Target.h>
#include <mutex>

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "jit/cache/build_id.h"
#include "jit/llvm/code_object.h"
#include "jit/llvm/disassemble.h"
#include "jit/llvm/emit.h"
#include "jit/llvm/link.h"
#include "jit/llvm/lld.h"
#include "jit/llvm/machine_code.h"
#include "jit/llvm/optimize.h"
#include "jit/llvm/worker.h"
#include "jit/llvm_client/open_module.h"

namespace millrace {
namespace {

namespace orc = llvm::orc;

std::unique_ptr<llvm::TargetMachine> make_target_machine(const LlvmTarget& target) {
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(target.triple, error);
  MILLRACE_CHECK(llvm_target != nullptr);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // only mul_add is fused
  // A GPU's assembly listing then shows the registers and other resources, and the occupancy.
  options.MCOptions.AsmVerbose = llvm::Triple(target.triple).isAMDGPU();
  return std::unique_ptr<llvm::TargetMachine>(
      llvm_target->createTargetMachine(target.triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                       llvm::CodeModel::Small, kLlvmCodeGenLevel, true));
}

/// Collects LLVM's errors, which would otherwise end the process, such as too much workgroup memory.
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
    output.image.target = spec.plain().to_text();
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

  /// The image stays relocatable, so that a program's kernels can be joined. It is also linked alone, for checking it
  /// and for showing it to people.
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

/// JITs that are not in use.
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
  // Never destroyed: at exit, libLLVM's own statics may already be gone.
  static JitPool* const pool = new JitPool;
  return *pool;
}

/// Must run before any other use of LLVM.
void initialize_targets() {
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

}  // namespace
}  // namespace millrace

extern "C" const char* millrace_llvm_build_id() { return millrace::build_id().data(); }

namespace millrace {
namespace {

// The work of the entry functions, with copies of their arguments; see LlvmWork.

struct EmitWork final : LlvmWork {
  EmitWork(PlannedKernel given_kernel, TargetSpec given_spec, const LlvmEmitOptions& given_options)
      : kernel(std::move(given_kernel)), spec(std::move(given_spec)), options(given_options) {}
  std::string name() const override { return "kernel '" + kernel.name + "'"; }
  void run() override {
    initialize_targets();
    status = jit_pool().emit(kernel, spec, options, output);
  }
  PlannedKernel kernel;
  TargetSpec spec;
  LlvmEmitOptions options;
  LlvmEmitOutput output;
  Status status;
};

struct DisassembleWork final : LlvmWork {
  DisassembleWork(std::span<const std::byte> given_code, TargetSpec given_spec)
      : code(given_code.begin(), given_code.end()), spec(std::move(given_spec)) {}
  std::string name() const override { return "disassemble"; }
  void run() override {
    initialize_targets();
    text = disassemble(code, llvm_target(spec));
  }
  std::vector<std::byte> code;
  TargetSpec spec;
  std::string text;
};

struct LinkWork final : LlvmWork {
  explicit LinkWork(std::span<const std::span<const std::byte>> given) {
    for (const auto& object : given) objects.emplace_back(object.begin(), object.end());
  }
  std::string name() const override { return "link"; }
  void run() override {
    linked = link_gpu_objects(std::vector<std::span<const std::byte>>(objects.begin(), objects.end()));
  }
  std::vector<std::vector<std::byte>> objects;
  Result<std::vector<std::byte>> linked = std::vector<std::byte>();
};

struct ReadCodeObjectWork final : LlvmWork {
  explicit ReadCodeObjectWork(std::span<const std::byte> given) : bytes(given.begin(), given.end()) {}
  std::string name() const override { return "code object"; }
  void run() override {
    initialize_targets();
    info = read_llvm_code_object(bytes);
  }
  std::vector<std::byte> bytes;
  Result<CodeObjectInfo> info = CodeObjectInfo();
};

struct DecodeCodeObjectWork final : LlvmWork {
  explicit DecodeCodeObjectWork(std::span<const std::byte> given) : bytes(given.begin(), given.end()) {}
  std::string name() const override { return "code object"; }
  void run() override {
    initialize_targets();
    code = decode_llvm_code_object(bytes);
  }
  std::vector<std::byte> bytes;
  Result<MachineCode> code = MachineCode();
};

}  // namespace
}  // namespace millrace

extern "C" void millrace_llvm_emit(const millrace::PlannedKernel& kernel, const millrace::TargetSpec& spec,
                                   const millrace::LlvmEmitOptions& options,
                                   millrace::Result<millrace::LlvmEmitOutput>& result) {
  const auto work = std::make_shared<millrace::EmitWork>(kernel, spec, options);
  millrace::Status status = millrace::run_on_llvm_thread(work);
  if (status.ok()) status = work->status;
  if (status.ok()) {
    result = std::move(work->output);
  } else {
    result = std::move(status);
  }
}

extern "C" void millrace_llvm_disassemble(std::span<const std::byte> code, const millrace::TargetSpec& spec,
                                          millrace::Result<std::string>& text) {
  const auto work = std::make_shared<millrace::DisassembleWork>(code, spec);
  const millrace::Status status = millrace::run_on_llvm_thread(work);
  text = status.ok() ? millrace::Result(std::move(work->text)) : status;
}

extern "C" void millrace_llvm_link(std::span<const std::span<const std::byte>> objects,
                                   millrace::Result<std::vector<std::byte>>& linked) {
  const auto work = std::make_shared<millrace::LinkWork>(objects);
  const millrace::Status status = millrace::run_on_llvm_thread(work);
  linked = status.ok() ? std::move(work->linked) : status;
}

extern "C" void millrace_llvm_read_code_object(std::span<const std::byte> bytes,
                                               millrace::Result<millrace::CodeObjectInfo>& info) {
  const auto work = std::make_shared<millrace::ReadCodeObjectWork>(bytes);
  const millrace::Status status = millrace::run_on_llvm_thread(work);
  info = status.ok() ? std::move(work->info) : status;
}

extern "C" void millrace_llvm_decode_code_object(std::span<const std::byte> bytes,
                                                 millrace::Result<millrace::MachineCode>& code) {
  const auto work = std::make_shared<millrace::DecodeCodeObjectWork>(bytes);
  const millrace::Status status = millrace::run_on_llvm_thread(work);
  code = status.ok() ? std::move(work->code) : status;
}
