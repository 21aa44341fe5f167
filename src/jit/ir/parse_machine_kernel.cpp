// SPDX-License-Identifier: Apache-2.0
// Reads the text of machine kernels.
#include <map>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/size_expr/reader.h"
#include "base/text/number.h"
#include "base/text/read_type.h"
#include "jit/ir/operation_text.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {
namespace {

constexpr std::uint32_t kMaxValues = 1 << 20;
/// The maximum nesting of blocks. The parser, the verifier and other passes recurse into blocks.
constexpr int kMaxBlockDepth = 200;

std::vector<MachineValueId> to_ids(const std::vector<std::uint32_t>& numbers) {
  std::vector<MachineValueId> ids;
  for (const std::uint32_t number : numbers) ids.push_back(MachineValueId{number});
  return ids;
}

class MachineKernelParser {
 public:
  MachineKernelParser(std::string_view name, std::string_view text) : text_(name, text) {}

  Result<MachineKernel> parse() {
    if (!text_.take_word("kernel")) return text_.unexpected("expected 'kernel'");
    MILLRACE_TRY_ASSIGN(kernel_.name, text_.read_name("expected the kernel's name"));
    MILLRACE_TRY(read_symbols(text_, symbols_));
    if (!text_.take_word("groups")) return text_.unexpected("expected 'groups' and the number of workgroups");
    MILLRACE_TRY_ASSIGN(kernel_.num_groups, read_size_expr(text_, symbols_));
    if (text_.take_word("workgroup")) MILLRACE_TRY(read_workgroup());
    while (text_.take_word("buffer")) MILLRACE_TRY(read_buffer());
    while (text_.take_word("size")) MILLRACE_TRY(read_size_argument());
    while (text_.take_word("slot")) MILLRACE_TRY(read_slot());
    if (!text_.take_word("body")) return text_.unexpected("expected the body");
    kernel_.blocks.push_back({});
    MILLRACE_TRY(read_block(BlockId{}));
    if (!text_.at_end()) return text_.unexpected("expected the end of the text; a text holds one kernel");
    return std::move(kernel_);
  }

 private:
  /// "64 threads, subgroups of 32"
  Status read_workgroup() {
    MILLRACE_TRY_ASSIGN(kernel_.workgroup_size, read_number<std::uint32_t>(text_));
    if (!text_.take_word("threads") || !text_.take(",") || !text_.take_word("subgroups") || !text_.take_word("of")) {
      return text_.unexpected("expected 'threads, subgroups of'");
    }
    MILLRACE_TRY_ASSIGN(kernel_.subgroup_size, read_number<std::uint32_t>(text_));
    return {};
  }

  /// "@0 x:"
  Result<std::string> read_declared(std::string_view sign, std::size_t number) {
    MILLRACE_TRY(expect(text_, sign));
    MILLRACE_TRY(expect_number(text_, number));
    MILLRACE_TRY_ASSIGN(std::string name, text_.read_name("expected a name"));
    MILLRACE_TRY(expect(text_, ":"));
    return name;
  }

  Status read_buffer() {
    BufferArgument buffer;
    MILLRACE_TRY_ASSIGN(buffer.name, read_declared("@", kernel_.buffers.size()));
    MILLRACE_TRY_ASSIGN(buffer.dtype, read_dtype(text_));
    const bool is_read = text_.take_word("read"), is_written = text_.take_word("write");
    if (!is_read && !is_written) return text_.unexpected("expected 'read', 'write' or both");
    buffer.access = !is_written ? BufferAccess::kRead : is_read ? BufferAccess::kReadWrite : BufferAccess::kWrite;
    kernel_.buffers.push_back(std::move(buffer));
    return {};
  }

  Status read_size_argument() {
    SizeArgument size{fmt::format("s{}", kernel_.sizes.size()), std::nullopt};
    if (!text_.take_word(size.name)) return text_.unexpected(fmt::format("expected '{}'", size.name));
    MILLRACE_TRY(expect(text_, ":"));
    if (!text_.take("of each launch")) {
      MILLRACE_TRY_ASSIGN(size.value, read_size_expr(text_, symbols_));
    }
    kernel_.sizes.push_back(std::move(size));
    return {};
  }

  Status read_slot() {
    MemorySlot slot;
    MILLRACE_TRY_ASSIGN(slot.name, read_declared("#", kernel_.slots.size()));
    const std::size_t begin = text_.position();
    const auto kind = find_by_text(text_.take_name(), MemoryKind::kPrivate);
    if (!kind) {
      text_.move_to(begin);
      return text_.unexpected("expected workgroup or private");
    }
    slot.kind = *kind;
    MILLRACE_TRY_ASSIGN(slot.dtype, read_dtype(text_));
    MILLRACE_TRY(expect(text_, "["));
    MILLRACE_TRY_ASSIGN(slot.num_elements, read_number<std::uint64_t>(text_));
    MILLRACE_TRY(expect(text_, "]"));
    if (text_.take_word("rows")) {
      if (!text_.take_word("of")) return text_.unexpected("expected 'of'");
      MILLRACE_TRY_ASSIGN(slot.row.num_elements, read_number<std::uint64_t>(text_));
      MILLRACE_TRY(expect(text_, "+"));
      MILLRACE_TRY_ASSIGN(slot.row.padding_elements, read_number<std::uint64_t>(text_));
    }
    kernel_.slots.push_back(std::move(slot));
    return {};
  }

