// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/split_generator.h"

#include "hal/cpu/code_loader.h"
#include "tests/support/gpu/split_barriers.h"
#include "tests/support/guarded_buffer.h"

namespace millrace::test {
namespace {

class SplitKernel final : public HostKernel {
 public:
  static Result<std::shared_ptr<const HostKernel>> create(const MachineKernel& kernel) {
    const TargetSpec host{.isa = host_isa_levels().back()};
    const auto llvm = make_llvm_generator();
    auto made = std::make_shared<SplitKernel>();
    MILLRACE_TRY_ASSIGN(const MachineKernel split, split_barriers(kernel));
    MILLRACE_TRY_ASSIGN(const PlannedKernel planned, llvm->plan(split, host));
    MILLRACE_TRY_ASSIGN(const ExecutableImage image, llvm->emit(planned, host));
    MILLRACE_TRY_ASSIGN(made->code_, MappedCode::map(image.bytes, image.code_bytes));
    made->entry_offset_ = image.entry_offset;
    made->workgroup_bytes_ = (planned.memory.workgroup_bytes + 63) / 64 * 64;
    return std::shared_ptr<const HostKernel>(std::move(made));
  }

  Status run(const KernelArgs& args, std::uint32_t first_group, std::uint32_t end_group) const override {
    const GuardedBuffer workgroup_memory(workgroup_bytes_, GuardedBuffer::Guard::kAfter);
    KernelArgs ours = args;
    ours.workgroup_memory = workgroup_memory.data();
    const auto entry = reinterpret_cast<std::uintptr_t>(code_.data() + entry_offset_);
    reinterpret_cast<HostKernelEntry>(entry)(&ours, first_group, end_group);
    return {};
  }

  Status run_observed(const KernelArgs& args, std::uint32_t first_group, std::uint32_t end_group,
                      const KernelObservation&) const override {
    return run(args, first_group, end_group);
  }

 private:
  MappedCode code_;
  std::uint64_t entry_offset_ = 0, workgroup_bytes_ = 0;
};

/// Plans like the interpreter; only the execution of the kernel differs.
class SplitGenerator final : public KernelCompiler {
 public:
  std::string_view name() const override { return "split"; }
  std::string version() const override { return interpreter_->version(); }

  Status supports(const TargetSpec& spec) const override {
    if (spec.is_simulated()) return {};
    return unimplemented("target " + spec.to_text() +
                         " is not simulated; this generator stands in for the simulator's");
  }

  Result<PlannedKernel> plan(const Kernel& kernel, const TargetSpec& spec) const override {
    MILLRACE_TRY_ASSIGN(PlannedKernel planned, interpreter_->plan(kernel, spec));
    planned.generator = name();
    return planned;
  }

  Result<ExecutableImage> emit(const PlannedKernel& planned, const TargetSpec& spec) const override {
    MILLRACE_TRY_ASSIGN(ExecutableImage image, interpreter_->emit(planned, spec));
    image.generator = name();
    MILLRACE_TRY_ASSIGN(image.kernel, SplitKernel::create(std::get<MachineKernel>(planned.mapped)));
    return image;
  }

 private:
  std::shared_ptr<const KernelCompiler> interpreter_ = make_interpreter_generator();
};

}  // namespace

std::shared_ptr<const KernelCompiler> make_split_generator() { return std::make_shared<SplitGenerator>(); }

}  // namespace millrace::test
