// SPDX-License-Identifier: Apache-2.0
// Verifies machine kernels: checks every invariant that machine_kernel.h lists, and reports all failures.
#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "jit/ir/machine_type_rules.h"
#include "jit/ir/subgroup_flow.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {
namespace {

class Verifier {
 public:
  explicit Verifier(const MachineKernel& kernel)
      : kernel_(kernel), values_(kernel.types.size()), block_is_used_(kernel.blocks.size()) {}

  Status run() {
    check_declarations();
    if (kernel_.blocks.empty()) {
      fail("no block, expected a body");
    } else {
      check_body();
    }
    if (errors_.empty() && kernel_.subgroup_size > 1) check_exchanges();
    if (errors_.empty()) return {};
    return invalid_argument(fmt::format("{}", fmt::join(errors_, "\n")));
  }

 private:
  enum class ValueState : std::uint8_t { kUndefined, kInScope, kOutOfScope };

  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    errors_.push_back(fmt::format("kernel '{}': {}", kernel_.name, fmt::format(format, std::forward<Args>(args)...)));
  }

  /// "%7 = load_masked", or "store_vector %2, %3" for an instruction without results.
  static std::string where(const MachineInstruction& instruction) {
    std::string text;
    for (const MachineValueId id : instruction.results) {
      text += fmt::format("{}%{}", text.empty() ? "" : ", ", index_of(id));
    }
    if (!text.empty()) return fmt::format("{} = {}", text, to_text(instruction.op));
    for (const MachineValueId id : instruction.operands) {
      text += fmt::format("{} %{}", text.empty() ? "" : ",", index_of(id));
    }
    return fmt::format("{}{}", to_text(instruction.op), text);
  }

  void check_workgroup() {
    const std::uint32_t threads = kernel_.workgroup_size, subgroup = kernel_.subgroup_size;
    if (threads == 0) fail("workgroups of 0 threads, expected at least 1");
    if (subgroup != 1 && subgroup != 32 && subgroup != 64) {
      fail("subgroups of {} threads, expected 1, 32 or 64", subgroup);
    } else if (threads % subgroup != 0) {
      fail("workgroups of {} threads, expected a multiple of the subgroups' {}", threads, subgroup);
    }
  }

  void check_declarations() {
    for (std::size_t i = 0; i < kernel_.types.size(); ++i) {
      const VectorType& type = kernel_.types[static_cast<MachineValueId>(i)];
      if (!is_register_dtype(type.dtype)) {
        fail("%{} is {}, expected a register's dtype; hold its bits as u16", i, type.to_text());
      }
      if (type.lanes == 0) fail("%{} has 0 lanes, expected at least 1", i);
    }
    for (std::size_t i = 0; i < kernel_.slots.size(); ++i) {
      const MemorySlot& slot = kernel_.slots[i];
      if (slot.kind == MemoryKind::kBuffer) {
        fail("slot #{} ('{}') is a buffer, expected workgroup or private memory", i, slot.name);
      }
      if (slot.num_elements == 0) fail("slot #{} ('{}') has 0 elements, expected at least 1", i, slot.name);
    }
    check_workgroup();
    std::map<std::string, Dim> symbols;
    check_symbols("the number of groups", kernel_.num_groups, symbols);
    for (std::size_t i = 0; i < kernel_.sizes.size(); ++i) {
      const std::optional<SizeExpr>& value = kernel_.sizes[i].value;
      if (value) check_symbols(fmt::format("size argument s{}", i), *value, symbols);
    }
  }

  void check_symbols(std::string_view what, const SizeExpr& value, std::map<std::string, Dim>& symbols) {
    if (const Status status = unguarded(value.collect_symbols(symbols)); !status.ok())
      fail("{}: {}", what, status.message());
  }

  void check_body() {
    block_is_used_[0] = true;
    check_block(BlockId{});
    const Block& body = kernel_.blocks[BlockId{}];
    if (!body.parameters.empty()) fail("the body has {} parameters, expected none", body.parameters.size());
    if (!body.yields.empty()) fail("the body yields {} values, expected none", body.yields.size());
    for (std::size_t i = 0; i < block_is_used_.size(); ++i) {
      if (!block_is_used_[i]) fail("block {} belongs to no instruction", i);
    }
  }

  /// An exchange with threads that are in another block would have arbitrary results.
  void check_exchanges() {
    if (!exchanges_lanes(kernel_, BlockId{})) return;
    const SubgroupFlow flow = analyze_subgroup_flow(kernel_);
    for (std::size_t i = 0; i < kernel_.blocks.size(); ++i) {
      if (flow.is_together[i]) continue;
      for (const MachineInstruction& instruction : kernel_.blocks[static_cast<BlockId>(i)].instructions) {
        if (!exchanges_lanes(instruction.op)) continue;
        fail(
            "{}: some threads of a subgroup may not enter block {}, expected all or none; move it out, or broadcast "
            "the value that the branch depends on",
            where(instruction), i);
      }
    }
  }

  void define(const auto& what, MachineValueId id) {
    if (!kernel_.types.contains(id)) {
      fail("{}: defines %{}, expected less than %{}", what(), index_of(id), kernel_.types.size());
    } else if (values_[index_of(id)] != ValueState::kUndefined) {
      fail("{}: defines %{} a second time", what(), index_of(id));
    } else {
      values_[index_of(id)] = ValueState::kInScope;
      scope_.push_back(id);
    }
  }

