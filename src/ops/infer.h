// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/ops/op_def.h"

namespace millrace::ops {

// The checks that all type rules use. Messages read "what: found, expected; what to do"; the caller puts the node's
// name before them.

using Types = std::span<const TensorType>;
using InferResult = Result<Inference>;
using InferFunction = InferResult (*)(Types, const Attributes&);

/// The dtypes that an op accepts, and how messages name them.
struct DTypeSet {
  std::uint32_t bits = 0;
  std::string_view text;
  /// Also returns false for a number that is not a dtype.
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
inline constexpr DTypeSet kBytes = {dtype_bits(DType::kI8, DType::kU8), "i8 or u8"};
inline constexpr DTypeSet kBoolOnly = {dtype_bits(DType::kBool), "bool"};
inline constexpr DTypeSet kIndices = {dtype_bits(DType::kI32, DType::kI64), "i32 or i64"};

/// "operand 0 is bool[4], expected a float; insert a cast"
Status expect_dtype(Types operands, std::size_t operand, const DTypeSet& set);
/// "operand 1 is f32[8], expected f32[4x8] like operand 0; insert a broadcast"
Status expect_like(Types operands, std::size_t operand, std::size_t like);
/// "operand 0 is f32[8], expected rank 4 (n, c, h, w); reshape it"
Status expect_rank(Types operands, std::size_t operand, std::size_t rank, std::string_view dims);
/// Checks that every operand has the type of operand 0, and that its dtype is in the set.
Status expect_alike(Types operands, const DTypeSet& set);

/// The axis, counted from the front; otherwise "axis is 3, expected -2 to 1 for operand 0, f32[4x8]; choose one of its
/// axes".
Result<std::size_t> resolve_axis(std::int64_t axis, Types operands, std::size_t operand, std::string_view attribute);
/// The axes, counted from the front, in the given order. They must be distinct.
Result<std::vector<std::size_t>> resolve_axes(std::span<const std::int64_t> axes, Types operands, std::size_t operand,
                                              std::string_view attribute);

/// The result type of gather: one axis of operand 0 is replaced by the dims of operand 1, the indices.
Result<TensorType> gathered_type(Types operands, std::int64_t axis);

/// "padding has 2 entries, expected 4 (h low, w low, h high, w high); give one for each"
Status expect_entries(std::string_view attribute, std::size_t found, std::size_t expected, std::string_view of_what);
/// Checks that each entry is at least `minimum`: "strides[1] is 0, expected 1 or more; correct it".
Status expect_at_least(std::string_view attribute, std::span<const std::int64_t> entries, std::int64_t minimum);

/// Returns false if no binding has small <= large. If the two expressions do not prove small <= large for every
/// binding, adds it as a requirement that each run checks.
bool require_at_most(const SizeExpr& small, const SizeExpr& large, std::vector<SizeRequirement>& requirements);
/// Adds the requirement 0 <= extent for every extent whose expression does not prove it. Precondition: broken_limit
/// returns an empty text.
void require_extents(const Shape& shape, std::vector<SizeRequirement>& requirements);

}  // namespace millrace::ops
