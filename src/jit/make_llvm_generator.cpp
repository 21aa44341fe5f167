// SPDX-License-Identifier: Apache-2.0
#include "jit/build_id.h"
#include "jit/open_llvm_module.h"
#include "jit/plan_machine_kernel.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {
namespace {

/// The library's side of the LLVM generator. Only emit() opens the module.
class LlvmGenerator final : public KernelCompiler {
 public:
  std::string_view name() const override { return "llvm"; }

  std::string version() const override {
    return "llvm " + std::string(llvm_version()) + ", build " + std::string(build_id());
  }

  Status supports(const TargetSpec& spec) const override {
    // A cached kernel needs no module: that there is none is an error of emit().
    if (spec.is_cpu()) return {};
    return unimplemented("target " + spec.to_text() + " is no CPU; this generator makes x86-64 code");
  }

  Result<PlannedKernel> plan(const Kernel& kernel, const TargetSpec& spec) const override {
    MILLRACE_TRY_ASSIGN(PlannedKernel planned, plan_machine_kernel(kernel, spec, name()));
    const std::uint32_t threads = std::get<MachineKernel>(planned.mapped).workgroup_size;
    if (threads > 1) {
      return unimplemented("kernel '" + planned.name + "': workgroups of " + std::to_string(threads) + " threads, " +
                           spec.to_text() + " runs one thread a workgroup");
    }
    return planned;
  }

  Result<ExecutableImage> emit(const PlannedKernel& kernel, const TargetSpec& spec) const override {
    MILLRACE_TRY_ASSIGN(LlvmEmitOutput output, emit_with_llvm(kernel, spec, {}));
    return std::move(output.image);
  }

  Result<std::string> listing(const PlannedKernel& kernel, const TargetSpec& spec, ListingKind kind) const override {
    const LlvmEmitOptions options{.want_ir = kind == ListingKind::kLlvmIr,
                                  .want_asm = kind == ListingKind::kAssembly,
                                  .want_object = kind == ListingKind::kObject};
    MILLRACE_TRY_ASSIGN(LlvmEmitOutput output, emit_with_llvm(kernel, spec, options));
    return output.ir + output.assembly + output.object;  // one of them
  }
};

}  // namespace

std::shared_ptr<const KernelCompiler> make_llvm_generator() { return std::make_shared<LlvmGenerator>(); }

}  // namespace millrace
