// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "millrace/jit/machine_builder.h"

namespace millrace {

/// Writes barrier-free code of a workgroup's threads as code of one thread with a lane for each thread of a subgroup.
/// Values that are equal in all threads (constants, sizes, and what is computed from these) stay scalars. A vector of a
/// thread becomes one value for each of its lanes. Where threads diverge, both branches run under a mask.
class SubgroupCode {
 public:
  /// The threads that go this way: a bool vector; none: all of them.
  using Mask = std::optional<MachineValue>;
  /// What the threads have of one value, by lane of theirs: a scalar, or a vector of the subgroup's lanes.
  using Values = MachineBuilder::Values;

  SubgroupCode(const MachineKernel& source, MachineBuilder&);

  /// The subgroup that starts with this thread (i32); nothing is defined in it.
  void begin(MachineValue first_thread);
  void define(MachineValueId id, Values values) { values_.insert_or_assign(id, std::move(values)); }
  const Values& values(MachineValueId id) const { return values_.at(id); }
  /// All of them vectors of the subgroup's lanes.
  Values spread_values(MachineValueId id);
  void emit(const MachineInstruction&, Mask = std::nullopt);

 private:
  std::uint32_t lanes_of(MachineValueId id) const { return source_.types[id].lanes; }
  MachineValue operand(const MachineInstruction& instruction, std::size_t i, std::uint32_t lane = 0) const {
    return values(instruction.operands[i])[lane];
  }
  MachineValue zero(DType dtype) { return builder_.constant_int(dtype, 0); }
  MachineValue both(const Mask&, MachineValue condition);
  MachineValue threads_of(const Mask&);
  MemoryHandle memory(const MachineInstruction&) const;
  MachineValue offsets(const MachineInstruction&, std::uint32_t lane);
  MemoryHandle scratch(unsigned use, MachineValue vector);
  void emit_block(BlockId, const Mask&);
  /// The values that branches and loops of the new kernel carry: spread, those of one value after those of another.
  Values carry(std::span<const MachineValueId>);
  void define_carried(std::span<const MachineValueId>, std::span<const MachineValue> carried);
  MachineValue emit_value(const MachineInstruction&, std::uint32_t lane, const Mask&);
  MachineValue emit_lanewise(const MachineInstruction&, std::uint32_t lane);
  MachineValue emit_reduce(const MachineInstruction&);
  MachineValue emit_load(const MachineInstruction&, std::uint32_t lane, const Mask&);
  void emit_store(const MachineInstruction&, std::uint32_t lane, const Mask&);
  MachineValue emit_atomic(const MachineInstruction&, const Mask&);
  MachineValue emit_shuffle(MachineValue vector, MachineValue lanes, const Mask&);
  Values emit_if(const MachineInstruction&, const Mask&);
  Values emit_branch(BlockId, MachineValue threads, std::span<const MachineValueId> results);
  Values emit_for(const MachineInstruction&, const Mask&);
  Values emit_uniform_for(const MachineInstruction&, const Mask&);

  const MachineKernel& source_;
  MachineBuilder& builder_;
  std::uint32_t num_threads_;  // of a subgroup
  MachineValue first_thread_;
  std::vector<MemoryHandle> buffers_, slots_;
  std::map<MachineValueId, Values> values_;
  std::map<std::pair<unsigned, DType>, MemoryHandle> scratch_;
};

}  // namespace millrace
