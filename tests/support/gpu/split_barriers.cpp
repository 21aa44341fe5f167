// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/split_barriers.h"

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "tests/support/gpu/subgroup_code.h"

namespace millrace {
namespace {

class BarrierSplitter {
 public:
  explicit BarrierSplitter(const MachineKernel& source)
      : source_(source), builder_(source.name), code_(source, builder_) {
    for (const Block& block : source.blocks) {
      for (const MachineInstruction& instruction : block.instructions) {
        for (const MachineValueId id : instruction.results) defined_by_[id] = &instruction;
        for (const MachineValueId id : instruction.operands) ++num_uses_[id];
      }
      for (const MachineValueId id : block.yields) ++num_uses_[id];
    }
  }

  MachineKernel run() {
    builder_.set_num_groups(source_.num_groups);
    split_block(BlockId{0});
    return builder_.finish();
  }

 private:
  using Instructions = std::span<const MachineInstruction>;
  using Values = SubgroupCode::Values;

  bool has_barrier(const MachineInstruction& instruction) const {
    if (instruction.op == KernelOp::kBarrier) return true;
    for (const BlockId block : instruction.blocks) {
      for (const MachineInstruction& inner : source_.blocks[block].instructions) {
        if (has_barrier(inner)) return true;
      }
    }
    return false;
  }

  void split_block(BlockId block) {
    const Instructions all(source_.blocks[block].instructions);
    std::size_t first = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!has_barrier(all[i])) continue;
      emit_phase(all.subspan(first, i - first));
      if (all[i].op == KernelOp::kFor) split_for(all[i]);
      if (all[i].op == KernelOp::kIf) split_if(all[i]);
      first = i + 1;
    }
    emit_phase(all.subspan(first));
  }

  /// The workgroup's subgroups, one after the other.
  template <class F>
  void for_each_subgroup(F&& f) {
    const MachineValue threads = builder_.i32(static_cast<std::int32_t>(source_.workgroup_size));
    const MachineValue step = builder_.i32(static_cast<std::int32_t>(source_.subgroup_size));
    builder_.for_loop(builder_.i32(0), threads, step, {}, [&](MachineValue first_thread, const Values&) {
      code_.begin(first_thread);
      f(first_thread);
      return Values{};
    });
  }

  /// Instructions with no barrier among them.
  void emit_phase(Instructions instructions) {
    std::set<MachineValueId> defined;
    std::map<MachineValueId, unsigned> uses;
    for (const MachineInstruction& instruction : instructions) scan(instruction, defined, uses);
    if (defined.empty() && uses.empty()) return;
    for_each_subgroup([&](MachineValue first_thread) {
      for (const auto& [id, count] : uses) {
        if (!defined.contains(id)) fetch(id, first_thread);
      }
      for (const MachineInstruction& instruction : instructions) code_.emit(instruction);
      for (const MachineInstruction& instruction : instructions) {
        for (const MachineValueId id : instruction.results) {
          if (num_uses_[id] > uses[id] && !is_alike(id)) keep(id, id, first_thread);
        }
      }
    });
  }

  void scan(const MachineInstruction& instruction, std::set<MachineValueId>& defined,
            std::map<MachineValueId, unsigned>& uses) const {
    defined.insert(instruction.results.begin(), instruction.results.end());
    for (const MachineValueId id : instruction.operands) ++uses[id];
    for (const BlockId id : instruction.blocks) {
      const Block& block = source_.blocks[id];
      defined.insert(block.parameters.begin(), block.parameters.end());
      for (const MachineInstruction& inner : block.instructions) scan(inner, defined, uses);
      for (const MachineValueId yield : block.yields) ++uses[yield];
    }
  }

  /// Whether the value is made anew wherever it is asked for: it depends on nothing.
  bool is_alike(MachineValueId id) const {
    const auto found = defined_by_.find(id);
    if (found == defined_by_.end()) return false;
    const KernelOp op = found->second->op;
    return op == KernelOp::kConstant || op == KernelOp::kSize || op == KernelOp::kWorkgroupId;
  }

