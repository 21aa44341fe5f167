// SPDX-License-Identifier: Apache-2.0
// The interpreter as a generator: the slow reference for CPUs, and the only generator for simulated GPUs.
#include "jit/cache/build_id.h"
#include "jit/plan/plan_machine_kernel.h"
#include "millrace/jit/interpret.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {
namespace {

class InterpreterGenerator final : public KernelCompiler {
 public:
  std::string_view name() const override { return "interpreter"; }
  std::string version() const override { return "build " + std::string(build_id()); }

  Status supports(const TargetSpec& spec) const override {
    if (spec.is_cpu() || spec.is_simulated()) return {};
    return unimplemented("target " + spec.to_text() +
                         " is neither a CPU nor simulated; the interpreter runs on the host");
  }

  bool is_reference() const override { return true; }

  /// False, so that kernels with different names do not share an image: errors and observers show the name.
  bool emits_code() const override { return false; }

  Result<PlannedKernel> plan(const Kernel& kernel, const TargetSpec& spec) const override {
    MILLRACE_TRY_ASSIGN(PlannedKernel planned, plan_machine_kernel(kernel, spec, name()));
    // Includes the names of the kernel and its memories, because errors and observers show them.
    planned.key_text = to_text(std::get<MachineKernel>(planned.mapped));
    return planned;
  }

  Result<ExecutableImage> emit(const PlannedKernel& planned, const TargetSpec& spec) const override {
    ExecutableImage image;
    image.format = ImageFormat::kInterpreted;
    image.target = spec.plain().to_text();
    image.generator = std::string(name());
    image.info = planned.info;
    image.kernel = make_interpreted_kernel(std::get<MachineKernel>(planned.mapped), planned.memory);
    return image;
  }
};

}  // namespace

std::shared_ptr<const KernelCompiler> make_interpreter_generator() { return std::make_shared<InterpreterGenerator>(); }

}  // namespace millrace