  void use(const auto& what, MachineValueId id) {
    if (!kernel_.types.contains(id)) {
      fail("{}: uses %{}, expected less than %{}", what(), index_of(id), kernel_.types.size());
    } else if (values_[index_of(id)] == ValueState::kUndefined) {
      fail("{}: uses %{} before its definition", what(), index_of(id));
    } else if (values_[index_of(id)] == ValueState::kOutOfScope) {
      fail("{}: uses %{} outside the block that defines it", what(), index_of(id));
    }
  }

  void check_block(BlockId id) {
    const std::size_t outer = scope_.size();
    const Block& block = kernel_.blocks[id];
    const auto head = [&] { return fmt::format("block {}", index_of(id)); };
    const auto end = [&] { return fmt::format("yield of block {}", index_of(id)); };
    for (const MachineValueId parameter : block.parameters) define(head, parameter);
    for (const MachineInstruction& instruction : block.instructions) check_instruction(instruction);
    for (const MachineValueId yield : block.yields) use(end, yield);
    for (std::size_t i = outer; i < scope_.size(); ++i) values_[index_of(scope_[i])] = ValueState::kOutOfScope;
    scope_.resize(outer);
  }

  void check_instruction(const MachineInstruction& instruction) {
    const auto place = [&] { return where(instruction); };  // formatted only for messages: most kernels have no error
    for (const MachineValueId operand : instruction.operands) use(place, operand);
    const bool counts_are_right = check_counts(place, instruction);
    if (counts_are_right) {
      for (const BlockId block : instruction.blocks) check_block(block);
    }
    for (const MachineValueId result : instruction.results) define(place, result);
    if (!counts_are_right || !all_exist(instruction)) return;  // some operands have no type to compare
    for (const std::string& error : check_machine_types(kernel_, instruction)) fail("{}: {}", place(), error);
  }

  bool all_exist(const MachineInstruction& instruction) const {
    const auto exist = [&](const std::vector<MachineValueId>& ids) {
      return std::ranges::all_of(ids, [&](MachineValueId id) { return kernel_.types.contains(id); });
    };
    return exist(instruction.operands) && exist(instruction.results) &&
           std::ranges::all_of(instruction.blocks, [&](BlockId id) {
             return exist(kernel_.blocks[id].parameters) && exist(kernel_.blocks[id].yields);
           });
  }

  bool expect_count(const auto& place, std::string_view what, std::size_t found, std::size_t expected) {
    if (found == expected) return true;
    fail("{}: {} {}, expected {}", place(), found, what, expected);
    return false;
  }

  static std::size_t num_results(KernelOp op) {
    switch (op) {
      case KernelOp::kStoreVector:
      case KernelOp::kStoreStreaming:
      case KernelOp::kStoreMasked:
      case KernelOp::kScatter:
      case KernelOp::kReportError:
      case KernelOp::kBarrier:
        return 0;
      default:
        return 1;
    }
  }

  /// Checks the numbers of operands, results, blocks, parameters and yields. Marks the blocks as used.
  bool check_counts(const auto& place, const MachineInstruction& instruction) {
    const KernelOp op = instruction.op;
    if (rule_of(op) == KernelOpRule::kBody) {
      fail("{}: allowed only in bodies of loop kernels", place());
      return false;
    }
    const std::size_t num_blocks = op == KernelOp::kFor ? 1 : op == KernelOp::kIf ? 2 : 0;
    if (!expect_count(place, "blocks", instruction.blocks.size(), num_blocks)) return false;
    for (const BlockId block : instruction.blocks) {
      if (!kernel_.blocks.contains(block) || block_is_used_[index_of(block)]) {
        fail("{}: block {}, expected a block of the kernel that nothing else uses", place(), index_of(block));
        return false;
      }
      block_is_used_[index_of(block)] = true;
    }
    const std::size_t fixed = num_operands(op);
    if (op == KernelOp::kFor) return check_for_counts(place, instruction);
    if (!expect_count(place, "operands", instruction.operands.size(), fixed)) return false;
    if (op == KernelOp::kIf) return check_if_counts(place, instruction);
    return expect_count(place, "results", instruction.results.size(), num_results(op));
  }

  bool check_for_counts(const auto& place, const MachineInstruction& loop) {
    const Block& body = kernel_.blocks[loop.blocks[0]];
    if (loop.operands.size() < 3) {
      fail("{}: {} operands, expected at least 3", place(), loop.operands.size());
      return false;
    }
    const std::size_t carried = loop.operands.size() - 3;
    return expect_count(place, "results", loop.results.size(), carried) &&
           expect_count(place, "parameters of its block", body.parameters.size(), carried + 1) &&
           expect_count(place, "yields of its block", body.yields.size(), carried);
  }

  bool check_if_counts(const auto& place, const MachineInstruction& branch) {
    for (const BlockId id : branch.blocks) {
      const Block& block = kernel_.blocks[id];
      if (!expect_count(place, "parameters of its block", block.parameters.size(), 0) ||
          !expect_count(place, "yields of its block", block.yields.size(), branch.results.size())) {
        return false;
      }
    }
    return true;
  }

  const MachineKernel& kernel_;
  std::vector<ValueState> values_;
  std::vector<bool> block_is_used_;
  std::vector<MachineValueId> scope_;
  std::vector<std::string> errors_;
};

}  // namespace

Status verify(const MachineKernel& kernel) {
  VerificationCount::note(IrLevel::kMachineKernel);
  return guard_allocations([&] { return Verifier(kernel).run(); });
}

}  // namespace millrace
