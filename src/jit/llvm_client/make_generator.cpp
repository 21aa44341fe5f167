// SPDX-License-Identifier: Apache-2.0
// The library's side of the LLVM generator: plans kernels itself, and opens the LLVM module only to emit code.
#include "base/guard_allocations.h"
#include "jit/cache/build_id.h"
#include "jit/llvm_client/open_module.h"
#include "jit/llvm_client/release_pages.h"
#include "jit/plan/plan_machine_kernel.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {
namespace {

/// Checks that the target supports the kernel's workgroup and subgroup size.
Status check_workgroup(const MachineKernel& kernel, const TargetSpec& spec) {
  const auto refuse = [&](const std::string& found, const std::string& expected) {
    return unimplemented("kernel '" + kernel.name + "': " + found + ", " + spec.to_text() + " runs " + expected);
  };
  const std::string threads = std::to_string(kernel.workgroup_size);
  if (spec.is_cpu() && kernel.workgroup_size > 1) {
    return refuse("workgroups of " + threads + " threads", "one thread per workgroup");
  }
  if (kernel.subgroup_size != spec.subgroup_size()) {
    return refuse("subgroups of " + std::to_string(kernel.subgroup_size) + " threads",
                  "subgroups of " + std::to_string(spec.subgroup_size()));
  }
  if (spec.is_gpu() && kernel.workgroup_size > spec.gfx_target()->max_workgroup_size) {
    return refuse("workgroups of " + threads + " threads",
                  std::to_string(spec.gfx_target()->max_workgroup_size) + " at most");
  }
  return {};
}

/// Only emit() and the listing functions open the module (open_module.h).
class LlvmGenerator final : public KernelCompiler {
 public:
  explicit LlvmGenerator(const LlvmOptions& options) : options_(options) {}

  std::string_view name() const override { return "llvm"; }

  std::string version() const override {
    return "llvm " + std::string(llvm_version()) + ", build " + std::string(build_id());
  }

  Status supports(const TargetSpec& spec) const override {
    // A cached kernel needs no module, so only emit() fails if the module is missing.
    if (spec.is_simulated()) {
      return unimplemented("target " + spec.to_text() + " is simulated from kernel IR; use the interpreter");
    }
    if (spec.is_cpu() || spec.is_gpu()) return {};
    return unimplemented("target " + spec.to_text() + " is neither a CPU nor a known GPU; this generator makes " +
                         "x86-64 code and AMD GPU code objects");
  }

  Result<PlannedKernel> plan(const Kernel& kernel, const TargetSpec& spec) const override {
    MILLRACE_TRY_ASSIGN(PlannedKernel planned, plan_machine_kernel(kernel, spec, name()));
    planned.uses_tune = spec.is_cpu();
    MILLRACE_TRY(check_workgroup(std::get<MachineKernel>(planned.mapped), spec));
    if (options_.line_tables && spec.is_gpu()) planned.key_text += "line tables\n";
    return planned;
  }

  Result<ExecutableImage> emit(const PlannedKernel& kernel, const TargetSpec& spec) const override {
    MILLRACE_TRY_ASSIGN(LlvmEmitOutput output, emit_with_llvm(kernel, spec, {.line_tables = options_.line_tables}));
    return std::move(output.image);
  }

  Result<std::string> listing(const PlannedKernel& kernel, const TargetSpec& spec, ListingKind kind) const override {
    const LlvmEmitOptions options{.line_tables = options_.line_tables,
                                  .want_ir = kind == ListingKind::kLlvmIr,
                                  .want_asm = kind == ListingKind::kAssembly,
                                  .want_object = kind == ListingKind::kObject};
    MILLRACE_TRY_ASSIGN(const LlvmEmitOutput output, emit_with_llvm(kernel, spec, options));
    return guard_allocations([&]() -> Result<std::string> {
      return output.ir + output.assembly + output.object;  // all except the requested one are empty
    });
  }

  void release_memory() const override { release_llvm_pages(); }

 private:
  LlvmOptions options_;
};

}  // namespace

std::shared_ptr<const KernelCompiler> make_llvm_generator(const LlvmOptions& options) {
  return std::make_shared<LlvmGenerator>(options);
}

}  // namespace millrace
