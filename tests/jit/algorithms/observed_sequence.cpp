// SPDX-License-Identifier: Apache-2.0
#include "tests/jit/algorithms/observed_sequence.h"

#include <memory>

#include <doctest/doctest.h>

#include "hal/sim/shadow_memory.h"
#include "tests/support/kernels/machine_kernels.h"
#include "tests/support/kernels/mutate_kernel.h"

namespace millrace::test {
namespace {

/// Calls run(kernel, buffers) for each kernel in order, until one gives a message.
std::string for_each_kernel(
    const KernelSequence& sequence, const SequenceRun& run,
    const std::function<std::string(const SequenceKernel&, const std::vector<BoundBytes>&)>& run_kernel) {
  std::vector<std::vector<std::byte>> scratch;
  for (const SequenceScratch& need : sequence.scratch) {
    const auto bytes = static_cast<std::size_t>(need.size_bytes.evaluate(run.symbols).value());
    scratch.emplace_back(bytes + 64, std::byte{0xcd});
  }
  for (const SequenceKernel& entry : sequence.kernels) {
    std::vector<BoundBytes> buffers;
    for (const SequenceOperand& buffer : entry.buffers) {
      using Kind = SequenceOperand::Kind;
      if (buffer.kind == Kind::kOperand) buffers.push_back(run.operands[buffer.index]);
      if (buffer.kind == Kind::kResult) buffers.push_back(run.results[buffer.index]);
      if (buffer.kind == Kind::kScratch) {
        buffers.push_back({scratch[buffer.index].data(), scratch[buffer.index].size() - 64});
      }
    }
    std::string message = run_kernel(entry, buffers);
    if (!message.empty()) return message;
  }
  return {};
}

Status observe(const SequenceKernel& entry, const std::vector<BoundBytes>& buffers, const SequenceRun& run,
               MemoryObserver& observer) {
  std::vector<void*> pointers;
  for (const BoundBytes& buffer : buffers) pointers.push_back(buffer.data);
  std::vector<std::int64_t> sizes;
  for (const SizeExpr& size : entry.kernel.sizes) sizes.push_back(size.evaluate(run.symbols).value());
  const auto groups = static_cast<std::uint32_t>(entry.kernel.num_groups.evaluate(run.symbols).value());
  return run_observed(std::get<MachineKernel>(entry.kernel.mapped), entry.kernel.memory, pointers, sizes, groups,
                      {.observer = &observer, .order_seed = run.order_seed});
}

/// Bytes that each memory of a kernel is asked for.
class TrafficCounter final : public MemoryObserver {
 public:
  Status begin_group(const ObservedKernel& kernel, const KernelArgs&, std::uint32_t) override {
    if (element_bytes_.empty()) {
      for (const ObservedMemory& memory : kernel.memories) element_bytes_.push_back(memory.element_bytes);
    }
    loaded.resize(element_bytes_.size());
    stored.resize(element_bytes_.size());
    return {};
  }
  Status access(const MemoryAccess& access) override {
    for (const ThreadAccess& thread : access.threads) {
      (access.kind == AccessKind::kLoad ? loaded : stored)[access.memory] +=
          thread.num_elements * element_bytes_[access.memory];
    }
    return {};
  }
  Status barrier(std::uint32_t) override { return {}; }

  std::vector<std::uint64_t> loaded, stored;

