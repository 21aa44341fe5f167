// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/jit/ir/kernel_draft.h"

namespace millrace {
namespace {

using namespace test;

/// The complaint about one instruction that gives a value.
std::string about(KernelOp op, const std::vector<VectorType>& operands, VectorType result,
                  std::uint64_t immediate = 0) {
  KernelDraft draft;
  KernelDraft::Ids ids;
  for (const VectorType& type : operands) ids.push_back(draft.value(type));
  draft.op(op, ids, result, immediate);
  const std::string text = draft.complaint();
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

/// The complaint about one instruction that gives none.
std::string about_effect(KernelOp op, const std::vector<VectorType>& operands, std::uint64_t immediate = 0) {
  KernelDraft draft;
  KernelDraft::Ids ids;
  for (const VectorType& type : operands) ids.push_back(draft.value(type));
  draft.effect(op, ids, immediate);
  const std::string text = draft.complaint();
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

constexpr std::uint64_t kX = 0, kY = 1, kSlot = std::uint64_t{1} << 32;

TEST_CASE("lanewise ops want the dtypes of their row, alike, in as many lanes") {
  CHECK(about(KernelOp::kAdd, {kF32x4, kF32x4}, kF32x4) == "");
  CHECK(about(KernelOp::kAdd, {kBool, kBool}, kBool) == "operand 1 is bool, expected an integer, f32 or f64");
  CHECK(about(KernelOp::kAnd, {kF32, kF32}, kF32) == "operand 1 is f32, expected bool or an integer");
  CHECK(about(KernelOp::kShl, {kF32, kF32}, kF32) == "operand 1 is f32, expected an integer");
  CHECK(about(KernelOp::kSqrt, {kI64}, kI64) == "operand 0 is i64, expected f32 or f64");
  CHECK(about(KernelOp::kAdd, {kF32, kF32x4}, kF32x4) == "operand 0 is f32, expected f32x4 like operand 1");
  CHECK(about(KernelOp::kAdd, {kF32x4, kF32x4}, kF32) == "result is f32, expected f32x4 like operand 1");
  CHECK(about(KernelOp::kLt, {kF32x4, kF32x4}, kF32x4) == "result is f32x4, expected boolx4 of a comparison");
  CHECK(about(KernelOp::kSelect, {kBool, kF32x4, kF32x4}, kF32x4) ==
        "operand 0 is bool, expected boolx4, the condition");
  CHECK(about(KernelOp::kSelect, {kBoolx4, kF32, kF32x4}, kF32x4) == "operand 1 is f32, expected f32x4 like operand 2");
}

TEST_CASE("conversions keep lanes, bitcasts bytes too") {
  CHECK(about(KernelOp::kConvert, {kI64x4}, kF32x4) == "");
  CHECK(about(KernelOp::kConvert, {kI64}, kF32x4) == "result is f32x4, expected 1 lanes like operand 0");
  CHECK(about(KernelOp::kBitcast, {kI64}, kF32) == "result is f32, expected 8 bytes a lane like operand 0");
  CHECK(about(KernelOp::kBitcast, {kBool}, {DType::kU8, 1}) == "operand 0 is bool, expected any dtype but bool");
  CHECK(about(KernelOp::kBitcast, {{DType::kU8, 1}}, kBool) == "result is bool, expected any dtype but bool");
}

TEST_CASE("constants are scalars whose bits fit") {
  CHECK(about(KernelOp::kConstant, {}, kF32x4) == "result is f32x4, expected a scalar; splat it");
  CHECK(about(KernelOp::kConstant, {}, kBool, 2) == "immediate is 0x2, expected 1 bits of bool");
  CHECK(about(KernelOp::kConstant, {}, {DType::kI16, 1}, 0x10000) == "immediate is 0x10000, expected 16 bits of i16");
  CHECK(about(KernelOp::kConstant, {}, kI64, ~std::uint64_t{0}) == "");
}

TEST_CASE("values of the machine have the types that their ops say") {
  CHECK(about(KernelOp::kSize, {}, kF32) == "result is f32, expected i64");
  CHECK(about(KernelOp::kSize, {}, kI64, 1) == "size argument 1, expected one of 1");
  CHECK(about(KernelOp::kWorkgroupId, {}, kI64x4) == "result is i64x4, expected i64");
  CHECK(about(KernelOp::kLaneIota, {}, kF32x4) == "result is f32, expected an integer");
  CHECK(about(KernelOp::kSplat, {kF32x4}, kF32x4) == "operand 0 is f32x4, expected f32, the result's scalar");
  CHECK(about(KernelOp::kExtract, {kF32x4}, kF32x4) == "result is f32x4, expected f32, a lane of operand 0");
  CHECK(about(KernelOp::kExtract, {kF32x4}, kF32, 4) == "lane 4, expected one of 4");
  CHECK(about(KernelOp::kInterleave, {kF32x4, kF32x4}, kF32x4, 1) == "");
  CHECK(about(KernelOp::kInterleave, {kF32x4, kI64x4}, kF32x4) == "operand 1 is i64x4, expected f32x4 like operand 0");
  CHECK(about(KernelOp::kInterleave, {kF32x4, kF32x4}, kF32) == "result is f32, expected f32x4 like operand 0");
  CHECK(about(KernelOp::kInterleave, {kF32, kF32}, kF32) == "operand 0 has 1 lanes, expected an even number");
  CHECK(about(KernelOp::kInterleave, {kF32x4, kF32x4}, kF32x4, 2) == "half 2, expected 0 or 1");
  CHECK(about(KernelOp::kReduceAdd, {kBoolx4}, kBool) == "operand 0 is bool, expected an integer, f32 or f64");
  CHECK(about(KernelOp::kReduceMin, {kF32x4}, kF32x4) == "result is f32x4, expected f32, a lane of operand 0");
  CHECK(about(KernelOp::kReduceMax, {{DType::kF32, 6}}, kF32) == "operand 0 has 6 lanes, expected a power of two");
  CHECK(about_effect(KernelOp::kReportError, {kI64}, 1) == "operand 0 is i64, expected bool");
  CHECK(about_effect(KernelOp::kReportError, {kBool}, 0) == "immediate is 0x0, expected bits of KernelError");
  CHECK(about_effect(KernelOp::kReportError, {kBoolx4}, 1) == "");
}

TEST_CASE("loads and stores name memory of their kind and dtype") {
  CHECK(about(KernelOp::kLoadVector, {kI64}, kF32x4, kX) == "");
  CHECK(about(KernelOp::kLoadVector, {kI64}, kI64x4, kSlot) == "");
  CHECK(about(KernelOp::kLoadVector, {kI64}, kF32x4, 2) == "memory @2, expected one of 2 buffers");
  CHECK(about(KernelOp::kLoadVector, {kI64}, kF32x4, kSlot + 1) == "memory #1, expected one of 1 slots");
  CHECK(about(KernelOp::kLoadVector, {kI64}, kF32x4, kY) == "buffer @1 ('y') is not declared as read");
  CHECK(about_effect(KernelOp::kStoreVector, {kI64, kF32x4}, kX) == "buffer @0 ('x') is not declared as written");
  CHECK(about(KernelOp::kLoadVector, {kI64}, kI64x4, kX) == "result is i64x4, expected f32x4, as the memory holds");
  CHECK(about_effect(KernelOp::kStoreVector, {kI64, kI64}, kY) ==
        "operand 1 is i64, expected f32, as the memory holds");
  CHECK(about(KernelOp::kLoadVector, {kI64x4}, kF32x4, kX) == "operand 0 is i64x4, expected i32 or i64, the offset");
  CHECK(about(KernelOp::kGather, {kI64, kBoolx4, kF32x4}, kF32x4, kX) ==
        "operand 0 is i64, expected i32x4 or i64x4, an offset a lane");
  CHECK(about(KernelOp::kGather, {kI32x4, kBoolx4, kF32x4}, kF32x4, kX) == "");
  CHECK(about(KernelOp::kLoadVector, {kI32}, kF32x4, kX) == "");
  CHECK(about(KernelOp::kLoadVector, {kF32}, kF32x4, kX) == "operand 0 is f32, expected i32 or i64, the offset");
  CHECK(about(KernelOp::kLoadMasked, {kI64, kBool, kF32x4}, kF32x4, kX) ==
        "operand 1 is bool, expected boolx4, the mask");
  CHECK(about(KernelOp::kLoadMasked, {kI64, kBoolx4, kF32}, kF32x4, kX) ==
        "operand 2 is f32, expected f32x4 like the result");
  CHECK(about_effect(KernelOp::kScatter, {kI64x4, kBool, kF32x4}, kY) ==
        "operand 1 is bool, expected boolx4, the mask");
  CHECK(about_effect(KernelOp::kStoreMasked, {kI64, kBoolx4, kF32x4}, kY) == "");
}

TEST_CASE("atomics take words, one at a time, of memory that threads share") {
  CHECK(about(KernelOp::kAtomicAdd, {kI32, kI64}, kI64, kSlot) == "");
  CHECK(about(KernelOp::kAtomicAdd, {kI64, kF32}, kF32, kX) ==
        "buffer @0 ('x') is not declared as written\n"
        "%2 = atomic_add: the memory is f32, expected i32, u32, i64 or u64");
  CHECK(about(KernelOp::kAtomicMax, {kI64, kI64}, kI64, kSlot + 1) == "memory #1, expected one of 1 slots");
  CHECK(about(KernelOp::kAtomicOr, {kI64x4, kI64}, kI64, kSlot) ==
        "operand 0 is i64x4, expected i32 or i64, the offset");
  CHECK(about(KernelOp::kAtomicMin, {kI64, kI64x4}, kI64, kSlot) ==
        "operand 1 is i64x4, expected i64, as the memory holds");
  CHECK(about(KernelOp::kAtomicExchange, {kI64, kI64}, kI32, kSlot) ==
        "result is i32, expected i64, as the memory holds");
  KernelDraft draft;
  draft.kernel.slots[0].kind = MemoryKind::kPrivate;
  draft.op(KernelOp::kAtomicAdd, {draft.value(kI64), draft.value(kI64)}, kI64, kSlot);
  CHECK(draft.complaint() == "%2 = atomic_add: slot #0 ('keys') is private, expected memory that threads share");
}

TEST_CASE("threads exchange scalars with lanes of their subgroup") {
  CHECK(about(KernelOp::kThreadId, {}, kI64) == "result is i64, expected i32");
  CHECK(about(KernelOp::kShuffle, {kBool, kI32}, kBool) == "");
  CHECK(about(KernelOp::kShuffle, {kF32x4, kI32}, kF32x4) ==
        "operand 0 is f32x4, expected f32, a scalar\n"
        "%3 = shuffle: result is f32x4, expected f32 like operand 0");
  CHECK(about(KernelOp::kShuffle, {kF32, kI64}, kF32) == "operand 1 is i64, expected i32, the lane");
  CHECK(about(KernelOp::kShuffleXor, {kF32}, kI64, 0) == "result is i64, expected f32 like operand 0");
  CHECK(about(KernelOp::kShuffleXor, {kF32}, kF32, 1) == "mask 1, expected less than the subgroup's 1");
  CHECK(about(KernelOp::kBallot, {kBoolx4}, kI64) ==
        "operand 0 is boolx4, expected bool\n"
        "%2 = ballot: result is i64, expected u64");
}

TEST_CASE("16-bit floats are u16 in registers") {
  KernelDraft draft;
  draft.kernel.buffers[0].dtype = DType::kBF16;
  const MachineValueId offset = draft.value(kI64);
  draft.op(KernelOp::kLoadVector, {offset}, {DType::kU16, 4}, kX);
  CHECK(draft.complaint() == "");
  draft.declare({DType::kBF16, 4});
  CHECK(draft.complaint() == "%2 is bf16x4, expected a register's dtype; hold its bits as u16");
}

}  // namespace
}  // namespace millrace
