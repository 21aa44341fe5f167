// SPDX-License-Identifier: Apache-2.0
// Source: the ISA documents of GCN5 to RDNA4, "Scalar ALU Operations" and "Control Flow".
#include "jit/llvm/amdgpu/lane_flow.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "jit/llvm/amdgpu/lane_masks.h"
#include "jit/llvm/amdgpu/machine_layer.h"

namespace millrace {
namespace {

// Mask ids: scalar registers have their numbers, then come these special registers, then the lanes of vector registers.
constexpr std::uint32_t kVcc = 128, kExec = 130, kScratch = 132, kVectorLanes = 256;
constexpr std::uint32_t kMaxLanes = 64;

MaskId mask_id(std::uint32_t number) { return static_cast<MaskId>(number); }
MaskId lane_mask(std::uint32_t vector_register, std::uint32_t lane) {
  return mask_id(kVectorLanes + vector_register * kMaxLanes + lane);
}

/// The 32-bit words of a register, by number.
struct RegisterWords {
  enum class Kind : std::uint8_t { kOther, kScalar, kVector };
  Kind kind = Kind::kOther;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Parses LLVM's name: "SGPR4_SGPR5", "VCC_LO", "EXEC", "VGPR40".
RegisterWords words_of(llvm::StringRef name) {
  using Kind = RegisterWords::Kind;
  const auto special = [&](std::uint32_t low) {
    if (name.ends_with("_LO")) return RegisterWords{Kind::kScalar, low, 1};
    if (name.ends_with("_HI")) return RegisterWords{Kind::kScalar, low + 1, 1};
    return RegisterWords{Kind::kScalar, low, 2};
  };
  if (name.starts_with("VCC")) return special(kVcc);
  if (name.starts_with("EXEC")) return special(kExec);
  const bool is_scalar = name.starts_with("SGPR");
  RegisterWords words{is_scalar ? Kind::kScalar : Kind::kVector, 0, static_cast<std::uint32_t>(name.count("GPR"))};
  llvm::StringRef number = name.drop_front(std::min<std::size_t>(4, name.size()));
  if (!(is_scalar || name.starts_with("VGPR")) || number.consumeInteger(10, words.first)) return {};
  return words;
}

/// Follows all paths of a kernel.
class LaneFlow {
 public:
  LaneFlow(llvm::ArrayRef<std::uint8_t> code, const GfxTarget& gfx)
      : code_(code), num_mask_words_(gfx.subgroup_size / 32), machine_(gfx, gfx.subgroup_size) {}

  std::vector<std::string> run() {
    LaneMasks entry;
    for (std::uint32_t word = 0; word < num_mask_words_; ++word) entry.set_all(mask_id(kExec + word));
    reach(0, entry);
    while (!pending_.empty()) {
      const std::uint64_t offset = *pending_.begin();
      pending_.erase(pending_.begin());
      follow(offset, at_heads_.at(offset));
    }
    std::vector<std::string> lines;
    for (const auto& [offset, text] : findings_) lines.push_back(fmt::format("{} at byte {}", text, offset));
    return lines;
  }

 private:
  struct Decoded {
    llvm::MCInst instruction;
    std::uint64_t size = 0;
    llvm::StringRef name;  // "S_AND_SAVEEXEC_B32_gfx11"
  };

  /// Records that a path reaches `offset`.
  void reach(std::uint64_t offset, const LaneMasks& masks) {
    const auto [head, is_new] = at_heads_.try_emplace(offset, masks);
    if (!is_new) {
      LaneMasks both = head->second;
      both.meet(masks);
      if (both == head->second) return;
      head->second = std::move(both);
    }
    pending_.insert(offset);
  }

  /// Follows straight-line code from a head to the next branch or head.
  void follow(std::uint64_t offset, LaneMasks masks) {
    std::optional<LongBranch> long_branch;
    for (bool is_first = true;; is_first = false) {
      if (!is_first && at_heads_.contains(offset)) return reach(offset, masks);
      const Decoded* decoded = decode(offset);
      if (decoded == nullptr) return note(offset, "not an instruction");
      const llvm::MCInst& instruction = decoded->instruction;
      const llvm::MCInstrDesc& description = machine_.instructions->get(instruction.getOpcode());
      if (exchanges_lanes(decoded->name) && !every_lane_is_on(masks)) note(offset, machine_.text_of(instruction));
      if (decoded->name.starts_with("S_ENDPGM")) return;
      if (long_branch && decoded->name.starts_with("S_SETPC_B64")) return reach(long_branch->target, masks);
      long_branch = step_long_branch(*decoded, offset, long_branch);
      if (description.isBranch() || description.isTerminator()) {
        std::uint64_t target = 0;
        if (!machine_.analysis->evaluateBranch(instruction, offset, decoded->size, target)) {
          return note(offset, machine_.text_of(instruction));
        }
        reach(target, masks);
        if (!description.isConditionalBranch()) return;
        return reach(offset + decoded->size, masks);
      }
      step(*decoded, description, masks);
      offset += decoded->size;
    }
  }

