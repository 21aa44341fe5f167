// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernels/run_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "millrace/hal/device.h"
#include "millrace/jit/map_kernel.h"
#include "tests/support/gpu/run_on_sim.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/kernels/machine_kernels.h"
#include "tests/support/kernels/run_request.h"

namespace millrace::test {
namespace {

struct NamedBuffer {
  std::string name;
  DType dtype;
  bool is_written;
};

/// In the order in which the kernel takes them.
std::vector<NamedBuffer> buffers_of(const Kernel& kernel) {
  std::vector<NamedBuffer> buffers;
  if (const auto* machine = std::get_if<MachineKernel>(&kernel)) {
    for (const BufferArgument& buffer : machine->buffers) {
      buffers.push_back({buffer.name, buffer.dtype, buffer.is_written()});
    }
  } else if (const auto* loop = std::get_if<LoopKernel>(&kernel)) {
    for (std::size_t i = 0; i < loop->operands.size(); ++i) {
      if (loop->in_place == i) continue;
      buffers.push_back({loop->operands[i].name, loop->operands[i].type.dtype, false});
    }
    for (const KernelTensor& result : loop->results) buffers.push_back({result.name, result.type.dtype, true});
  }
  return buffers;
}

/// The memory of one run, each buffer against a page without access.
class RunMemory {
 public:
  RunMemory(const Kernel& kernel, const KernelRun& run) : buffers_(buffers_of(kernel)) {
    for (const NamedBuffer& buffer : buffers_) {
      const auto given = run.given.find(buffer.name), expected = run.expected.find(buffer.name);
      const std::vector<Scalar>* elements = given != run.given.end()         ? &given->second
                                            : expected != run.expected.end() ? &expected->second
                                                                             : nullptr;
      const std::size_t count = elements == nullptr ? 0 : elements->size();
      memory_.emplace_back(count * size_bytes(buffer.dtype), GuardedBuffer::Guard::kAfter);
      std::ranges::fill(memory_.back().bytes(), std::byte{0});
      if (given == run.given.end()) continue;
      for (std::size_t i = 0; i < count; ++i) set_element(memory_.back().data(), i, (*elements)[i]);
    }
  }

  std::vector<BufferBinding> bindings() const {
    std::vector<BufferBinding> bindings;
    for (const GuardedBuffer& buffer : memory_) bindings.push_back(buffer.binding());
    return bindings;
  }

  std::string problem(const KernelRun& run) const {
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const auto expected = run.expected.find(buffers_[b].name);
      if (expected == run.expected.end()) continue;
      for (std::size_t i = 0; i < expected->second.size(); ++i) {
        const Scalar found = element_at(memory_[b].data(), buffers_[b].dtype, i);
        if (same_value(found, expected->second[i])) continue;
        return fmt::format("{}[{}]: found {}, expected {}", buffers_[b].name, i, to_text(found),
                           to_text(expected->second[i]));
      }
    }
    return "";
  }