  /// Where all threads keep a value that outlives its phase: one slot for each of a thread's lanes.
  const std::vector<MemoryHandle>& kept(MachineValueId id) {
    std::vector<MemoryHandle>& places = kept_[id];
    const VectorType& type = source_.types[id];
    while (places.size() < type.lanes) {
      places.push_back(builder_.workgroup_memory(type.dtype, source_.workgroup_size, "kept"));
    }
    return places;
  }

  /// This subgroup's `value`, there where `id` is kept.
  void keep(MachineValueId value, MachineValueId id, MachineValue first_thread) {
    const Values lanes = code_.spread_values(value);
    const std::vector<MemoryHandle>& places = kept(id);
    for (std::size_t i = 0; i < places.size(); ++i) builder_.store(places[i], first_thread, lanes[i]);
  }

  void fetch(MachineValueId id, MachineValue first_thread) {
    if (is_alike(id)) {
      code_.emit(*defined_by_.at(id));
    } else if (const auto index = indices_.find(id); index != indices_.end()) {
      code_.define(id, {index->second});
    } else {
      Values lanes;
      for (const MemoryHandle place : kept(id)) {
        lanes.push_back(builder_.load(place, first_thread, source_.subgroup_size));
      }
      code_.define(id, std::move(lanes));
    }
  }

  /// A scalar that is the same in all threads, outside of phases.
  MachineValue alike(MachineValueId id) {
    if (const auto index = indices_.find(id); index != indices_.end()) return index->second;
    if (!is_alike(id)) return builder_.load(kept(id)[0], builder_.i32(0));
    code_.emit(*defined_by_.at(id));
    return code_.values(id)[0];
  }

  /// All threads' `from` become their `to`, at once.
  void copy(std::span<const MachineValueId> from, std::span<const MachineValueId> to) {
    if (to.empty()) return;
    for_each_subgroup([&](MachineValue first_thread) {
      for (const MachineValueId id : from) fetch(id, first_thread);
      for (std::size_t i = 0; i < to.size(); ++i) keep(from[i], to[i], first_thread);
    });
  }

  void split_for(const MachineInstruction& loop) {
    const Block& body = source_.blocks[loop.blocks[0]];
    const std::span<const MachineValueId> carried = std::span(body.parameters).subspan(1);
    copy(std::span(loop.operands).subspan(3), carried);
    const MachineValue lower = alike(loop.operands[0]), upper = alike(loop.operands[1]), step = alike(loop.operands[2]);
    builder_.for_loop(lower, upper, step, {}, [&](MachineValue index, const Values&) {
      indices_.insert_or_assign(body.parameters[0], index);
      split_block(loop.blocks[0]);
      copy(body.yields, carried);
      return Values{};
    });
    for (std::size_t i = 0; i < carried.size(); ++i) kept_.insert_or_assign(loop.results[i], kept(carried[i]));
  }

  void split_if(const MachineInstruction& choice) {
    const auto branch = [&](BlockId block) {
      split_block(block);
      copy(source_.blocks[block].yields, choice.results);
      return Values{};
    };
    builder_.if_else(
        alike(choice.operands[0]), [&] { return branch(choice.blocks[0]); }, [&] { return branch(choice.blocks[1]); });
  }

  const MachineKernel& source_;
  MachineBuilder builder_;
  SubgroupCode code_;
  std::map<MachineValueId, const MachineInstruction*> defined_by_;
  std::map<MachineValueId, unsigned> num_uses_;
  std::map<MachineValueId, std::vector<MemoryHandle>> kept_;
  std::map<MachineValueId, MachineValue> indices_;  // of loops around phases
};

}  // namespace

Result<MachineKernel> split_barriers(const MachineKernel& kernel) {
  MILLRACE_TRY(verify(kernel));
  if (kernel.workgroup_size == 1) return kernel;
  return BarrierSplitter(kernel).run();
}

}  // namespace millrace
