// SPDX-License-Identifier: Apache-2.0
// Elementwise ops, reductions, contractions and windows.
#include "tests/support/ops/op_problems.h"

namespace millrace::test {
namespace {

using reference::Extents;

OpProblems elementwise(std::size_t num_operands, std::int64_t lanes) {
  OpProblems problems;
  for (const Extents& extents : std::vector<Extents>{
           {}, {0}, {1}, {lanes - 1}, {lanes}, {lanes + 1}, {4 * lanes + 3}, {0, 3}, {3, 37}, {2, 3, 5, 7}, {5003}}) {
    problems.push_back({std::vector<Extents>(num_operands, extents)});
  }
  return problems;
}

OpProblem dot(Extents x, Extents y, DotAttrs attrs) { return {{std::move(x), std::move(y)}, std::move(attrs)}; }

/// x[m, k] * y[k, n]
OpProblem matrix_product(std::int64_t m, std::int64_t k, std::int64_t n) {
  return dot({m, k}, {k, n}, {.x_contract = {1}, .y_contract = {0}});
}

}  // namespace

OpProblems unary_problems(std::int64_t lanes) { return elementwise(1, lanes); }
OpProblems binary_problems(std::int64_t lanes) { return elementwise(2, lanes); }
OpProblems select_problems(std::int64_t lanes) { return elementwise(3, lanes); }

/// To every dtype.
OpProblems cast_problems(std::int64_t lanes) {
  OpProblems problems;
  for (const DType to : kAllDTypes) problems.push_back({{{2 * lanes + 1}}, CastAttrs{to}});
  for (const DType to : {DType::kF16, DType::kBF16, DType::kF32, DType::kI8}) {
    problems.push_back({{{0}}, CastAttrs{to}});
    problems.push_back({{{lanes - 1, 3}}, CastAttrs{to}});
  }
  problems.push_back({{{37, 65}}, CastAttrs{DType::kF16}});
  return problems;
}

std::vector<DType> bit_cast_dtypes(DType dtype) {
  std::vector<DType> dtypes;
  for (const DType other : kAllDTypes) {
    if (other != DType::kBool && size_bytes(other) == size_bytes(dtype)) dtypes.push_back(other);
  }
  return dtypes;
}

OpProblems bit_cast_problems(std::int64_t lanes) {
  OpProblems problems;
  for (const Extents& extents : std::vector<Extents>{{2 * lanes + 1}, {lanes - 1, 3}, {0}, {37, 65}}) {
    for (std::size_t to = 0; to < 4; ++to) problems.push_back({{extents}, CastAttrs{}, to});
  }
  return problems;
}

OpProblems reduce_problems(std::int64_t lanes) {
  return {{{{lanes + 1}}, ReduceAttrs{{0}}},
          {{{0}}, ReduceAttrs{{0}}},
          {{{1}}, ReduceAttrs{{0}, true}},
          {{{3, lanes}}, ReduceAttrs{{1}}},
          {{{3, lanes - 1}}, ReduceAttrs{{-1}, true}},
          {{{5, lanes + 1}}, ReduceAttrs{{0}}},
          {{{3, 0}}, ReduceAttrs{{1}}},
          {{{0, 3}}, ReduceAttrs{{1}}},
          {{{4, 5, 6}}, ReduceAttrs{{1}}},
          {{{4, 5, 6}}, ReduceAttrs{{0, 2}, true}},
          {{{2, 3, 4, 5}}, ReduceAttrs{{-1, 1}}},
          {{{37, 129}}, ReduceAttrs{{1}}},
          {{{129, 37}}, ReduceAttrs{{0}}},
          {{{5003}}, ReduceAttrs{{0}}}};
}

OpProblems argmax_problems(std::int64_t lanes) {
  return {{{{1}}, ArgAttrs{0}},        {{{lanes - 1}}, ArgAttrs{0}},
          {{{3, lanes}}, ArgAttrs{1}}, {{{lanes + 1, 5}}, ArgAttrs{0, true}},
          {{{0, 3}}, ArgAttrs{1}},     {{{4, 7, 3}}, ArgAttrs{1, true}},
          {{{37, 129}}, ArgAttrs{-1}}, {{{5003}}, ArgAttrs{0}}};
}

OpProblems dot_problems(std::int64_t lanes) {
  return {matrix_product(1, 1, 1),
          matrix_product(3, 4, 5),
          matrix_product(lanes - 1, lanes + 1, lanes),
          matrix_product(7, 0, 5),
          matrix_product(0, 3, 2),
          matrix_product(1, 300, 37),
          matrix_product(37, 129, 1),
          dot({5}, {5}, {.x_contract = {0}, .y_contract = {0}}),
          dot({3}, {lanes + 1}, {}),
          dot({2, 3, 4}, {2, 4, 5}, {{0}, {0}, {2}, {1}}),
          dot({4, 2, 3}, {5, 4, 2}, {{1}, {2}, {0}, {1}}),
          dot({7, 33}, {lanes + 1, 33}, {.x_contract = {1}, .y_contract = {1}}),
          dot({33, 9}, {33, 17}, {.x_contract = {0}, .y_contract = {0}}),
          dot({3, 4, 5}, {5, 4, 6}, {.x_contract = {1, 2}, .y_contract = {1, 0}}),
          dot({lanes, 3}, {3}, {.x_contract = {-1}, .y_contract = {-1}}),
          matrix_product(17, 33, 65),
          matrix_product(65, 70, 96)};
}

OpProblems conv_problems(std::int64_t lanes) {
  return {{{{1, 1, 3, 3}, {1, 1, 3, 3}}, Conv2dAttrs{}},
          {{{2, 3, 8, 9}, {4, 3, 3, 3}}, Conv2dAttrs{.padding = {1, 1, 1, 1}}},
          {{{1, 2, 9, lanes + 1}, {3, 2, 3, 3}}, Conv2dAttrs{{2, 2}, {1, 1, 1, 1}}},
          {{{1, 4, 5, 5}, {7, 4, 1, 1}}, Conv2dAttrs{}},
          {{{1, 2, 4, 6}, {3, 2, 2, 3}}, Conv2dAttrs{{1, 1}, {0, 1, 2, 0}}},
          {{{1, 3, 15, 17}, {8, 3, 5, 7}}, Conv2dAttrs{{2, 3}, {2, 3, 2, 3}}},
          {{{1, 4, 7, 9}, {6, 2, 3, 3}}, Conv2dAttrs{.padding = {1, 1, 1, 1}, .groups = 2}},
          {{{2, lanes, 5, 6}, {2 * lanes, 1, 3, 2}}, Conv2dAttrs{.dilations = {2, 3}, .groups = lanes}},
          {{{1, 2, 9, 8}, {3, 2, 3, 2}}, Conv2dAttrs{{1, 2}, {2, 1, 1, 2}, {2, 3}}},
          {{{0, 2, 4, 4}, {3, 2, 2, 2}}, Conv2dAttrs{}},
          {{{1, 0, 4, 4}, {3, 0, 2, 2}}, Conv2dAttrs{}},
          {{{1, 1, 2, 2}, {1, 1, 3, 3}}, Conv2dAttrs{{1, 1}, {2, 2, 2, 2}}},
          {{{1, 8, 14, 14}, {24, 8, 3, 3}}, Conv2dAttrs{.padding = {1, 1, 1, 1}}}};
}

OpProblems pool_problems(std::int64_t lanes) {
  return {{{{1, 1, 2, 2}}, Pool2dAttrs{}},
          {{{2, 3, 7, 9}}, Pool2dAttrs{{3, 3}, {2, 2}, {1, 1, 1, 1}}},
          {{{2, 3, 7, 9}}, Pool2dAttrs{{3, 3}, {2, 2}, {1, 1, 1, 1}, true}},
          {{{1, 2, lanes + 1, lanes}}, Pool2dAttrs{}},
          {{{1, 2, 5, lanes - 1}}, Pool2dAttrs{{1, 3}, {1, 1}, {0, 2, 0, 1}}},
          {{{1, 1, 4, 5}}, Pool2dAttrs{{2, 3}, {3, 2}, {1, 0, 0, 2}, true}},
          {{{2, 3, 8, lanes + 1}}, Pool2dAttrs{{3, 2}, {2, 3}, {0, 0, 0, 0}, false, true}},
          {{{1, 2, 6, 9}}, Pool2dAttrs{{3, 3}, {2, 4}, {1, 1, 0, 1}, true, true}},
          {{{0, 3, 4, 4}}, Pool2dAttrs{}},
          {{{1, 8, 28, 28}}, Pool2dAttrs{{3, 3}, {2, 2}, {1, 1, 1, 1}}}};
}

OpProblem large_unary() { return {{{1 << 20}}}; }
OpProblem large_binary() { return {{{1 << 20}, {1 << 20}}}; }
OpProblem large_select() { return {{{1 << 20}, {1 << 20}, {1 << 20}}}; }
OpProblem large_bit_cast() { return {{{1 << 20}}, CastAttrs{}, 0}; }
OpProblem large_cast() { return {{{1 << 20}}, CastAttrs{DType::kF32}}; }
OpProblem large_reduce() { return {{{1024, 1024}}, ReduceAttrs{{1}}}; }
OpProblem large_argmax() { return {{{1024, 1024}}, ArgAttrs{1}}; }
OpProblem large_dot() { return matrix_product(256, 256, 256); }
OpProblem large_conv() { return {{{1, 64, 56, 56}, {64, 64, 3, 3}}, Conv2dAttrs{.padding = {1, 1, 1, 1}}}; }
OpProblem large_pool() { return {{{1, 64, 112, 112}}, Pool2dAttrs{{3, 3}, {2, 2}, {1, 1, 1, 1}}}; }

}  // namespace millrace::test