  /// LLVM's branch over more than 128 KiB: S_GETPC, S_ADD to the low word, S_ADDC to the high word, S_SETPC.
  struct LongBranch {
    std::uint32_t pair = 0;  // the lower scalar register
    std::uint64_t target = 0;
  };

  /// The state of the register pair after an instruction; empty if the instruction is not part of a long branch.
  std::optional<LongBranch> step_long_branch(const Decoded& decoded, std::uint64_t offset,
                                             std::optional<LongBranch> branch) const {
    const llvm::MCInst& instruction = decoded.instruction;
    const RegisterWords to = instruction.getNumOperands() > 0 ? words_of_operand(instruction, 0) : RegisterWords{};
    if (to.kind != RegisterWords::Kind::kScalar) return std::nullopt;
    if (decoded.name.starts_with("S_GETPC_B64")) return LongBranch{to.first, offset + decoded.size};
    if (!branch) return std::nullopt;
    // On gfx12, S_GETPC returns 48 bits, which S_SEXT then sign-extends.
    if (decoded.name.starts_with("S_SEXT_I32_I16") && to.first == branch->pair + 1) return branch;
    const bool is_low = decoded.name.starts_with("S_ADD_U32") && to.first == branch->pair;
    const bool is_high = decoded.name.starts_with("S_ADDC_U32") && to.first == branch->pair + 1;
    if (!is_low && !is_high) return std::nullopt;
    const RegisterWords from = words_of_operand(instruction, 1);
    const llvm::MCOperand& distance = instruction.getOperand(2);
    if (from.kind != to.kind || from.first != to.first || !distance.isImm()) return std::nullopt;
    const std::uint64_t word = static_cast<std::uint32_t>(distance.getImm());
    branch->target += is_low ? word : word << 32;
    return branch;
  }

  const Decoded* decode(std::uint64_t offset) {
    if (offset >= code_.size()) return nullptr;
    const auto [entry, is_new] = decoded_.try_emplace(offset);
    Decoded& decoded = entry->second;
    if (is_new) {
      if (!machine_.decode(code_.drop_front(offset), offset, decoded.instruction, decoded.size)) decoded.size = 0;
      decoded.name = machine_.instructions->getName(decoded.instruction.getOpcode());
    }
    return decoded.size > 0 ? &decoded : nullptr;
  }

  void note(std::uint64_t offset, std::string text) { findings_.insert_or_assign(offset, std::move(text)); }

  static bool exchanges_lanes(llvm::StringRef name) {
    return name.starts_with("V_PERMLANE") || name.starts_with("DS_PERMUTE") || name.starts_with("DS_BPERMUTE") ||
           name.starts_with("DS_SWIZZLE") || name.contains("_dpp");
  }

  bool every_lane_is_on(const LaneMasks& masks) const {
    for (std::uint32_t word = 0; word < num_mask_words_; ++word) {
      if (!masks.has_all(mask_id(kExec + word))) return false;
    }
    return true;
  }

  RegisterWords words_of_operand(const llvm::MCInst& instruction, unsigned i) const {
    const llvm::MCOperand& operand = instruction.getOperand(i);
    return operand.isReg() ? words_of(machine_.registers->getName(operand.getReg())) : RegisterWords{};
  }

  MaskSource source(const llvm::MCInst& instruction, unsigned i, std::uint32_t word) const {
    const llvm::MCOperand& operand = instruction.getOperand(i);
    if (operand.isImm()) return operand.getImm() == -1 ? MaskSource::all() : MaskSource::unknown();
    const RegisterWords words = words_of_operand(instruction, i);
    const bool is_mask = words.kind == RegisterWords::Kind::kScalar && word < words.count;
    return is_mask ? MaskSource::of(mask_id(words.first + word)) : MaskSource::unknown();
  }

  /// The effect of an instruction that is not a branch.
  void step(const Decoded& decoded, const llvm::MCInstrDesc& description, LaneMasks& masks) const {
    const llvm::MCInst& instruction = decoded.instruction;
    if (step_scalar(decoded, masks) || step_spill(decoded, masks)) return;
    for (unsigned i = 0; i < std::min<unsigned>(description.getNumDefs(), instruction.getNumOperands()); ++i) {
      forget(words_of_operand(instruction, i), masks);
    }
    for (const llvm::MCPhysReg id : description.implicit_defs())
      forget(words_of(machine_.registers->getName(id)), masks);
  }

  static void forget(const RegisterWords& words, LaneMasks& masks) {
    if (words.kind == RegisterWords::Kind::kScalar) masks.forget(mask_id(words.first), words.count);
    if (words.kind == RegisterWords::Kind::kVector) masks.forget(lane_mask(words.first, 0), words.count * kMaxLanes);
  }

  struct ScalarRow {
    llvm::StringLiteral name;  // the part of the name before "_B32" or "_B64"; gfx11 renamed some instructions
    MaskOp op;
    bool saves_exec = false;   // writes the result to EXEC, and the old EXEC to the destination
    bool is_reversed = false;  // the operands are (b, a); if it saves EXEC, a is EXEC
  };

