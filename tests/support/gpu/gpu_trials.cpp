// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/gpu_trials.h"

namespace millrace::test {

std::vector<GpuTrial> gpu_trials() {
  using enum DType;
  const Conv2dAttrs padded{.padding = {1, 1, 1, 1}};
  const DotAttrs product{.x_contract = {1}, .y_contract = {0}};
  return {
      {"loop_pad_first", Op::conv2d, {{{1, 8, 14, 14}, {24, 8, 3, 3}}, padded}, {kF32, kI16}},
      {"loop_direct", Op::conv2d, {{{1, 8, 14, 14}, {24, 8, 3, 3}}, padded}, {kF32, kU8}},
      {"loop_direct", Op::conv2d_i32, {{{1, 8, 14, 14}, {24, 8, 3, 3}}, padded}, {kI8, kU8}},
      {"loop_direct", Op::dot, {{{65, 70}, {70, 96}}, product}, {kF32, kBF16, kI8}},  // staged in workgroup memory
      {"loop_direct", Op::add, {{{3, 1024}, {3, 1024}}}, {kF32, kF16, kI64}},         // a vector per thread
      {"loop_direct", Op::transpose, {{{70, 130}}, PermutationAttrs{{1, 0}}}, {kF32, kI8}},
      {"loop_direct", Op::reduce_sum, {{{80, 100}}, ReduceAttrs{{1}}}, {kF32, kF16, kU64}},  // a subgroup per row
      {"loop_direct", Op::reduce_max, {{{3, 5003}}, ReduceAttrs{{1}}}, {kF32, kI8}},         // a workgroup per row
      {"loop_direct", Op::argmax, {{{80, 100}}, ArgAttrs{1}}, {kF32, kU16}},
      {"loop_direct", Op::argmin, {{{5003}}, ArgAttrs{0}}, {kF64, kI32}},
      {"loop_direct", Op::max_pool2d, {{{1, 3, 28, 28}}, Pool2dAttrs{{3, 3}, {2, 2}, {1, 1, 1, 1}}}, {kF32, kI8}},
      {"loop_direct", Op::gather, {{{50, 64}, {61}}, GatherAttrs{0}}, {kF32, kI16}},
      {"reduce_parts", Op::reduce_sum, {{{2, 5003}}, ReduceAttrs{{1}}}, {kF32, kBF16, kI64}},
      {"reduce_parts", Op::reduce_sum, {{{4096, 3}}, ReduceAttrs{{0}}}, {kF32, kF64}},
      {"reduce_parts", Op::reduce_mean, {{{30, 700}}, ReduceAttrs{{0, 1}}}, {kF32, kF16}},
      {"reduce_parts", Op::reduce_max, {{{3, 5003}}, ReduceAttrs{{1}}}, {kF32, kI8}},
      {"reduce_parts", Op::reduce_prod, {{{3, 1000}}, ReduceAttrs{{1}}}, {kI32}},
      {"reduce_parts", Op::argmax, {{{5003, 2}}, ArgAttrs{0}}, {kF32, kI64}},
      {"reduce_parts", Op::argmin, {{{5003}}, ArgAttrs{0}}, {kF16, kU8}},
      {"reduce_parts", Op::dot, {{{3, 1500}, {1500, 2}}, product}, {kF32, kBF16, kI8}},
      {"scatter_lines", Op::scatter, {{{50, 64}, {61}, {61, 64}}, GatherAttrs{0}}, {kF32, kBool}},
      {"scatter_lines", Op::scatter_add, {{{50, 64}, {61}, {61, 64}}, GatherAttrs{0}}, {kF16, kI64}},
      {"gpu_topk_lanes", Op::topk, {{{5, 256}}, TopKAttrs{.k = 8}}, {kF32, kU64}},
      {"gpu_topk_lanes", Op::topk, {{{70, 33}}, TopKAttrs{.k = 16, .largest = false}}, {kBF16, kI16}},
      {"gpu_tile_sort", Op::sort, {{{3, 65}}, SortAttrs{1, true}}, {kF32, kBool}},
      {"gpu_tile_sort", Op::sort, {{{2300, 2}}, SortAttrs{0}}, {kF64, kI16}},
      {"gpu_tile_sort", Op::topk, {{{2, 1000}}, TopKAttrs{.k = 700, .sorted = false}}, {kF16, kU32}},
      {"gpu_topk_parts", Op::topk, {{{2, 3000}}, TopKAttrs{.k = 50}}, {kF32, kU8}},  // a row per workgroup
      {"gpu_topk_parts", Op::topk, {{{9000}}, TopKAttrs{.k = 600}}, {kF32, kI64}},   // parts that are merged
      {"gpu_topk_select", Op::topk, {{{2, 5000}}, TopKAttrs{.k = 700}}, {kF32}},     // the chosen are sorted
      {"gpu_topk_select", Op::topk, {{{4097}}, TopKAttrs{.k = 1000, .sorted = false}}, {kBF16}},
      {"gpu_radix_sort", Op::sort, {{{2, 5000}}, SortAttrs{1, true}}, {kF32, kI16}},
      {"gpu_radix_sort", Op::sort, {{{300, 3}}, SortAttrs{0}}, {kU8, kI64}},
      {"gpu_scan_columns", Op::cumulative_sum, {{{50, 70}}, ScanAttrs{.axis = 0, .exclusive = true}}, {kF32, kI8}},
      {"gpu_scan_rows", Op::cumulative_sum, {{{3, 1500}}, ScanAttrs{.axis = 1, .reverse = true}}, {kF32, kI16}},
      {"gpu_scan_rows", Op::cumulative_max, {{{40, 33}}, ScanAttrs{.axis = 1, .exclusive = true}}, {kBF16, kU64}},
      {"gpu_scan_pieces", Op::cumulative_max, {{{2, 9000}}, ScanAttrs{.axis = 1}}, {kF32, kI64}},
      {"gpu_scan_pieces", Op::cumulative_sum, {{{20000}}, ScanAttrs{.axis = 0, .exclusive = true}}, {kF16, kU32}},
  };
}

}  // namespace millrace::test
