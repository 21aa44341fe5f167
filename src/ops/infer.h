// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/ops/op_def.h"

namespace millrace::ops {

// What the type rules share. Messages read "what: found, expected; what to do"; the caller puts the node in front.

using Types = std::span<const TensorType>;
using InferResult = Result<Inference>;
using InferFunction = InferResult (*)(Types, const Attributes&);

/// Dtypes that an op takes, with how a message names them.
struct DTypeSet {
  std::uint32_t bits = 0;
  std::string_view text;
  /// No for a number that is no dtype, too.
  constexpr bool contains(DType dtype) const {
    return static_cast<unsigned>(dtype) < 32 && (bits >> static_cast<unsigned>(dtype) & 1) != 0;
  }
};

template <class... D>
constexpr std::uint32_t dtype_bits(D... dtypes) {
  return ((std::uint32_t{1} << static_cast<unsigned>(dtypes)) | ...);
}

inline constexpr DTypeSet kFloats = {dtype_bits(DType::kF16, DType::kBF16, DType::kF32, DType::kF64), "a float"};
inline constexpr DTypeSet kIntegers = {
    dtype_bits(DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16, DType::kU32, DType::kU64),
    "an integer"};
inline constexpr DTypeSet kArithmetic = {kIntegers.bits | kFloats.bits, "an integer or a float"};
inline constexpr DTypeSet kEveryDType = {~std::uint32_t{0}, "any dtype"};
inline constexpr DTypeSet kBoolOnly = {dtype_bits(DType::kBool), "bool"};
inline constexpr DTypeSet kIndices = {dtype_bits(DType::kI32, DType::kI64), "i32 or i64"};

/// "operand 0 is bool[4], expected a float; insert a cast"
Status expect_dtype(Types operands, std::size_t operand, const DTypeSet& set);
/// "operand 1 is f32[8], expected f32[4x8] like operand 0; insert a broadcast"
Status expect_like(Types operands, std::size_t operand, std::size_t like);
/// "operand 0 is f32[8], expected rank 4 (n, c, h, w); reshape it"
Status expect_rank(Types operands, std::size_t operand, std::size_t rank, std::string_view dims);
/// Every operand has the dtype and shape of operand 0, which is one of the set.
Status expect_alike(Types operands, const DTypeSet& set);

/// The axis counted from the front: "axis is 3, expected -2 to 1 for operand 0, f32[4x8]; choose one of its axes".
Result<std::size_t> resolve_axis(std::int64_t axis, Types operands, std::size_t operand, std::string_view attribute);
/// Distinct axes, in the order given.
Result<std::vector<std::size_t>> resolve_axes(std::span<const std::int64_t> axes, Types operands, std::size_t operand,
                                              std::string_view attribute);

/// What gather gives of operands 0 and 1: one axis of x replaced by the dims of the indices.
Result<TensorType> gathered_type(Types operands, std::int64_t axis);

/// "padding has 2 entries, expected 4 (h low, w low, h high, w high); give one for each"
Status expect_entries(std::string_view attribute, std::size_t found, std::size_t expected, std::string_view of_what);
/// Each entry is at least `least`: "strides[1] is 0, expected 1 or more; correct it".
Status expect_at_least(std::string_view attribute, std::span<const std::int64_t> entries, std::int64_t least);

/// False when no binding has small <= large. What the forms do not prove is added to what a run must check.
bool require_at_most(const SizeExpr& small, const SizeExpr& large, std::vector<SizeRequirement>& requirements);
/// 0 <= extent, for each that an attribute says and no form proves. Precondition: broken_limit found nothing.
void require_extents(const Shape& shape, std::vector<SizeRequirement>& requirements);

}  // namespace millrace::ops
