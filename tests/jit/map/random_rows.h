// SPDX-License-Identifier: Apache-2.0
// Random nests of several passes over their reduction dims, with a reference of their own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/jit/map/plain_nest.h"
#include "tests/support/guarded_buffer.h"

namespace millrace::test {

/// An operation of a body in plain numbers. Each value is a small integer, or true or false.
struct RowsOp {
  enum class Kind : std::uint8_t {
    kConstant,
    kLoad,     // the element of operand `number`
    kIndex,    // the index along dim `number`
    kExtent,   // the extent of dim `number`
    kReduced,  // the result of reduction `number`
    kKept,     // the value at this point that an earlier pass keeps as `number`
    kConvert,
    kRound,  // to f16 and back, which changes no small integer
    kAdd,
    kSub,
    kMul,
    kMin,
    kMax,
    kLess,
    kSelect,
  };
  Kind kind = Kind::kConstant;
  DType dtype = DType::kF32;              // of the value
  std::array<std::size_t, 3> operands{};  // earlier operations of the body
  std::size_t number = 0;
  double constant = 0;
  bool is_rare = false;  // the condition of a select
};
using RowsBody = std::vector<RowsOp>;

struct RowsReduction {
  ReductionKind kind = ReductionKind::kSum;
  std::size_t value = 0;  // an operation of the term
};
struct RowsStore {
  std::size_t result = 0;
  std::size_t value = 0;  // an operation of the term or epilogue
};

/// One pass. Reductions and kept values are numbered in the order of the passes.
struct RowsPass {
  RowsBody term;
  std::vector<RowsReduction> reductions;
  std::vector<std::size_t> kept;  // operations of the term
  std::vector<RowsStore> stores;
};

struct RowsTensor {
  PlainTensor plain;
  std::vector<std::size_t> order;  // its axes, outermost in memory first
  std::int64_t padding = 0;        // elements after each row of an axis
};

/// A nest of several passes in plain numbers. It can compute its results with loops over doubles, and make the
/// LoopKernel.
struct RowsNest {
  std::vector<std::int64_t> extents;
  std::size_t num_parallel = 0;
  std::vector<RowsTensor> operands, results;
  std::vector<RowsPass> passes;
  RowsBody epilogue;
  std::vector<RowsStore> stores;  // of the epilogue

  /// Dim d becomes a symbol if `is_symbolic` has bit d. `symbols` gets its value.
  LoopKernel to_kernel(std::uint32_t is_symbolic, SymbolValues& symbols) const;
};

/// One to four passes; every sum is exact in any order.
RowsNest random_rows(std::uint32_t seed);

/// The operands, which are read-only, then the results, which hold kUntouched.
std::vector<GuardedBuffer> make_buffers(const RowsNest&, GuardedBuffer::Guard guard, std::uint32_t seed);
/// The bytes that each result must have afterwards. Bytes that no point stores are kUntouched.
std::vector<std::vector<std::byte>> expected_results(const RowsNest&, std::span<const GuardedBuffer> buffers);
/// Names the first byte that differs, in a result or around it. Empty if all are equal.
std::string wrong_byte(const RowsNest&, std::span<const GuardedBuffer> buffers,
                       std::span<const std::vector<std::byte>> expected);

}  // namespace millrace::test