 private:
  std::vector<std::uint64_t> element_bytes_;
};

}  // namespace

Target gpu_target(std::string_view gfx) {
  const KernelCompilerList generators = {make_llvm_generator()};
  return Target::create({.family = "amdgpu", .gfx = std::string(gfx)}, generators).value();
}

std::string finding_in(const KernelSequence& sequence, const SequenceRun& run) {
  return for_each_kernel(sequence, run, [&](const SequenceKernel& entry, const std::vector<BoundBytes>& buffers) {
    std::vector<ObservedBuffer> arguments;
    for (const BoundBytes& buffer : buffers) arguments.push_back(ObservedBuffer::whole(buffer.size));
    ShadowMemory shadow(arguments);
    return observe(entry, buffers, run, shadow).message();
  });
}

TrafficBytes traffic_of(const KernelSequence& sequence, const SequenceRun& run) {
  TrafficBytes traffic;
  const auto count = [&](const SequenceKernel& entry, const std::vector<BoundBytes>& buffers) {
    TrafficCounter counter;
    const Status status = observe(entry, buffers, run, counter);
    counter.loaded.resize(buffers.size());
    counter.stored.resize(buffers.size());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const auto kind = entry.buffers[i].kind;
      using Kind = SequenceOperand::Kind;
      if (kind == Kind::kOperand) traffic.operands_loaded += counter.loaded[i];
      if (kind == Kind::kResult) traffic.results_stored += counter.stored[i];
      if (kind == Kind::kScratch) traffic.scratch_loaded += counter.loaded[i];
      if (kind == Kind::kScratch) traffic.scratch_stored += counter.stored[i];
    }
    return status.message();
  };
  CHECK(for_each_kernel(sequence, run, count) == "");
  return traffic;
}

Mistakes find_mistakes(const KernelSequence& sequence, std::size_t number, const ComplaintOf& complaint_of) {
  Mistakes mistakes;
  const PlannedKernel& planned = sequence.kernels[number].kernel;
  const auto& kernel = std::get<MachineKernel>(planned.mapped);
  const std::string where = "kernel " + std::to_string(number) + ", ";
  const auto try_one = [&](const KernelSequence& wrong, const std::string& what, bool may_be_harmless) {
    const bool is_found = complaint_of(wrong) != "";
    CHECK_MESSAGE((is_found || may_be_harmless), where << what << "\n" << to_text(kernel));
    ++(is_found ? mistakes.num_found : mistakes.num_harmless);
  };
  const auto try_all = [&](const char* how, const std::vector<Mutant>& mutants, bool may_be_harmless = false) {
    for (const Mutant& mutant : mutants) {
      KernelSequence wrong = sequence;
      wrong.kernels[number].kernel.mapped = mutant.kernel;
      try_one(wrong, how + mutant.what, may_be_harmless);
    }
  };
  try_all("without ", without_each_barrier(kernel));
  try_all("one too far: ", with_each_bound_off_by_one(kernel), /*may_be_harmless=*/true);
  try_all("one too short: ", with_each_slot_shorter(kernel));
  try_all("always: ", without_each_guard(kernel), /*may_be_harmless=*/true);
  try_all("all lanes: ", without_each_mask(kernel), /*may_be_harmless=*/true);
  for (const MemoryPlan& plan : with_each_pair_of_slots_overlapped(planned.memory)) {
    KernelSequence wrong = sequence;
    wrong.kernels[number].kernel.memory = plan;
    try_one(wrong, "slots overlap\n" + to_text(plan), false);
  }
  return mistakes;
}

Mistakes find_mistakes(const KernelSequence& sequence, const ComplaintOf& complaint_of) {
  Mistakes all;
  for (std::size_t i = 0; i < sequence.kernels.size(); ++i) {
    const Mistakes mistakes = find_mistakes(sequence, i, complaint_of);
    all.num_found += mistakes.num_found;
    all.num_harmless += mistakes.num_harmless;
  }
  return all;
}

Mistakes find_loop_mistakes(const KernelSequence& sequence, const ComplaintOf& complaint_of) {
  Mistakes mistakes;
  for (std::size_t i = 0; i < sequence.kernels.size(); ++i) {
    const auto& kernel = std::get<MachineKernel>(sequence.kernels[i].kernel.mapped);
    for (const Mutant& mutant : with_each_loop_off_by_one(kernel)) {
      KernelSequence wrong = sequence;
      wrong.kernels[i].kernel.mapped = mutant.kernel;
      ++(complaint_of(wrong) != "" ? mistakes.num_found : mistakes.num_harmless);
    }
  }
  return mistakes;
}

}  // namespace millrace::test
