// SPDX-License-Identifier: Apache-2.0
// Views, moves and order.
#include <limits>

#include "tests/support/ops/op_problems.h"

namespace millrace::test {
namespace {

using reference::Extents;

std::vector<SizeExpr> sizes(const Extents& extents) { return {extents.begin(), extents.end()}; }

OpProblem reshape(Extents from, const Extents& to) { return {{std::move(from)}, ShapeAttrs{sizes(to)}}; }

OpProblem broadcast(Extents from, const Extents& to, std::vector<std::int64_t> dims) {
  return {{std::move(from)}, BroadcastAttrs{sizes(to), std::move(dims)}};
}

OpProblem slice(Extents from, const Extents& start, const Extents& stop, std::vector<std::int64_t> step) {
  return {{std::move(from)}, SliceAttrs{sizes(start), sizes(stop), std::move(step)}};
}

OpProblem pad(Extents from, const Extents& low, const Extents& high, Number value) {
  return {{std::move(from)}, PadAttrs{sizes(low), sizes(high), value}};
}

}  // namespace

OpProblems reshape_problems(std::int64_t lanes) {
  return {reshape({}, {1}),
          reshape({2, 3}, {6}),
          reshape({0, 3}, {3, 0}),
          reshape({lanes + 1, 4}, {4, lanes + 1}),
          reshape({lanes - 1}, {1, lanes - 1, 1}),
          reshape({5003}, {1, 5003})};
}

OpProblems transpose_problems(std::int64_t lanes) {
  return {{{{}}, PermutationAttrs{}},
          {{{0, 4}}, PermutationAttrs{{1, 0}}},
          {{{3, lanes}}, PermutationAttrs{{1, 0}}},
          {{{lanes + 1, lanes - 1}}, PermutationAttrs{{1, 0}}},
          {{{2, 3, 5}}, PermutationAttrs{{2, 0, 1}}},
          {{{2, 3, 5}}, PermutationAttrs{{0, 2, -2}}},
          {{{2, 3, 4, 5}}, PermutationAttrs{{3, 1, 0, 2}}},
          {{{37, 129}}, PermutationAttrs{{1, 0}}}};
}

OpProblems broadcast_problems(std::int64_t lanes) {
  return {broadcast({}, {lanes + 1}, {}),
          broadcast({1}, {0}, {0}),
          broadcast({3, 1}, {3, lanes}, {0, 1}),
          broadcast({5}, {4, 5}, {1}),
          broadcast({5}, {5, 4}, {0}),
          broadcast({2, 3}, {2, 7, 3}, {0, 2}),
          broadcast({1, lanes - 1}, {3, 2, lanes - 1}, {0, 2}),
          broadcast({129}, {37, 129}, {1})};
}

OpProblems slice_problems(std::int64_t lanes) {
  return {slice({}, {}, {}, {}),
          slice({lanes + 1}, {1}, {lanes + 1}, {1}),
          slice({5, lanes}, {1, 0}, {4, lanes - 1}, {1, 1}),
          slice({9, 3 * lanes + 2}, {1, 2}, {9, 3 * lanes + 1}, {3, 2}),
          slice({4, 5}, {2, 1}, {2, 4}, {1, 1}),
          slice({3, 4, 5}, {0, 1, 2}, {3, 4, 5}, {2, 1, 7}),
          slice({100, 70}, {7, 3}, {93, 68}, {1, 1})};
}

OpProblems pad_problems(std::int64_t lanes) {
  return {pad({lanes - 1}, {1}, {0}, 1.5),
          pad({lanes}, {0}, {3}, 0),
          pad({0}, {2}, {1}, -3.25),
          pad({}, {}, {}, 1),
          pad({3, lanes + 1}, {1, 2}, {0, 1}, 1e300),
          pad({2, 3, 4}, {1, 0, 2}, {0, 2, 1}, 7),
          pad({61, 65}, {1, 1}, {1, 1}, -1),
          pad({3}, {1}, {1}, (std::int64_t{1} << 53) + 1),
          pad({2}, {0}, {2}, std::numeric_limits<std::uint64_t>::max())};
}

OpProblems concat_problems(std::int64_t lanes) {
  return {{{{3}}, AxisAttrs{0}},
          {{{lanes - 1}, {lanes + 1}}, AxisAttrs{0}},
          {{{0}, {4}, {0}}, AxisAttrs{0}},
          {{{2, 3}, {2, lanes}}, AxisAttrs{1}},
          {{{2, 3, 4}, {2, 1, 4}, {2, 5, 4}}, AxisAttrs{-2}},
          {{{0, 3}, {0, 5}}, AxisAttrs{1}},
          {{{40, 37}, {33, 37}}, AxisAttrs{0}}};
}

OpProblems gather_problems(std::int64_t lanes) {
  return {
      {{{5}, {lanes + 1}}, GatherAttrs{0}},   {{{5}, {}}, GatherAttrs{0}},         {{{lanes, 3}, {4}}, GatherAttrs{0}},
      {{{3, lanes}, {2, 3}}, GatherAttrs{1}}, {{{2, 7, 3}, {5}}, GatherAttrs{-2}}, {{{4, 3}, {0}}, GatherAttrs{0}},
      {{{0, 3}, {0}}, GatherAttrs{0}},        {{{1, 1}, {1}}, GatherAttrs{1}},     {{{100, 37}, {61}}, GatherAttrs{0}}};
}

OpProblems take_problems(std::int64_t lanes) {
  return {{{{5}, {lanes + 1}}, GatherAttrs{0}},
          {{{3, lanes + 1}, {3, 2}}, GatherAttrs{1}},
          {{{7, lanes + 1}, {4, lanes + 1}}, GatherAttrs{0}},
          {{{2, 7, 3}, {2, 5, 3}}, GatherAttrs{-2}},
          {{{4, 3}, {0, 3}}, GatherAttrs{0}},
          {{{0, 3}, {0, 3}}, GatherAttrs{0}},
          {{{4, 0}, {2, 0}}, GatherAttrs{0}},
          {{{1, 1}, {1, 1}}, GatherAttrs{1}},
          {{{37, 100}, {37, 61}}, GatherAttrs{-1}}};
}

OpProblems iota_problems(std::int64_t lanes) {
  return {{{}, IotaAttrs{.shape = sizes({lanes + 1}), .axis = 0}},
          {{}, IotaAttrs{.shape = sizes({0}), .axis = 0}},
          {{}, IotaAttrs{.shape = sizes({3, lanes}), .axis = 0}},
          {{}, IotaAttrs{.shape = sizes({3, lanes - 1}), .axis = 1}},
          {{}, IotaAttrs{.shape = sizes({2, 5, 3}), .axis = -2}},
          {{}, IotaAttrs{.shape = sizes({5003}), .axis = 0}}};
}

OpProblems size_problems(std::int64_t lanes) {
  return {{{}, SizeAttrs{0}}, {{}, SizeAttrs{lanes}}, {{}, SizeAttrs{-7}}};
}

OpProblems scatter_problems(std::int64_t lanes) {
  return {{{{5}, {lanes + 1}, {lanes + 1}}, GatherAttrs{0}},
          {{{5}, {}, {}}, GatherAttrs{0}},
          {{{lanes, 3}, {4}, {4, 3}}, GatherAttrs{0}},
          {{{7, lanes + 1}, {9}, {9, lanes + 1}}, GatherAttrs{0}},
          {{{3, lanes}, {2, 3}, {3, 2, 3}}, GatherAttrs{1}},
          {{{2, 7, 3}, {5}, {2, 5, 3}}, GatherAttrs{-2}},
          {{{4, 3}, {0}, {0, 3}}, GatherAttrs{0}},
          {{{0, 3}, {0}, {0, 3}}, GatherAttrs{0}},
          {{{4, 0}, {2}, {2, 0}}, GatherAttrs{0}},
          {{{100, 37}, {61}, {61, 37}}, GatherAttrs{0}},
          {{{7, lanes + 1}, {}, {lanes + 1}}, GatherAttrs{0}},
          {{{3, 7, lanes + 1}, {2, 3}, {3, 2, 3, lanes + 1}}, GatherAttrs{1}}};
}

OpProblems scan_problems(std::int64_t lanes) {
  return {{{{lanes + 1}}, ScanAttrs{}},
          {{{1}}, ScanAttrs{.exclusive = true}},
          {{{0, 3}}, ScanAttrs{0}},
          {{{3, 0}}, ScanAttrs{0}},
          {{{5, lanes + 1}}, ScanAttrs{0, true}},
          {{{5, 2 * lanes - 1}}, ScanAttrs{.axis = 0, .reverse = true}},
          {{{3, 4, 5}}, ScanAttrs{-2, true, true}},
          {{{2, 33}}, ScanAttrs{1, false, true}},
          {{{37, 65}}, ScanAttrs{0}}};
}

OpProblems sort_problems(std::int64_t lanes) {
  return {{{{0}}, SortAttrs{0}},     {{{1}}, SortAttrs{0, true}},  {{{lanes + 1}}, SortAttrs{0}},
          {{{0, 3}}, SortAttrs{1}},  {{{3, 0}}, SortAttrs{1}},     {{{5, 33}}, SortAttrs{-1, true}},
          {{{33, 4}}, SortAttrs{0}}, {{{2, 31, 3}}, SortAttrs{1}}, {{{1003}}, SortAttrs{0, true}}};
}

OpProblems topk_problems(std::int64_t lanes) {
  return {{{{5}}, TopKAttrs{.k = 0}},
          {{{0}}, TopKAttrs{.k = 0}},
          {{{lanes + 1}}, TopKAttrs{.k = 1}},
          {{{3, 37}}, TopKAttrs{.k = 5}},
          {{{3, 37}}, TopKAttrs{.k = 37, .largest = false}},
          {{{33, 4}}, TopKAttrs{.k = 7, .axis = 0, .sorted = false}},
          {{{2, 31, 3}}, TopKAttrs{.k = 2, .axis = 1, .largest = false}},
          {{{1003}}, TopKAttrs{.k = 64}}};
}

OpProblem large_reshape() { return reshape({1024, 1024}, {1 << 20}); }
OpProblem large_transpose() { return {{{1024, 1024}}, PermutationAttrs{{1, 0}}}; }
OpProblem large_broadcast() { return broadcast({1024}, {1024, 1024}, {1}); }
OpProblem large_slice() { return slice({1024, 1026}, {0, 1}, {1024, 1025}, {1, 1}); }
OpProblem large_pad() { return pad({1022, 1022}, {1, 1}, {1, 1}, 0); }
OpProblem large_concat() { return {{{1024, 512}, {1024, 512}}, AxisAttrs{1}}; }
OpProblem large_gather() { return {{{4096, 256}, {4096}}, GatherAttrs{0}}; }
OpProblem large_take() { return {{{1024, 1024}, {1024, 256}}, GatherAttrs{1}}; }
OpProblem large_iota() { return {{}, IotaAttrs{.shape = sizes({1 << 20}), .axis = 0}}; }
OpProblem large_size() { return {{}, SizeAttrs{7}}; }
OpProblem large_scatter() { return {{{4096, 256}, {4096}, {4096, 256}}, GatherAttrs{0}}; }
OpProblem large_scan() { return {{{1024, 1024}}, ScanAttrs{0}}; }
OpProblem large_sort() { return {{{1 << 18}}, SortAttrs{0}}; }
OpProblem large_topk() { return {{{16, 1 << 14}}, TopKAttrs{.k = 64}}; }

}  // namespace millrace::test