  Status read_block(BlockId id) {
    if (depth_ == kMaxBlockDepth) {
      return text_.unexpected(fmt::format("expected at most {} nested blocks", kMaxBlockDepth));
    }
    ++depth_;
    MILLRACE_TRY(expect(text_, "{"));
    std::vector<MachineInstruction> instructions;
    while (!text_.take("}")) {
      if (text_.take_word("yield")) {
        MILLRACE_TRY_ASSIGN(const auto yields, read_operands(text_));
        kernel_.blocks[id].yields = to_ids(yields);
        MILLRACE_TRY(expect(text_, "}"));
        break;
      }
      MILLRACE_TRY_ASSIGN(MachineInstruction instruction, read_instruction());
      instructions.push_back(std::move(instruction));
    }
    kernel_.blocks[id].instructions = std::move(instructions);
    --depth_;
    return {};
  }

  Result<MachineInstruction> read_instruction() {
    MachineInstruction instruction;
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(const auto results, read_operands(text_));
    instruction.results = to_ids(results);
    if (!results.empty()) MILLRACE_TRY(expect(text_, "="));
    if (text_.take_word("for")) {
      MILLRACE_TRY(read_loop_head(instruction));
    } else {
      MILLRACE_TRY_ASSIGN(const Operation operation, read_operation(text_));
      instruction.op = operation.op;
      instruction.operands = to_ids(operation.operands);
      instruction.immediate = operation.immediate;
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      MILLRACE_TRY(expect(text_, i == 0 ? ":" : ","));
      MILLRACE_TRY_ASSIGN(const VectorType type, read_vector_type(text_));
      MILLRACE_TRY(define(begin, instruction.results[i], type));
    }
    if (instruction.op == KernelOp::kFor) {
      MILLRACE_TRY(read_block(instruction.blocks[0]));
    } else if (instruction.op == KernelOp::kIf && text_.rest().starts_with('{')) {
      do {
        instruction.blocks.push_back(kernel_.blocks.push_back({}));
        MILLRACE_TRY(read_block(instruction.blocks.back()));
      } while (text_.take_word("else"));
    }
    return instruction;
  }

  /// "%4 = %0 to %1 step %2 with %5 = %3, %6 = %7"
  Status read_loop_head(MachineInstruction& loop) {
    loop.op = KernelOp::kFor;
    loop.blocks = {kernel_.blocks.push_back({})};
    MILLRACE_TRY(read_parameter(loop));
    for (const std::string_view word : {"to", "step"}) {
      if (!text_.take_word(word)) return text_.unexpected(fmt::format("expected '{}'", word));
      MILLRACE_TRY_ASSIGN(const std::uint32_t bound, read_value(text_));
      loop.operands.push_back(MachineValueId{bound});
    }
    if (!text_.take_word("with")) return {};
    do {
      MILLRACE_TRY(read_parameter(loop));
    } while (text_.take(","));
    return {};
  }

  /// "%5 = %3": a parameter of the loop's block, and its initial value, which has the same type. "%5: f32 = %3": a
  /// parameter with a type of its own.
  Status read_parameter(MachineInstruction& loop) {
    const std::size_t begin = text_.position();
    MILLRACE_TRY_ASSIGN(const std::uint32_t parameter, read_value(text_));
    std::optional<VectorType> type;
    if (text_.take(":")) {
      MILLRACE_TRY_ASSIGN(type, read_vector_type(text_));
    }
    MILLRACE_TRY(expect(text_, "="));
    MILLRACE_TRY_ASSIGN(const std::uint32_t number, read_value(text_));
    const MachineValueId initial{number};
    loop.operands.push_back(initial);
    kernel_.blocks[loop.blocks[0]].parameters.push_back(MachineValueId{parameter});
    if (!type) type = kernel_.types.contains(initial) ? kernel_.types[initial] : VectorType();
    return define(begin, MachineValueId{parameter}, *type);
  }

  Status define(std::size_t begin, MachineValueId id, VectorType type) {
    if (index_of(id) >= kMaxValues) {
      return text_.error(begin, fmt::format("found %{}, expected a number below {}", index_of(id), kMaxValues));
    }
    if (!kernel_.types.contains(id)) kernel_.types.resize(index_of(id) + 1);
    kernel_.types[id] = type;
    return {};
  }

  TextReader text_;
  std::map<std::string, Dim> symbols_;
  MachineKernel kernel_;
  int depth_ = 0;
};

}  // namespace

Result<MachineKernel> parse_machine_kernel(std::string_view text, std::string_view name) {
  return guard_allocations([&] { return MachineKernelParser(name, text).parse(); });
}

}  // namespace millrace
