// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/ops/op.h"
#include "tests/reference/tensor.h"

namespace millrace::test {

/// Shapes and attributes that an op is tried with.
struct OpProblem {
  std::vector<reference::Extents> operands;
  Attributes attributes = NoAttrs{};
  std::optional<std::size_t> bit_cast_to = {};  // the index in bit_cast_dtypes, modulo their number
};
using OpProblems = std::vector<OpProblem>;

/// The dtypes as wide as `dtype`, except bool.
std::vector<DType> bit_cast_dtypes(DType dtype);

// One function a family: the awkward sizes about `lanes`, the elements of one vector register. The last problem is the
// largest.
OpProblems unary_problems(std::int64_t lanes);
OpProblems binary_problems(std::int64_t lanes);
OpProblems select_problems(std::int64_t lanes);
OpProblems cast_problems(std::int64_t lanes);
OpProblems bit_cast_problems(std::int64_t lanes);
OpProblems reduce_problems(std::int64_t lanes);
OpProblems argmax_problems(std::int64_t lanes);
OpProblems dot_problems(std::int64_t lanes);
OpProblems conv_problems(std::int64_t lanes);
OpProblems pool_problems(std::int64_t lanes);
OpProblems reshape_problems(std::int64_t lanes);
OpProblems transpose_problems(std::int64_t lanes);
OpProblems broadcast_problems(std::int64_t lanes);
OpProblems slice_problems(std::int64_t lanes);
OpProblems pad_problems(std::int64_t lanes);
OpProblems concat_problems(std::int64_t lanes);
OpProblems gather_problems(std::int64_t lanes);
OpProblems take_problems(std::int64_t lanes);
OpProblems iota_problems(std::int64_t lanes);
OpProblems size_problems(std::int64_t lanes);
OpProblems scatter_problems(std::int64_t lanes);
OpProblems scan_problems(std::int64_t lanes);
OpProblems sort_problems(std::int64_t lanes);
OpProblems topk_problems(std::int64_t lanes);

// What op_bench measures: one problem that fills caches without being slow.
OpProblem large_unary();
OpProblem large_binary();
OpProblem large_select();
OpProblem large_cast();
OpProblem large_bit_cast();
OpProblem large_reduce();
OpProblem large_argmax();
OpProblem large_dot();
OpProblem large_conv();
OpProblem large_pool();
OpProblem large_reshape();
OpProblem large_transpose();
OpProblem large_broadcast();
OpProblem large_slice();
OpProblem large_pad();
OpProblem large_concat();
OpProblem large_gather();
OpProblem large_take();
OpProblem large_iota();
OpProblem large_size();
OpProblem large_scatter();
OpProblem large_scan();
OpProblem large_sort();
OpProblem large_topk();

}  // namespace millrace::test
