// SPDX-License-Identifier: Apache-2.0
#include "bench/ops/peers/highway_sort.h"

#include <algorithm>
#include <bit>
#include <hwy/contrib/sort/vqsort.h>
#include <hwy/targets.h>
#include <vector>

namespace millrace::peers {
namespace {

/// Makes Highway use AVX2, or its best target.
void hold_to_avx2(bool holds) {
  static bool is_held = false;
  if (holds == is_held) return;
  is_held = holds;
  hwy::SetSupportedTargetsForTest(holds ? HWY_AVX2 : 0);
}

void sort_rows(const float* x, float* values, std::int64_t rows, std::int64_t n) {
  std::copy(x, x + rows * n, values);
  for (std::int64_t row = 0; row < rows; ++row) {
    hwy::VQSort(values + row * n, static_cast<std::size_t>(n), hwy::SortAscending());
  }
}

void argsort_rows(const float* x, std::int64_t* indices, std::int64_t rows, std::int64_t n) {
  static std::vector<std::uint64_t> words;
  words.resize(static_cast<std::size_t>(n));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(x[row * n + i]);
      const std::uint32_t key = bits ^ (bits >> 31 != 0 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
      words[static_cast<std::size_t>(i)] = std::uint64_t{key} << 32 | static_cast<std::uint64_t>(i);
    }
    hwy::VQSort(words.data(), words.size(), hwy::SortAscending());
    for (std::int64_t i = 0; i < n; ++i) {
      indices[row * n + i] = static_cast<std::int64_t>(words[static_cast<std::size_t>(i)] & 0xffff'ffff);
    }
  }
}

}  // namespace

void highway_sort(const float* x, float* values, std::int64_t rows, std::int64_t n) {
  hold_to_avx2(false);
  sort_rows(x, values, rows, n);
}
void highway_sort_avx2(const float* x, float* values, std::int64_t rows, std::int64_t n) {
  hold_to_avx2(true);
  sort_rows(x, values, rows, n);
}
void highway_argsort(const float* x, std::int64_t* indices, std::int64_t rows, std::int64_t n) {
  hold_to_avx2(false);
  argsort_rows(x, indices, rows, n);
}
void highway_argsort_avx2(const float* x, std::int64_t* indices, std::int64_t rows, std::int64_t n) {
  hold_to_avx2(true);
  argsort_rows(x, indices, rows, n);
}

}  // namespace millrace::peers
