// SPDX-License-Identifier: Apache-2.0
// Splits a machine kernel into its shape and its constants, so that share_kernels() can replace constants by size
// arguments.
#include "jit/plan/kernel_numbers.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "millrace/base/check.h"

namespace millrace {
namespace {

enum class NumberUse : std::uint8_t {
  kAny,
  kSpecialized,  // KernelNumbers::specialized
  kFixed,        // must stay a constant
};

NumberUse use_of(KernelOp op, std::size_t operand) {
  switch (op) {
    case KernelOp::kDiv:
    case KernelOp::kRem:
    case KernelOp::kShl:
    case KernelOp::kShr:
      return operand == 1 ? NumberUse::kSpecialized : NumberUse::kAny;
    case KernelOp::kFor:
      return operand == 2 ? NumberUse::kFixed : NumberUse::kAny;  // the step, on which unrolling depends
    case KernelOp::kShuffle:
      return operand == 1 ? NumberUse::kFixed : NumberUse::kAny;  // the lane: a constant lane is faster
    default:
      return NumberUse::kAny;
  }
}

/// Looks up which values are constants, as a scalar or in all lanes.
class NumberTable {
 public:
  explicit NumberTable(const MachineKernel& kernel) : bits_(kernel.types.size()) {
    for (const Block& block : kernel.blocks) {
      for (const MachineInstruction& instruction : block.instructions) {
        if (instruction.op == KernelOp::kConstant) bits_[index_of(instruction.results[0])] = instruction.immediate;
      }
    }
    for (const Block& block : kernel.blocks) {
      for (const MachineInstruction& instruction : block.instructions) {
        if (instruction.op != KernelOp::kSplat) continue;
        bits_[index_of(instruction.results[0])] = bits_[index_of(instruction.operands[0])];
      }
    }
  }

  /// The bits of a constant. Empty for other values, and for values added after the table was made.
  std::optional<std::uint64_t> bits(MachineValueId id) const {
    return index_of(id) < bits_.size() ? bits_[index_of(id)] : std::nullopt;
  }
  /// Whether the instruction only defines a number.
  bool defines(const MachineInstruction& instruction) const {
    return (instruction.op == KernelOp::kConstant || instruction.op == KernelOp::kSplat) &&
           bits(instruction.results[0]).has_value();
  }

 private:
  std::vector<std::optional<std::uint64_t>> bits_;
};

/// Everything in the kernel except the body, names and the values that each launch passes (sizes and the number of
/// groups).
std::string declarations_of(const MachineKernel& kernel) {
  MachineKernel empty;
  for (const BufferArgument& buffer : kernel.buffers) {
    empty.buffers.push_back({"", buffer.dtype, buffer.access});
  }
  empty.sizes.resize(kernel.sizes.size());
  empty.slots = kernel.slots;
  for (MemorySlot& slot : empty.slots) slot.name.clear();
  empty.workgroup_size = kernel.workgroup_size;
  empty.subgroup_size = kernel.subgroup_size;
  empty.blocks.push_back({});
  return to_text(empty);
}

/// Finds the constants that a kernel reads, and computes its shape. In the shape, each value has a number: its position
/// among the definitions, not counting constants. Constants therefore leave no trace in the shape.
class Finder {
 public:
  explicit Finder(const MachineKernel& kernel)
      : kernel_(kernel), table_(kernel), value_numbers_(kernel.types.size(), 0) {}

  KernelNumbers run() {
    split_.shape = declarations_of(kernel_);
    add_block(BlockId{});
    return std::move(split_);
  }

 private:
  void add(std::uint64_t word) { split_.shape.append(reinterpret_cast<const char*>(&word), sizeof(word)); }
  void add_type(const VectorType& type) { add(static_cast<std::uint64_t>(type.dtype) << 32 | type.lanes); }

  void define(const std::vector<MachineValueId>& values) {
    add(values.size());
    for (const MachineValueId value : values) {
      value_numbers_[index_of(value)] = ++num_values_;
      add_type(kernel_.types[value]);
    }
  }

  void add_use(MachineValueId value, NumberUse use) {
    const std::optional<std::uint64_t> bits = table_.bits(value);
    if (!bits) return add(value_numbers_[index_of(value)]);
    add(0);
    add_type(kernel_.types[value]);
    if (use == NumberUse::kFixed) add(*bits);
    if (use == NumberUse::kSpecialized) split_.specialized.push_back(split_.numbers.size());
    split_.numbers.push_back({kernel_.types[value].dtype, *bits});
  }

  void add_block(BlockId id) {
    const Block& block = kernel_.blocks[id];
    define(block.parameters);
    for (const MachineInstruction& instruction : block.instructions) {
      if (!table_.defines(instruction)) add_instruction(instruction);
    }
    add(block.yields.size());
    for (const MachineValueId yield : block.yields) add_use(yield, NumberUse::kAny);
  }

