// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/jit/loop_kernel.h"
#include "tests/jit/guarded_memory.h"

namespace millrace::test {

/// A nest in plain numbers, for tests that want a reference of their own: it computes itself with loops over doubles,
/// and says itself as a LoopKernel.
struct PlainIndex {
  std::int64_t offset = 0;
  std::vector<std::int64_t> coefficients;  // per dim
};
struct PlainTensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> extents;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
  std::vector<PlainIndex> indices;  // its one access
  std::optional<double> fill;
  std::int64_t num_elements() const;  // of its buffer
};
struct PlainNest {
  std::vector<std::int64_t> extents;
  std::size_t num_parallel = 0;
  std::vector<PlainTensor> operands;
  PlainTensor result;
  std::optional<ReductionKind> reduction;
  enum class Combine { kMul, kAdd, kMax } combine = Combine::kMul;  // of the operands' elements
  bool adds_index = false;  // the epilogue adds the index of dim 0 (maps and reductions with a parallel dim)

  /// Dims and strides become symbols where `is_symbolic` has a bit: their values are in `symbols`.
  LoopKernel to_kernel(std::uint32_t is_symbolic, SymbolValues& symbols) const;
};

/// One buffer a tensor, operands then the result; the result's begins as canaries.
using PlainBuffers = std::vector<GuardedMemory>;
PlainBuffers make_buffers(const PlainNest& nest, GuardedMemory::Side side, std::uint32_t seed);

/// What the result's buffer must be afterwards, element by element, with everything that is not stored as it was.
/// Values are small integers, so every order of summing gives the same.
std::vector<std::byte> expected_result(const PlainNest& nest, const PlainBuffers& buffers);

/// A random nest: maps, reductions, contractions and windows, transposed, broadcast, strided, guarded operands.
PlainNest random_nest(std::uint32_t seed);
std::string to_text(const PlainNest& nest);

}  // namespace millrace::test