 private:
  std::vector<NamedBuffer> buffers_;
  std::vector<GuardedBuffer> memory_;
};

Result<std::vector<std::int64_t>> evaluate_all(const std::vector<SizeExpr>& sizes, const SymbolValues& symbols) {
  std::vector<std::int64_t> values;
  for (const SizeExpr& size : sizes) {
    MILLRACE_TRY_ASSIGN(const std::int64_t value, size.evaluate(symbols));
    values.push_back(value);
  }
  return values;
}

Status run_on_cpu(const PlannedKernel& planned, const ExecutableImage& image, const TargetSpec& spec,
                  const SimLaunch& launch) {
  MILLRACE_TRY_ASSIGN(const auto device, create_cpu_device(spec));
  MILLRACE_TRY_ASSIGN(auto executable, device->load(std::vector{image}));
  const CommandList list = record_launch(planned.info, launch);
  MILLRACE_TRY_ASSIGN(const auto recording, device->record(list, std::move(executable)));
  MILLRACE_TRY_ASSIGN(const auto sizes, evaluate_all({list.sizes.begin(), list.sizes.end()}, {}));
  return device->submit(*recording, {.bindings = launch.buffers, .sizes = sizes});
}

std::string check_outcome(const Status& status, const RunMemory& memory, const KernelRun& run) {
  const std::string found = status.ok() ? "" : fmt::format("{}: {}", to_text(status.code()), status.message());
  if (run.error.empty() ? !found.empty() : found.find(run.error) == std::string::npos) {
    return fmt::format("found the error '{}', expected '{}'", found, run.error);
  }
  return memory.problem(run);
}

/// Empty where the generator does not take the kernel, or cannot emit without a library that is away. The reference
/// takes every kernel.
std::string problem_with(const KernelCompiler& generator, const Kernel& kernel, const TargetSpec& spec,
                         const KernelRun& run) {
  if (!generator.supports(spec).ok()) return "";
  const Result<PlannedKernel> planned = generator.plan(kernel, spec);
  if (!planned.ok()) return generator.is_reference() ? planned.status().message() : "";
  const auto sizes = evaluate_all(planned->sizes, run.symbols);
  const auto groups = planned->num_groups.evaluate(run.symbols);
  if (!sizes.ok() || !groups.ok()) return (sizes.ok() ? groups.status() : sizes.status()).message();
  const RunMemory memory(kernel, run);
  const std::vector<BufferBinding> bindings = memory.bindings();
  SimLaunch launch{.buffers = bindings, .sizes = *sizes, .num_groups = *groups, .target = spec.to_text()};
  if (spec.is_simulated()) {
    const auto* machine = std::get_if<MachineKernel>(&planned->mapped);
    return machine == nullptr ? "" : check_outcome(run_on_sim(*machine, launch).status, memory, run);
  }
  const Result<ExecutableImage> image = generator.emit(*planned, spec);
  if (image.status().code() == StatusCode::kUnavailable) return "";
  return check_outcome(image.ok() ? run_on_cpu(*planned, *image, spec, launch) : image.status(), memory, run);
}

std::string definition_problem(const LoopKernel& kernel, const KernelRun& run) {
  const RunMemory memory(kernel, run);
  std::vector<void*> data;
  for (const BufferBinding& binding : memory.bindings()) data.push_back(binding.data);
  // The definition takes every operand: one in place has the result's memory.
  if (kernel.in_place) data.insert(data.begin() + *kernel.in_place, data.back());
  return check_outcome(evaluate_loop_kernel(kernel, data, run.symbols), memory, run);
}

/// Those of the host, and a simulated one; a machine kernel is for either kind, by its threads.
std::vector<TargetSpec> targets_of(const Kernel& kernel) {
  const auto* machine = std::get_if<MachineKernel>(&kernel);
  std::vector<TargetSpec> targets;
  if (machine == nullptr || machine->workgroup_size == 1) targets = host_targets();
  if (machine != nullptr && machine->workgroup_size == 1) return targets;
  const bool is_wide = machine != nullptr && machine->subgroup_size == 64;
  targets.push_back(TargetSpec::parse(is_wide ? "sim:gfx90a" : "sim:gfx1100").value());
  return targets;
}

}  // namespace

std::optional<DType> find_buffer_dtype(const Kernel& kernel, const std::string& name) {
  for (const NamedBuffer& buffer : buffers_of(kernel)) {
    if (buffer.name == name) return buffer.dtype;
  }
  return {};
}

std::string run_problem(const Kernel& kernel, const KernelRun& run) {
  if (const auto* loop = std::get_if<LoopKernel>(&kernel)) {
    if (const std::string problem = definition_problem(*loop, run); !problem.empty()) return "definition: " + problem;
  }
  for (const TargetSpec& target : targets_of(kernel)) {
    for (const auto& generator : all_generators()) {
      if (target.is_simulated() && !generator->is_reference()) continue;
      const std::string problem = problem_with(*generator, kernel, target, run);
      if (!problem.empty()) return fmt::format("{} on {}: {}", generator->name(), target.to_text(), problem);
    }
  }
  return "";
}

std::string plan_text(const Kernel& kernel, const TargetSpec& target) {
  const Result<PlannedKernel> planned = make_interpreter_generator()->plan(kernel, target);
  if (!planned.ok()) return planned.status().message();
  return to_text(planned->memory) + planned->mapping + "\n";
}

std::optional<std::string> code_text(const Kernel& kernel, const TargetSpec& target) {
  std::string text;
  for (const auto& generator : all_generators()) {
    const bool is_llvm = generator->name() == "llvm";
    if (!is_llvm && !generator->is_reference()) continue;
    const Result<PlannedKernel> planned = generator->plan(kernel, target);
    if (!planned.ok()) continue;
    if (!is_llvm) {
      text += to_text(std::get<MachineKernel>(planned->mapped));
    } else {
      const auto code = generator->listing(*planned, target, ListingKind::kAssembly);
      if (code.status().code() == StatusCode::kUnavailable) return {};
      text += code.ok() ? *code : code.status().message();
    }
  }
  return text;
}

}  // namespace millrace::test