  void add_instruction(const MachineInstruction& instruction) {
    add(static_cast<std::uint64_t>(instruction.op) + 1);
    add(instruction.immediate);
    add(instruction.operands.size());
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      add_use(instruction.operands[i], use_of(instruction.op, i));
    }
    for (const BlockId block : instruction.blocks) add_block(block);
    define(instruction.results);
  }

  const MachineKernel& kernel_;
  const NumberTable table_;
  std::vector<std::uint64_t> value_numbers_;  // by value, counted from 1
  std::uint64_t num_values_ = 0;
  KernelNumbers split_;
};

/// Replaces the constants that a kernel reads. Visits their uses in the same order as Finder.
class Replacer {
 public:
  Replacer(MachineKernel kernel, std::span<const NumberSource> sources, std::size_t num_arguments)
      : kernel_(std::move(kernel)), table_(kernel_), sources_(sources), first_argument_(kernel_.sizes.size()) {
    for (std::size_t i = 0; i < num_arguments; ++i) {
      kernel_.sizes.push_back({fmt::format("s{}", kernel_.sizes.size()), std::nullopt});
    }
  }

  MachineKernel run() {
    for (Block& block : kernel_.blocks) {
      std::erase_if(block.instructions, [&](const MachineInstruction& each) { return table_.defines(each); });
    }
    replace_in(BlockId{});
    MILLRACE_CHECK(next_ == sources_.size());
    std::vector<MachineInstruction>& body = kernel_.blocks[BlockId{}].instructions;
    body.insert(body.begin(), std::make_move_iterator(head_.begin()), std::make_move_iterator(head_.end()));
    return std::move(kernel_);
  }

 private:
  /// Identifies a value by its op, operands, immediate and type. The value is defined in the head: the code at the
  /// start of the kernel that computes all replacements.
  using Key = std::tuple<KernelOp, std::uint32_t, std::uint32_t, std::uint64_t, DType, std::uint32_t>;
  static constexpr MachineValueId kNone{~0u};

  void replace_in(BlockId id) {
    for (MachineInstruction& instruction : kernel_.blocks[id].instructions) {
      for (MachineValueId& operand : instruction.operands) replace(operand);
      for (const BlockId block : instruction.blocks) replace_in(block);
    }
    for (MachineValueId& yield : kernel_.blocks[id].yields) replace(yield);
  }

  void replace(MachineValueId& use) {
    if (!table_.bits(use)) return;
    const VectorType type = kernel_.types[use];
    use = in_lanes(value_of(sources_[next_++], type.dtype), type);
  }

  MachineValueId head(VectorType type, KernelOp op, MachineValueId a = kNone, MachineValueId b = kNone,
                      std::uint64_t immediate = 0) {
    const Key key{op, index_of(a), index_of(b), immediate, type.dtype, type.lanes};
    const auto [place, is_new] = head_values_.try_emplace(key, MachineValueId{});
    if (!is_new) return place->second;
    place->second = kernel_.types.push_back(type);
    MachineInstruction instruction{
        .op = op, .operands = {}, .results = {place->second}, .immediate = immediate, .blocks = {}};
    for (const MachineValueId operand : {a, b}) {
      if (operand != kNone) instruction.operands.push_back(operand);
    }
    head_.push_back(std::move(instruction));
    return place->second;
  }

  MachineValueId in_lanes(MachineValueId scalar, const VectorType& type) {
    return type.lanes == 1 ? scalar : head(type, KernelOp::kSplat, scalar);
  }

  MachineValueId value_of(const NumberSource& source, DType dtype) {
    const VectorType type{dtype, 1};
    if (!source.argument) return head(type, KernelOp::kConstant, kNone, kNone, source.constant);
    constexpr VectorType kWide{DType::kI64, 1};
    const MachineValueId argument = head(kWide, KernelOp::kSize, kNone, kNone, first_argument_ + *source.argument);
    if (dtype == DType::kI64) {
      if (source.constant == 0) return argument;
      return head(kWide, KernelOp::kAdd, argument, head(kWide, KernelOp::kConstant, kNone, kNone, source.constant));
    }
    if (!is_float(dtype)) return head(type, KernelOp::kConvert, argument);
    if (size_bytes(dtype) == sizeof(std::int64_t)) return head(type, KernelOp::kBitcast, argument);
    return head(type, KernelOp::kBitcast, head({DType::kI32, 1}, KernelOp::kConvert, argument));
  }

  MachineKernel kernel_;
  const NumberTable table_;
  const std::span<const NumberSource> sources_;
  const std::size_t first_argument_;
  std::size_t next_ = 0;
  std::vector<MachineInstruction> head_;
  std::map<Key, MachineValueId> head_values_;
};

}  // namespace

KernelNumbers find_numbers(const MachineKernel& kernel) { return Finder(kernel).run(); }

MachineKernel replace_numbers(MachineKernel kernel, std::span<const NumberSource> sources, std::size_t num_arguments) {
  return Replacer(std::move(kernel), sources, num_arguments).run();
}

}  // namespace millrace
