// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "millrace/jit/machine_builder.h"

namespace millrace {

/// Writes barrier-free code of a workgroup's threads as code of one thread with a lane for each thread of a subgroup.
/// What all lanes have alike (constants, sizes, what is made of these) stays a scalar. Where lanes part, both ways are
/// gone under a mask.
class SubgroupCode {
 public:
  /// The threads that go this way: a bool vector; none: all of them.
  using Mask = std::optional<MachineValue>;

  /// Precondition: every value of `source` is a scalar.
  SubgroupCode(const MachineKernel& source, MachineBuilder&);

  /// The subgroup that starts with this thread (i32); nothing is defined in it.
  void begin(MachineValue first_thread);
  void define(MachineValueId id, MachineValue value) { values_.insert_or_assign(id, value); }
  /// A scalar, or a vector of the subgroup's lanes.
  MachineValue value(MachineValueId id) const { return values_.at(id); }
  MachineValue value_of_lanes(MachineValueId id) { return builder_.splat(value(id), lanes_); }
  void emit(const MachineInstruction&, Mask = std::nullopt);

 private:
  using Values = MachineBuilder::Values;

  MachineValue operand(const MachineInstruction& instruction, std::size_t i) const {
    return value(instruction.operands[i]);
  }
  MachineValue zero(DType dtype) { return builder_.constant_int(dtype, 0); }
  MachineValue both(const Mask&, MachineValue condition);
  MachineValue threads_of(const Mask&);
  MemoryHandle memory(const MachineInstruction&) const;
  MachineValue offsets(const MachineInstruction&);
  MemoryHandle scratch(unsigned use, MachineValue vector);
  void emit_block(BlockId, const Mask&);
  Values yields(BlockId);
  Values carried_at_first(const MachineInstruction& loop);
  MachineValue emit_value(const MachineInstruction&, const Mask&);
  MachineValue emit_lanewise(const MachineInstruction&);
  MachineValue emit_load(const MachineInstruction&, const Mask&);
  void emit_store(const MachineInstruction&, const Mask&);
  MachineValue emit_atomic(const MachineInstruction&, const Mask&);
  MachineValue emit_shuffle(MachineValue vector, MachineValue lanes, const Mask&);
  Values emit_if(const MachineInstruction&, const Mask&);
  Values emit_branch(BlockId, MachineValue threads, const std::vector<MachineValueId>& results);
  Values emit_for(const MachineInstruction&, const Mask&);
  Values emit_uniform_for(const MachineInstruction&, const Mask&);

  const MachineKernel& source_;
  MachineBuilder& builder_;
  std::uint32_t lanes_;
  MachineValue first_thread_;
  std::vector<MemoryHandle> buffers_, slots_;
  std::map<MachineValueId, MachineValue> values_;
  std::map<std::pair<unsigned, DType>, MemoryHandle> scratch_;
};

}  // namespace millrace
