// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// How a product walks one buffer; all counts in elements.
struct GemmAccess {
  std::uint32_t buffer = 0;  // number of the kernel's buffer argument: operands, then results
  std::int64_t offset = 0;
  std::int64_t m = 0, n = 0, k = 0;
  std::vector<std::int64_t> batch{};  // one per GemmProblem::batch_extents; 0 where the buffer is broadcast
  friend bool operator==(const GemmAccess&, const GemmAccess&) = default;
};

/// C[batch.., m, n] = epilogue(sum over k of A[batch.., m, k] * B[batch.., k, n]), every access strided and static.
/// The stores have unit stride along n: A and B have changed roles where the results lie the other way.
struct GemmProblem {
  bool is_empty = false;  // nothing to write; the extents below are then at least 1 all the same
  std::int64_t m = 1, n = 1, k = 1;
  std::vector<std::int64_t> batch_extents;  // those over which B moves come first
  std::size_t num_outer_batch = 0;          // how many those are
  GemmAccess a, b;
  std::vector<GemmAccess> loads;         // of the epilogue
  std::vector<std::uint32_t> load_slot;  // LoopKernel load number -> index in `loads`
  std::vector<GemmAccess> stores;
};

/// Reads the product out of a kernel whose dims are collapsed, or says why it is none that the microkernels take.
Result<GemmProblem> match_gemm(const LoopKernel& collapsed);

}  // namespace millrace
