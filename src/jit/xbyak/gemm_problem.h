// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// How a product accesses one buffer. All counts are in elements.
struct GemmAccess {
  std::uint32_t buffer = 0;  // the kernel's buffer argument: operands, then results
  std::int64_t offset = 0;
  std::int64_t m = 0, n = 0, k = 0;
  std::vector<std::int64_t> batch{};  // one stride per GemmProblem::batch_extents; 0 if broadcast
  friend bool operator==(const GemmAccess&, const GemmAccess&) = default;
};

/// C[batch.., m, n] = epilogue(sum over k of A[batch.., m, k] * B[batch.., k, n]), where every access is strided and
/// static. Stores have unit stride along n; for results that are contiguous along m, A and B are exchanged.
struct GemmProblem {
  bool is_empty = false;  // nothing to write; the extents below are still at least 1
  std::int64_t m = 1, n = 1, k = 1;
  std::vector<std::int64_t> batch_extents;  // dims along which B has a nonzero stride come first
  std::size_t num_outer_batch = 0;          // how many batch dims have a nonzero stride in B
  GemmAccess a, b;
  std::vector<GemmAccess> loads;         // the loads of the epilogue
  std::vector<std::uint32_t> load_slot;  // load index of the LoopKernel -> index in `loads`
  std::vector<GemmAccess> stores;
};

/// Extracts the product from a kernel with collapsed dims. Fails with kUnimplemented if the microkernels do not support
/// the kernel; the message says why.
Result<GemmProblem> match_gemm(const LoopKernel& collapsed);

}  // namespace millrace