  static const ScalarRow* find_row(llvm::StringRef name) {
    static constexpr ScalarRow kRows[] = {
        {"S_MOV", MaskOp::kMove},
        {"S_NOT", MaskOp::kNot},
        {"S_AND", MaskOp::kAnd},
        {"S_OR", MaskOp::kOr},
        {"S_XOR", MaskOp::kXor},
        {"S_ANDN2", MaskOp::kAndNot},
        {"S_AND_NOT1", MaskOp::kAndNot},
        {"S_ORN2", MaskOp::kOrNot},
        {"S_OR_NOT1", MaskOp::kOrNot},
        {"S_AND_SAVEEXEC", MaskOp::kAnd, true},
        {"S_OR_SAVEEXEC", MaskOp::kOr, true},
        {"S_XOR_SAVEEXEC", MaskOp::kXor, true},
        {"S_ANDN2_SAVEEXEC", MaskOp::kAndNot, true},
        {"S_AND_NOT1_SAVEEXEC", MaskOp::kAndNot, true},
        {"S_ORN2_SAVEEXEC", MaskOp::kOrNot, true},
        {"S_OR_NOT1_SAVEEXEC", MaskOp::kOrNot, true},
        {"S_ANDN1_SAVEEXEC", MaskOp::kAndNot, true, true},
        {"S_AND_NOT0_SAVEEXEC", MaskOp::kAndNot, true, true},
        {"S_ORN1_SAVEEXEC", MaskOp::kOrNot, true, true},
        {"S_OR_NOT0_SAVEEXEC", MaskOp::kOrNot, true, true},
    };
    const auto* row = std::ranges::find_if(kRows, [&](const ScalarRow& each) { return each.name == name; });
    return row != std::end(kRows) ? row : nullptr;
  }

  /// Applies an operation on masks, 32 lanes at a time. Returns false for other instructions.
  bool step_scalar(const Decoded& decoded, LaneMasks& masks) const {
    const llvm::StringRef name = decoded.name;
    const ScalarRow* row = find_row(name.take_front(std::min(name.find("_B32"), name.find("_B64"))));
    const llvm::MCInst& instruction = decoded.instruction;
    const RegisterWords to = row != nullptr ? words_of_operand(instruction, 0) : RegisterWords{};
    if (to.kind != RegisterWords::Kind::kScalar) return false;
    for (std::uint32_t word = 0; word < to.count; ++word) {
      const MaskId result = mask_id(to.first + word), exec = mask_id(kExec + word), scratch = mask_id(kScratch);
      MaskSource a = source(instruction, 1, word), b;
      if (row->saves_exec) {
        b = MaskSource::of(exec);
      } else if (instruction.getNumOperands() > 2) {
        b = source(instruction, 2, word);
      }
      if (row->is_reversed) std::swap(a, b);
      masks.assign(row->saves_exec ? scratch : result, row->op, a, b);
      if (!row->saves_exec) continue;
      masks.assign(result, MaskOp::kMove, MaskSource::of(exec));
      masks.assign(exec, MaskOp::kMove, MaskSource::of(scratch));
      masks.forget(scratch);
    }
    return true;
  }

  /// Updates the masks for an instruction that spills a scalar register to a lane of a vector register, or that reloads
  /// it from there. Returns false for other instructions.
  bool step_spill(const Decoded& decoded, LaneMasks& masks) const {
    const bool is_write = decoded.name.starts_with("V_WRITELANE_B32");
    if (!is_write && !decoded.name.starts_with("V_READLANE_B32")) return false;
    const llvm::MCInst& instruction = decoded.instruction;
    const RegisterWords vector = words_of_operand(instruction, is_write ? 0 : 1);
    const llvm::MCOperand& lane = instruction.getOperand(2);
    if (!lane.isImm() || vector.kind != RegisterWords::Kind::kVector) return false;
    const MaskId place = lane_mask(vector.first, static_cast<std::uint32_t>(lane.getImm()) % kMaxLanes);
    if (is_write) {
      masks.assign(place, MaskOp::kMove, source(instruction, 1, 0));
      return true;
    }
    const RegisterWords to = words_of_operand(instruction, 0);
    if (to.kind != RegisterWords::Kind::kScalar) return false;
    masks.assign(mask_id(to.first), MaskOp::kMove, MaskSource::of(place));
    return true;
  }

  llvm::ArrayRef<std::uint8_t> code_;
  std::uint32_t num_mask_words_;
  MachineLayer machine_;
  std::map<std::uint64_t, Decoded> decoded_;     // by offset
  std::map<std::uint64_t, LaneMasks> at_heads_;  // by branch target: facts that hold on every path to it
  std::set<std::uint64_t> pending_;
  std::map<std::uint64_t, std::string> findings_;
};

}  // namespace

std::vector<std::string> find_inactive_lane_reads(llvm::ArrayRef<std::uint8_t> code, const GfxTarget& gfx) {
  return LaneFlow(code, gfx).run();
}

}  // namespace millrace
