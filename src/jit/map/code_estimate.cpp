// SPDX-License-Identifier: Apache-2.0
// Estimates the instructions of bodies and kernels, so that mappings and fusion keep kernels short enough to compile
// quickly.
#include "jit/map/code_estimate.h"

#include <algorithm>
#include <bit>

namespace millrace {
namespace {

// Instructions per lane of an access that LLVM splits into lanes: the address, the element, and a branch if masked.
constexpr std::int64_t kLanePieces = 5;
constexpr std::int64_t kMaskedLanePieces = 6;
/// Instructions per offset register of a gather or scatter that the hardware supports, including those for the mask,
/// the offsets and joining results.
constexpr std::int64_t kGatherPieces = 10;
/// Instructions per lane of an integer vector division. LLVM splits it into lanes, and each lane handles the cases in
/// which the hardware traps.
constexpr std::int64_t kDivisionPieces = 8;
constexpr std::int64_t kBodyDivision = 64;  // instructions of a vector division whose number of lanes is not known
/// An address is a sum of products of indices and strides. LLVM tries many ways to split a sum whose strides are size
/// arguments. This costs compile time per access, but no instructions. To account for it, each size argument beyond
/// kUsualSizes counts as kAddressPieces instructions.
constexpr std::int64_t kUsualSizes = 8, kAddressPieces = 6;
/// Instructions per register for ops that need more than one. Minimum and maximum propagate NaNs, conversions saturate,
/// and x86 below AVX-512 can neither multiply lanes of 8 or 64 bits nor shift lanes of 8 bits.
constexpr std::int64_t kFloatMinMaxPieces = 6, kNarrowOrWideMulPieces = 4, kNarrowShiftPieces = 4;
constexpr std::int64_t kFloatToIntegerPieces = 7;
/// Instructions of a loop, in addition to one per result.
constexpr std::int64_t kLoopPieces = 4;
/// The instruction counts of the bodies in millrace/jit/float16_bodies.h, and of a conversion by F16C.
constexpr std::int64_t kNarrowF16 = 28, kWidenF16 = 19, kNarrowBF16 = 10, kWidenBF16 = 2, kF16CPieces = 2;

bool is_integer_division(KernelOp op, DType dtype) {
  return (op == KernelOp::kDiv || op == KernelOp::kRem) && is_integer(dtype);
}

/// Instructions per result register.
std::int64_t lanewise_pieces(KernelOp op, DType from, DType to) {
  const bool is_narrow = size_bytes(from) == 1 && from != DType::kBool;
  switch (op) {
    case KernelOp::kMin:
    case KernelOp::kMax:
      return is_float(from) ? kFloatMinMaxPieces : 1;
    case KernelOp::kMul:
      return is_integer(from) && (is_narrow || size_bytes(from) == 8) ? kNarrowOrWideMulPieces : 1;
    case KernelOp::kShl:
    case KernelOp::kShr:
      return is_narrow ? kNarrowShiftPieces : 1;
    case KernelOp::kConvert:
      return is_float(from) && is_integer(to) ? kFloatToIntegerPieces : 1;
    default:
      return 1;
  }
}

class KernelEstimate {
 public:
  KernelEstimate(const MachineKernel& kernel, const TargetSpec& target) : kernel_(kernel), target_(target) {}

  std::int64_t run() {
    const std::int64_t address = kAddressPieces * std::max<std::int64_t>(std::ssize(kernel_.sizes) - kUsualSizes, 0);
    std::int64_t sum = 0;
    for (const Block& block : kernel_.blocks) {
      for (const MachineInstruction& instruction : block.instructions) {
        sum += pieces(instruction) + (touches_memory(instruction.op) ? address : 0);
      }
    }
    return sum;
  }

 private:
  using Instruction = MachineInstruction;

  std::int64_t registers(const VectorType& type) const {
    const auto bytes = static_cast<std::int64_t>(type.lanes * size_bytes(type.dtype));
    return std::max<std::int64_t>(bytes / target_.vector_bytes(), 1);
  }
  const VectorType& operand(const Instruction& i, std::size_t number) const {
    return kernel_.types[i.operands[number]];
  }

  bool has_f16c() const { return target_.is_cpu() && target_.isa != IsaLevel::kBaseline; }
  bool has_gather(const VectorType& type) const { return target_.has_fma() && size_bytes(type.dtype) >= 4; }
  bool has_scatter(const VectorType& type) const {
    return target_.isa == IsaLevel::kAvx512 && size_bytes(type.dtype) >= 4;
  }

