// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tests/support/ops/op_problems.h"

namespace millrace::test {

/// How one op is tried: tests/ops/op_cases_test.cpp runs every row, bench/ops/op_bench times it.
struct OpCase {
  Op op;
  std::span<const DType> dtypes;  // of the operand that decides; see operand_dtype
  OpProblems (*problems)(std::int64_t lanes);
  OpProblem (*large)();
  double low, high;  // floats are sampled from here, and from special values where a row has no error bound of its own
  double max_ulp;    // of float results; 0 is bit for bit. Accumulating ops are held to accumulation_bound instead.
};

namespace op_case_dtypes {
// One list, from floats to bool: every row's dtypes are neighbours in it.
inline constexpr DType kOrdered[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32,
                                     DType::kI64, DType::kI8,  DType::kI16, DType::kU8,   DType::kU16,
                                     DType::kU32, DType::kU64, DType::kBool};
inline constexpr std::span<const DType> kAll = kOrdered;
inline constexpr std::span<const DType> kArithmetic = kAll.first(12);
inline constexpr std::span<const DType> kFloats = kAll.first(4);
inline constexpr std::span<const DType> kIntegers = kAll.subspan(4, 8);
inline constexpr std::span<const DType> kLogical = kAll.subspan(4, 9);
inline constexpr std::span<const DType> kIndices = kAll.subspan(5, 1);
inline constexpr DType kBytes[] = {DType::kI8, DType::kU8};
inline constexpr std::span<const DType> kBool = kAll.last(1);
}  // namespace op_case_dtypes

// clang-format off
inline std::span<const OpCase> op_cases() {
  using namespace op_case_dtypes;
  static constexpr OpCase kCases[] = {
      // op                 dtypes       problems             large            low    high   max_ulp
      {Op::add,             kArithmetic, binary_problems,     large_binary,    -1e3,  1e3,   0},
      {Op::sub,             kArithmetic, binary_problems,     large_binary,    -1e3,  1e3,   0},
      {Op::mul,             kArithmetic, binary_problems,     large_binary,    -1e3,  1e3,   0},
      {Op::div,             kArithmetic, binary_problems,     large_binary,    -1e3,  1e3,   0},
      {Op::rem,             kArithmetic, binary_problems,     large_binary,    -1e3,  1e3,   0},
      {Op::min,             kArithmetic, binary_problems,     large_binary,    -2,    2,     0},
      {Op::max,             kArithmetic, binary_problems,     large_binary,    -2,    2,     0},
      {Op::pow,             kFloats,     binary_problems,     large_binary,    -8,    8,     1},
      {Op::neg,             kArithmetic, unary_problems,      large_unary,     -1e3,  1e3,   0},
      {Op::abs,             kArithmetic, unary_problems,      large_unary,     -1e3,  1e3,   0},
      {Op::sign,            kArithmetic, unary_problems,      large_unary,     -1e3,  1e3,   0},
      {Op::leaky_relu,      kFloats,     binary_problems,     large_binary,    -2,    2,     0},
      {Op::exp,             kFloats,     unary_problems,      large_unary,     -105,  90,    1},
      {Op::exp2,            kFloats,     unary_problems,      large_unary,     -151,  129,   2},
      {Op::log,             kFloats,     unary_problems,      large_unary,     0,     1e3,   1},
      {Op::log2,            kFloats,     unary_problems,      large_unary,     0,     1e3,   2},
      {Op::expm1,           kFloats,     unary_problems,      large_unary,     -25,   90,    2},
      {Op::log1p,           kFloats,     unary_problems,      large_unary,     -1,    1e3,   2},
      {Op::sqrt,            kFloats,     unary_problems,      large_unary,     0,     1e3,   0},
      {Op::rsqrt,           kFloats,     unary_problems,      large_unary,     0,     1e3,   0},
      {Op::sin,             kFloats,     unary_problems,      large_unary,     -1e3,  1e3,   1},
      {Op::cos,             kFloats,     unary_problems,      large_unary,     -1e3,  1e3,   1},
      {Op::tan,             kFloats,     unary_problems,      large_unary,     -1e3,  1e3,   3},
      {Op::atan2,           kFloats,     binary_problems,     large_binary,    -2,    2,     3},
      {Op::tanh,            kFloats,     unary_problems,      large_unary,     -10,   10,    2},
      {Op::sigmoid,         kFloats,     unary_problems,      large_unary,     -105,  20,    3},
      {Op::hard_swish,      kFloats,     unary_problems,      large_unary,     -5,    5,     2},
      {Op::softplus,        kFloats,     unary_problems,      large_unary,     -105,  20,    2},
      {Op::erf,             kFloats,     unary_problems,      large_unary,     -4.5,  4.5,   2},
      {Op::floor,           kFloats,     unary_problems,      large_unary,     -10,   10,    0},
      {Op::ceil,            kFloats,     unary_problems,      large_unary,     -10,   10,    0},
      {Op::trunc,           kFloats,     unary_problems,      large_unary,     -10,   10,    0},
      {Op::round,           kFloats,     unary_problems,      large_unary,     -10,   10,    0},
      {Op::equal,           kAll,        binary_problems,     large_binary,    -2,    2,     0},
      {Op::not_equal,       kAll,        binary_problems,     large_binary,    -2,    2,     0},
      {Op::less,            kArithmetic, binary_problems,     large_binary,    -2,    2,     0},
      {Op::less_equal,      kArithmetic, binary_problems,     large_binary,    -2,    2,     0},
      {Op::greater,         kArithmetic, binary_problems,     large_binary,    -2,    2,     0},
      {Op::greater_equal,   kArithmetic, binary_problems,     large_binary,    -2,    2,     0},
      {Op::is_nan,          kFloats,     unary_problems,      large_unary,     -2,    2,     0},
      {Op::logical_and,     kLogical,    binary_problems,     large_binary,    0,     0,     0},
      {Op::logical_or,      kLogical,    binary_problems,     large_binary,    0,     0,     0},
      {Op::logical_xor,     kLogical,    binary_problems,     large_binary,    0,     0,     0},
      {Op::logical_not,     kLogical,    unary_problems,      large_unary,     0,     0,     0},
      {Op::select,          kAll,        select_problems,     large_select,    -1e3,  1e3,   0},
      {Op::cast,            kAll,        cast_problems,       large_cast,      -1e5,  1e5,   0},
      {Op::bit_cast,        kArithmetic, bit_cast_problems,   large_bit_cast,  -1e3,  1e3,   0},
      {Op::reduce_sum,      kArithmetic, reduce_problems,     large_reduce,    -1,    1,     0},
      {Op::reduce_prod,     kArithmetic, reduce_problems,     large_reduce,    0.9,   1.1,   0},
      {Op::reduce_max,      kArithmetic, reduce_problems,     large_reduce,    -9,    9,     0},
      {Op::reduce_min,      kArithmetic, reduce_problems,     large_reduce,    -9,    9,     0},
      {Op::reduce_mean,     kFloats,     reduce_problems,     large_reduce,    -1,    1,     0},
      {Op::reduce_any,      kBool,       reduce_problems,     large_reduce,    0,     0,     0},
      {Op::reduce_all,      kBool,       reduce_problems,     large_reduce,    0,     0,     0},
      {Op::argmax,          kArithmetic, argmax_problems,     large_argmax,    -9,    9,     0},
      {Op::argmin,          kArithmetic, argmax_problems,     large_argmax,    -9,    9,     0},
      {Op::dot,             kArithmetic, dot_problems,        large_dot,       -1,    1,     0},
      {Op::dot_i32,         kBytes,      dot_problems,        large_dot,       0,     0,     0},
      {Op::conv2d,          kArithmetic, conv_problems,       large_conv,      -1,    1,     0},
      {Op::conv2d_i32,      kBytes,      conv_problems,       large_conv,      0,     0,     0},
      {Op::max_pool2d,      kArithmetic, pool_problems,       large_pool,      -9,    9,     0},
      {Op::avg_pool2d,      kFloats,     pool_problems,       large_pool,      -1,    1,     0},
      {Op::reshape,         kAll,        reshape_problems,    large_reshape,   -9,    9,     0},
      {Op::transpose,       kAll,        transpose_problems,  large_transpose, -9,    9,     0},
      {Op::broadcast,       kAll,        broadcast_problems,  large_broadcast, -9,    9,     0},
      {Op::slice,           kAll,        slice_problems,      large_slice,     -9,    9,     0},
      {Op::pad,             kAll,        pad_problems,        large_pad,       -9,    9,     0},
      {Op::concat,          kAll,        concat_problems,     large_concat,    -9,    9,     0},
      {Op::gather,          kAll,        gather_problems,     large_gather,    -9,    9,     0},
      {Op::take_along_axis, kAll,        take_problems,       large_take,      -9,    9,     0},
      {Op::iota,            kArithmetic, iota_problems,       large_iota,      0,     0,     0},
      {Op::size,            kIndices,    size_problems,       large_size,      0,     0,     0},
      {Op::scatter,         kAll,        scatter_problems,    large_scatter,   -9,    9,     0},
      {Op::scatter_add,     kArithmetic, scatter_problems,    large_scatter,   -9,    9,     0},
      {Op::scatter_mul,     kArithmetic, scatter_problems,    large_scatter,   -2,    2,     0},
      {Op::scatter_min,     kArithmetic, scatter_problems,    large_scatter,   -9,    9,     0},
      {Op::scatter_max,     kArithmetic, scatter_problems,    large_scatter,   -9,    9,     0},
      {Op::cumulative_sum,  kArithmetic, scan_problems,       large_scan,      -1,    1,     0},
      {Op::cumulative_prod, kArithmetic, scan_problems,       large_scan,      0.9,   1.1,   0},
      {Op::cumulative_max,  kArithmetic, scan_problems,       large_scan,      -9,    9,     0},
      {Op::cumulative_min,  kArithmetic, scan_problems,       large_scan,      -9,    9,     0},
      {Op::sort,            kAll,        sort_problems,       large_sort,      -9,    9,     0},
      {Op::topk,            kAll,        topk_problems,       large_topk,      -9,    9,     0},
  };
  return kCases;
}
// clang-format on

}  // namespace millrace::test
