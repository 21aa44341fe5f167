// SPDX-License-Identifier: Apache-2.0
// Source: the ISA documents of GCN5 to RDNA4, "Data Parallel Processing" and "LDS Permute".
#include "jit/llvm/amdgpu/lanes.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

namespace millrace {
namespace {

using llvm::Value;
using WordMove = llvm::function_ref<Value*(Value* word)>;

/// Applies `move` to each 32-bit word of a scalar.
Value* move_words(llvm::IRBuilder<>& ir, Value* value, WordMove move) {
  llvm::Type* bits = ir.getIntNTy(value->getType()->getScalarSizeInBits());
  if (bits->getIntegerBitWidth() <= 32) {
    Value* word = ir.CreateZExt(ir.CreateBitCast(value, bits), ir.getInt32Ty());
    return ir.CreateBitCast(ir.CreateTrunc(move(word), bits), value->getType());
  }
  llvm::Type* pair = llvm::FixedVectorType::get(ir.getInt32Ty(), 2);
  Value* words = ir.CreateBitCast(value, pair);
  Value* moved = llvm::PoisonValue::get(pair);
  for (std::uint64_t i = 0; i < 2; ++i) {
    moved = ir.CreateInsertElement(moved, move(ir.CreateExtractElement(words, i)), i);
  }
  return ir.CreateBitCast(moved, value->getType());
}

Value* call(llvm::IRBuilder<>& ir, llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> operands, bool is_of_any_type) {
  llvm::SmallVector<llvm::Type*, 1> types;
  if (is_of_any_type) types.push_back(ir.getInt32Ty());
  return ir.CreateIntrinsic(id, types, operands);
}

/// Data-parallel primitives (DPP): reads the operand from another lane within a row of 16.
Value* move_by_dpp(llvm::IRBuilder<>& ir, Value* word, std::uint32_t control) {
  Value* all = ir.getInt32(0xf);
  return call(ir, llvm::Intrinsic::amdgcn_update_dpp,
              {llvm::PoisonValue::get(word->getType()), word, ir.getInt32(control), all, all, ir.getTrue()}, true);
}

/// Passes `word` through empty inline assembly, which keeps the code that computes it under the current EXEC. Needed
/// for V_PERMLANE*, which LLVM 19 does not mark convergent (llvm-project PR 142962): if all uses of the result are
/// after the next branch, LLVM's machine-sink pass moves the instruction past the branch, where it would read lanes
/// that are off. LLVM marks the other exchanges convergent.
Value* keep_in_place(llvm::IRBuilder<>& ir, Value* word) {
  auto* type = llvm::FunctionType::get(word->getType(), {word->getType()}, false);
  llvm::CallInst* same = ir.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", /*hasSideEffects=*/false), {word});
  same->setConvergent();
  same->setDoesNotAccessMemory();
  same->setDoesNotThrow();
  return same;
}

/// Pairs of rows exchange lanes: lane i of a row reads lane i xor `mask` of the other row.
Value* move_to_other_row(llvm::IRBuilder<>& ir, Value* word, std::uint32_t mask) {
  std::uint32_t selects[2] = {};  // 4 bits per lane
  for (std::uint32_t lane = 0; lane < 16; ++lane) selects[lane / 8] |= (lane ^ mask) << lane % 8 * 4;
  return keep_in_place(ir, call(ir, llvm::Intrinsic::amdgcn_permlanex16,
                                {llvm::PoisonValue::get(word->getType()), word, ir.getInt32(selects[0]),
                                 ir.getInt32(selects[1]), ir.getFalse(), ir.getFalse()},
                                true));
}

/// The DPP control word on CDNA that xors lane indices with `mask`; 0 if no such word exists.
std::uint32_t cdna_dpp_control(std::uint32_t mask) {
  switch (mask) {
    case 1:
      return 0b10'11'00'01;  // quad_perm:[1,0,3,2]
    case 2:
      return 0b01'00'11'10;  // quad_perm:[2,3,0,1]
    case 3:
      return 0b00'01'10'11;  // quad_perm:[3,2,1,0]
    case 7:
      return 0x141;  // row_half_mirror
    case 8:
      return 0x128;  // row_ror:8
    case 15:
      return 0x140;  // row_mirror
    default:
      return 0;
  }
}

Value* lane_id(llvm::IRBuilder<>& ir) {
  Value* all = ir.getInt32(0xffff'ffff);
  Value* below = call(ir, llvm::Intrinsic::amdgcn_mbcnt_lo, {all, ir.getInt32(0)}, false);
  return call(ir, llvm::Intrinsic::amdgcn_mbcnt_hi, {all, below}, false);
}

/// Uses the permute unit of LDS. Its operands are byte addresses; it ignores the bits above a lane's index.
Value* move_by_permute(llvm::IRBuilder<>& ir, Value* word, Value* lane) {
  return call(ir, llvm::Intrinsic::amdgcn_ds_bpermute, {ir.CreateShl(lane, 2), word}, false);
}

}  // namespace

Value* emit_amdgpu_shuffle(llvm::IRBuilder<>& ir, const LlvmTarget& target, Value* value, Value* lane) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(lane)) {
    Value* index = ir.getInt32(static_cast<std::uint32_t>(constant->getZExtValue()) % target.subgroup_size);
    return move_words(ir, value,
                      [&](Value* word) { return call(ir, llvm::Intrinsic::amdgcn_readlane, {word, index}, true); });
  }
  return move_words(ir, value, [&](Value* word) { return move_by_permute(ir, word, lane); });
}

Value* emit_rdna_shuffle_xor(llvm::IRBuilder<>& ir, const LlvmTarget&, Value* value, std::uint32_t mask) {
  if (mask == 0) return value;
  if (mask >= 16) return move_words(ir, value, [&](Value* word) { return move_to_other_row(ir, word, mask & 15); });
  const std::uint32_t row_xmask = 0x160 + mask;
  return move_words(ir, value, [&](Value* word) { return move_by_dpp(ir, word, row_xmask); });
}

Value* emit_cdna_shuffle_xor(llvm::IRBuilder<>& ir, const LlvmTarget&, Value* value, std::uint32_t mask) {
  if (mask == 0) return value;
  if (const std::uint32_t control = cdna_dpp_control(mask)) {
    return move_words(ir, value, [&](Value* word) { return move_by_dpp(ir, word, control); });
  }
  if (mask < 32) {
    Value* pattern = ir.getInt32(mask << 10 | 0x1f);  // ds_swizzle in bit mode: xor, or, and masks
    return move_words(
        ir, value, [&](Value* word) { return call(ir, llvm::Intrinsic::amdgcn_ds_swizzle, {word, pattern}, false); });
  }
  Value* lane = ir.CreateXor(lane_id(ir), mask);
  return move_words(ir, value, [&](Value* word) { return move_by_permute(ir, word, lane); });
}

Value* emit_amdgpu_ballot(llvm::IRBuilder<>& ir, const LlvmTarget& target, Value* flag) {
  Value* mask = ir.CreateIntrinsic(llvm::Intrinsic::amdgcn_ballot, {ir.getIntNTy(target.subgroup_size)}, {flag});
  return ir.CreateZExt(mask, ir.getInt64Ty());
}

}  // namespace millrace