  std::int64_t masked_pieces(const VectorType& type) const {
    return has_masked_access(target_, type.dtype) ? 2 * registers(type) : kMaskedLanePieces * type.lanes;
  }
  std::int64_t gather_pieces(const Instruction& i, std::uint32_t lanes, bool is_native) const {
    return is_native ? kGatherPieces * registers(operand(i, 0)) : lane_pieces(i.operands[1]) * lanes;
  }

  std::int64_t pieces(const Instruction& i) const {
    if (is_lanewise(i.op)) return lanewise(i);
    switch (i.op) {
      case KernelOp::kLoadMasked:
        return masked_pieces(kernel_.types[i.results[0]]);
      case KernelOp::kStoreMasked:
        return masked_pieces(operand(i, 2));
      case KernelOp::kGather:
        return gather_pieces(i, operand(i, 0).lanes, has_gather(kernel_.types[i.results[0]]));
      case KernelOp::kScatter:
        return gather_pieces(i, operand(i, 0).lanes, has_scatter(operand(i, 2)));
      case KernelOp::kReduceAdd:
      case KernelOp::kReduceMul:
      case KernelOp::kReduceMin:
      case KernelOp::kReduceMax:
        return std::bit_width(operand(i, 0).lanes) *
               (1 + lanewise_pieces(KernelOp::kMax, operand(i, 0).dtype, operand(i, 0).dtype));
      case KernelOp::kInterleave:  // wider vectors need more instructions, to join halves
        return operand(i, 0).lanes * size_bytes(operand(i, 0).dtype) <= kInterleaveBytes ? 1
                                                                                         : 2 * registers(operand(i, 0));
      case KernelOp::kWidenF16:
        return registers(kernel_.types[i.results[0]]) * (has_f16c() ? kF16CPieces : kWidenF16);
      case KernelOp::kNarrowF16:
        return registers(operand(i, 0)) * (has_f16c() ? kF16CPieces : kNarrowF16);
      case KernelOp::kFor:
        return kLoopPieces + static_cast<std::int64_t>(i.results.size());
      default:
        return i.results.empty() ? 1 : registers(kernel_.types[i.results[0]]);
    }
  }

  std::int64_t lanewise(const Instruction& i) const {
    const VectorType& result = kernel_.types[i.results[0]];
    if (i.operands.empty()) return 1;
    const VectorType& from = operand(i, i.operands.size() - 1);
    if (is_integer_division(i.op, from.dtype)) return kDivisionPieces * result.lanes + kDivisionPieces;
    return std::max(registers(result), registers(from)) * lanewise_pieces(i.op, from.dtype, result.dtype);
  }

  /// Instructions per lane of an access with this mask. A splat of a constant counts as no mask.
  std::int64_t lane_pieces(MachineValueId mask) const {
    for (const Instruction& i : kernel_.blocks[BlockId{0}].instructions) {
      if (i.results.empty() || i.results[0] != mask) continue;
      return i.op == KernelOp::kSplat ? kLanePieces : kMaskedLanePieces;
    }
    return kMaskedLanePieces;
  }

  const MachineKernel& kernel_;
  const TargetSpec& target_;
};

}  // namespace

bool has_masked_access(const TargetSpec& target, DType dtype) {
  return target.isa == IsaLevel::kAvx512 || (target.has_fma() && size_bytes(dtype) >= 4);
}

namespace {

std::int64_t narrowing(DType dtype) { return dtype == DType::kF16 ? kNarrowF16 : kNarrowBF16; }
std::int64_t widening(DType dtype) { return dtype == DType::kF16 ? kWidenF16 : kWidenBF16; }

}  // namespace

std::int64_t estimate_instructions(const MachineKernel& kernel, const TargetSpec& target) {
  return KernelEstimate(kernel, target).run();
}

std::int64_t estimate_instruction(const Body& body, const BodyInstruction& instruction) {
  if (instruction.num_operands == 0) return 0;
  const DType from = body.instructions[instruction.operands[instruction.num_operands - 1u]].dtype;
  if (instruction.op == KernelOp::kBitcast) return 1;
  if (!is_register_dtype(instruction.dtype)) return narrowing(instruction.dtype);
  if (!is_register_dtype(from)) return widening(from);
  if (is_integer_division(instruction.op, from)) return kBodyDivision;
  return lanewise_pieces(instruction.op, from, instruction.dtype);
}

std::int64_t estimate_instructions(const Body& body) {
  std::int64_t sum = 0;
  for (const BodyInstruction& instruction : body.instructions) sum += estimate_instruction(body, instruction);
  return sum;
}

}  // namespace millrace
