// SPDX-License-Identifier: Apache-2.0
// Prints machine kernels, and finds the line of each instruction in that text.
#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/text/reader.h"
#include "jit/ir/instruction_lines.h"
#include "jit/ir/operation_text.h"
#include "millrace/base/check.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

std::string VectorType::to_text() const {
  std::string text(millrace::to_text(dtype));
  if (lanes != 1) text += 'x' + std::to_string(lanes);
  return text;
}

std::string MemoryRef::to_text() const { return fmt::format("{}{}", is_slot ? '#' : '@', index); }

namespace {

class Printer {
 public:
  explicit Printer(const MachineKernel& kernel) : kernel_(kernel) {}

  std::string print() {
    write("kernel {}\n", name_text(kernel_.name));
    print_symbols();
    write("groups {}\n", kernel_.num_groups.to_text());
    if (kernel_.workgroup_size != 1 || kernel_.subgroup_size != 1) {
      write("workgroup {} threads, subgroups of {}\n", kernel_.workgroup_size, kernel_.subgroup_size);
    }
    for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const BufferArgument& buffer = kernel_.buffers[i];
      write("buffer @{} {}: {}{}{}\n", i, name_text(buffer.name), to_text(buffer.dtype),
            buffer.is_read() ? " read" : "", buffer.is_written() ? " write" : "");
    }
    for (std::size_t i = 0; i < kernel_.sizes.size(); ++i) {
      const std::optional<SizeExpr>& value = kernel_.sizes[i].value;
      write("size s{}: {}\n", i, value ? value->to_text() : "of each launch");
    }
    for (std::size_t i = 0; i < kernel_.slots.size(); ++i) {
      const MemorySlot& slot = kernel_.slots[i];
      write("slot #{} {}: {} {}[{}]", i, name_text(slot.name), to_text(slot.kind), to_text(slot.dtype),
            slot.num_elements);
      if (slot.row != PaddedRow()) write(" rows of {} + {}", slot.row.num_elements, slot.row.padding_elements);
      text_ += '\n';
    }
    write("body {{\n");
    print_block(BlockId{});
    write("}}\n");
    return std::move(text_);
  }

  /// The line of each instruction, in printing order.
  const std::vector<std::uint32_t>& lines() const { return lines_; }

 private:
  /// The line being printed, counted from 1.
  std::uint32_t line() {
    const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(counted_);
    num_ended_ += static_cast<std::uint32_t>(std::count(begin, text_.end(), '\n'));
    counted_ = text_.size();
    return num_ended_ + 1;
  }

  template <class... Args>
  void write(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  /// Prints the known facts about symbols, because the remainder code of a kernel depends on them.
  void print_symbols() {
    std::map<std::string, Dim> symbols;
    Status status = unguarded(kernel_.num_groups.collect_symbols(symbols));
    for (const SizeArgument& size : kernel_.sizes) {
      if (status.ok() && size.value) status = unguarded(size.value->collect_symbols(symbols));
    }
    if (!status.ok()) write("symbols: {}\n", status.message());
    text_ += symbol_lines(symbols, "");
  }

  void indent() { text_.append(indent_, ' '); }

  void print_ids(const std::vector<MachineValueId>& ids, std::size_t first = 0) {
    for (std::size_t i = first; i < ids.size(); ++i) {
      if (i > first) text_ += ", ";
      append_value(text_, index_of(ids[i]));
    }
  }

  void print_block(BlockId id) {
    indent_ += 2;
    const Block& block = kernel_.blocks[id];
    for (const MachineInstruction& instruction : block.instructions) print_instruction(instruction);
    if (!block.yields.empty()) {
      indent();
      text_ += "yield ";
      print_ids(block.yields);
      text_ += '\n';
    }
    indent_ -= 2;
  }

  void print_instruction(const MachineInstruction& instruction) {
    lines_.push_back(line());
    indent();
    if (!instruction.results.empty()) {
      print_ids(instruction.results);
      text_ += " = ";
    }
    if (instruction.op == KernelOp::kFor) {
      print_loop_head(instruction);
    } else {
      print_operation(instruction);
    }
    for (std::size_t i = 0; i < instruction.results.size(); ++i) {
      text_ += i == 0 ? " : " : ", ";
      text_ += kernel_.types[instruction.results[i]].to_text();
    }
    if (!instruction.blocks.empty()) print_blocks(instruction);
    text_ += '\n';
  }

  void print_blocks(const MachineInstruction& instruction) {
    for (std::size_t i = 0; i < instruction.blocks.size(); ++i) {
      text_ += i == 0 ? " {\n" : " else {\n";
      print_block(instruction.blocks[i]);
      indent();
      text_ += '}';
    }
  }

  void print_operation(const MachineInstruction& instruction) {
    const bool has_type = !instruction.results.empty();
    append_operation(text_, instruction.op, std::span(instruction.operands), instruction.immediate,
                     has_type ? kernel_.types[instruction.results[0]].dtype : DType::kI64);
  }

  void print_loop_head(const MachineInstruction& loop) {
    const auto& parameters = kernel_.blocks[loop.blocks[0]].parameters;
    text_ += "for ";
    print_parameter(parameters[0], loop.operands[0]);
    write(" to %{} step %{}", index_of(loop.operands[1]), index_of(loop.operands[2]));
    for (std::size_t i = 1; i < parameters.size(); ++i) {
      text_ += i == 1 ? " with " : ", ";
      print_parameter(parameters[i], loop.operands[i + 2]);
    }
  }

  /// "%4 = %0". The parameter's type is printed only if it differs from that of the initial value.
  void print_parameter(MachineValueId parameter, MachineValueId initial) {
    const bool is_alike = kernel_.types[parameter] == kernel_.types[initial];
    write("%{}{} = %{}", index_of(parameter), is_alike ? "" : ": " + kernel_.types[parameter].to_text(),
          index_of(initial));
  }

  const MachineKernel& kernel_;
  std::string text_;
  std::size_t indent_ = 0;
  std::vector<std::uint32_t> lines_;
  std::size_t counted_ = 0;  // bytes of the text counted in num_ended_
  std::uint32_t num_ended_ = 0;
};

}  // namespace

std::string to_text(const MachineKernel& kernel) {
  MILLRACE_CHECK(!kernel.blocks.empty());
  return Printer(kernel).print();
}

std::vector<std::uint32_t> instruction_lines(const MachineKernel& kernel) {
  Printer printer(kernel);
  printer.print();
  return printer.lines();
}

std::string text_of_line(const MachineKernel& kernel, std::uint32_t line) {
  const std::string text = to_text(kernel);
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < line; ++i) begin = text.find('\n', begin) + 1;
  begin = text.find_first_not_of(' ', begin);
  std::string found = text.substr(begin, text.find('\n', begin) - begin);
  if (found.ends_with(" {")) found.resize(found.size() - 2);
  return found;
}

}  // namespace millrace
