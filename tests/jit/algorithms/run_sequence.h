// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <doctest/doctest.h>

#include "millrace/jit/algorithm.h"
#include "millrace/jit/interpret.h"
#include "tests/jit/guarded_memory.h"

namespace millrace::test {

/// A cpu target whose only generator is the interpreter.
inline Target interpreted_target(IsaLevel level) {
  const KernelCompilerList generators = {make_interpreter_generator()};
  return Target::create({"cpu", level}, generators).value();
}

inline LowerOptions forced(std::string algorithm) {
  LowerOptions options;
  options.force_algorithm = std::move(algorithm);
  options.compile.allow_reference = true;
  return options;
}

/// Interprets the kernels of a sequence in order, with scratch at a guard page; the joined status words.
inline std::uint32_t run_sequence(const KernelSequence& sequence, const std::vector<void*>& operands,
                                  const std::vector<void*>& results, const SymbolValues& symbols) {
  std::vector<GuardedMemory> scratch;
  for (const SequenceScratch& need : sequence.scratch) {
    scratch.emplace_back(static_cast<std::size_t>(need.size_bytes.evaluate(symbols).value()),
                         GuardedMemory::Side::kEnd);
  }
  std::uint32_t status = 0;
  for (const SequenceKernel& entry : sequence.kernels) {
    std::vector<void*> buffers;
    for (const SequenceOperand& buffer : entry.buffers) {
      switch (buffer.kind) {
        case SequenceOperand::Kind::kOperand:
          buffers.push_back(operands[buffer.index]);
          break;
        case SequenceOperand::Kind::kResult:
          buffers.push_back(results[buffer.index]);
          break;
        case SequenceOperand::Kind::kScratch:
          buffers.push_back(scratch[buffer.index].data());
          break;
      }
    }
    std::vector<std::int64_t> sizes;
    for (const SizeExpr& size : entry.kernel.sizes) sizes.push_back(size.evaluate(symbols).value());
    const GuardedMemory workgroup_memory((entry.kernel.memory.workgroup_bytes + 63) / 64 * 64,
                                         GuardedMemory::Side::kEnd);
    const KernelArgs args{&status, workgroup_memory.data(), buffers.data(), sizes.data()};
    const auto groups = static_cast<std::uint32_t>(entry.kernel.num_groups.evaluate(symbols).value());
    const auto& machine = std::get<MachineKernel>(entry.kernel.mapped);
    REQUIRE(interpret_kernel(machine, entry.kernel.memory, args, 0, groups).message() == "");
  }
  return status;
}

}  // namespace millrace::test
