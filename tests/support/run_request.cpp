// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_request.h"

#include <algorithm>

#include "millrace/jit/kernel_cache.h"
#include "tests/support/guarded_buffer.h"

namespace millrace::test {
namespace {

using Kind = SequenceOperand::Kind;

KernelCache& cache() {
  static KernelCache cache(KernelCache::Options{});
  return cache;
}

Result<std::shared_ptr<const ExecutableImage>> compile(const PlannedKernel& kernel, const Target& target) {
  for (const auto& generator : target.generators()) {
    if (generator->name() != kernel.generator) continue;
    return cache().get(kernel, target.spec(), dynamic_cast<const KernelCompiler&>(*generator));
  }
  return internal_error("no generator " + kernel.generator);
}

/// A command list that runs a sequence once: operands, results and scratch are bound in this order.
class SequenceRecorder {
 public:
  SequenceRecorder(const KernelSequence& sequence, std::span<const BufferBinding> operands,
                   std::span<const BufferBinding> results)
      : num_operands_(operands.size()), num_results_(results.size()) {
    for (const BufferBinding& operand : operands) bind("operand", BindingKind::kInput, operand);
    for (const BufferBinding& result : results) bind("result", BindingKind::kOutput, result);
    for (const SequenceScratch& scratch : sequence.scratch) {
      const auto bytes = static_cast<std::size_t>(scratch.size_bytes.constant());
      scratch_.emplace_back(bytes, GuardedBuffer::Guard::kAfter);
      bind(scratch.name, BindingKind::kTransient, scratch_.back().binding());
    }
    for (const SequenceKernel& kernel : sequence.kernels) dispatch(kernel);
  }

  const CommandList& list() const { return list_; }
  std::span<const BufferBinding> bindings() const { return bindings_; }
  bool is_scratch_intact() const {
    return std::ranges::all_of(scratch_, [](const GuardedBuffer& buffer) { return buffer.is_slack_intact(); });
  }

 private:
  void bind(std::string name, BindingKind kind, const BufferBinding& memory) {
    const SizeIndex bytes = list_.add_size(static_cast<std::int64_t>(memory.size_bytes));
    list_.bindings.push_back({std::move(name), kind, bytes});
    bindings_.push_back(memory);
  }

  void dispatch(const SequenceKernel& kernel) {
    if (!list_.commands.empty()) list_.commands.emplace_back(BarrierCommand{});
    DispatchCommand command;
    command.kernel = list_.kernels.push_back(kernel.kernel.info);
    command.num_groups = list_.add_size(kernel.kernel.num_groups);
    for (const SequenceOperand& buffer : kernel.buffers) {
      std::size_t binding = buffer.index;
      if (buffer.kind != Kind::kOperand) binding += num_operands_;
      if (buffer.kind == Kind::kScratch) binding += num_results_;
      const auto index = static_cast<BindingIndex>(binding);
      command.buffers.push_back({index, list_.add_size(0), list_.bindings[index].size_bytes});
    }
    for (const SizeExpr& size : kernel.kernel.sizes) command.sizes.push_back(list_.add_size(size));
    list_.commands.emplace_back(std::move(command));
  }

  std::size_t num_operands_, num_results_;
  CommandList list_;
  std::vector<BufferBinding> bindings_;
  std::vector<GuardedBuffer> scratch_;
};

Result<Target> make_target(const TargetSpec& spec) { return Target::create(spec, all_generators()); }

}  // namespace

const CodeGeneratorList& all_generators() {
  static const CodeGeneratorList generators = {make_xbyak_generator(), make_llvm_generator(),
                                               make_interpreter_generator()};
  return generators;
}

std::vector<TargetSpec> host_targets() {
  std::vector<TargetSpec> targets;
  for (const IsaLevel level : host_isa_levels()) targets.push_back({"cpu", level});
  return targets;
}

Result<KernelSequence> plan_request(const KernelRequest& request, const RunOptions& options) {
  MILLRACE_TRY_ASSIGN(const Target target, make_target(options.target));
  LowerOptions lower;
  lower.force_algorithm = options.force_algorithm;
  lower.compile.force_generator = options.force_generator;
  // Without LLVM the interpreter is all that some kernels have.
  lower.compile.allow_reference =
      std::ranges::none_of(target.generators(), [](const auto& generator) { return generator->name() == "llvm"; });
  MILLRACE_TRY_ASSIGN(KernelSequence sequence, lower_request(request, target, lower));
  MILLRACE_TRY(verify(sequence));
  return sequence;
}

Result<RunReport> run_request(const KernelRequest& request, std::span<const BufferBinding> operands,
                              std::span<const BufferBinding> results, const RunOptions& options) {
  MILLRACE_TRY_ASSIGN(const KernelSequence sequence, plan_request(request, options));
  MILLRACE_TRY_ASSIGN(const Target target, make_target(options.target));
  RunReport report = {sequence.algorithm, {}};
  std::vector<ExecutableImage> images;
  for (const SequenceKernel& kernel : sequence.kernels) {
    MILLRACE_TRY_ASSIGN(const auto image, compile(kernel.kernel, target));
    images.push_back(*image);
    report.generators.push_back(kernel.kernel.generator);
  }
  MILLRACE_TRY_ASSIGN(const auto device, create_cpu_device(options.target, {options.max_groups_per_call}));
  MILLRACE_TRY_ASSIGN(auto executable, device->load(images));
  const SequenceRecorder recorder(sequence, operands, results);
  MILLRACE_TRY_ASSIGN(const auto recording, device->record(recorder.list(), std::move(executable)));
  std::vector<std::int64_t> sizes;
  for (const SizeExpr& size : recorder.list().sizes) sizes.push_back(size.constant());
  MILLRACE_TRY(device->submit(*recording, {recorder.bindings(), sizes}));
  if (!recorder.is_scratch_intact()) return internal_error("a kernel wrote before its scratch");
  return report;
}

}  // namespace millrace::test
