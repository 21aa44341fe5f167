// SPDX-License-Identifier: Apache-2.0
#include "bench/ops/peers/std_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace millrace::peers {
namespace {

struct Element {
  float value;
  std::int64_t index;
  /// Whether `a` comes first: it is greater, or equal and earlier.
  friend bool operator<(const Element& a, const Element& b) {
    return a.value != b.value ? a.value > b.value : a.index < b.index;
  }
};

template <class Select>
void each_row(const float* x, float* values, std::int64_t* indices, std::int64_t rows, std::int64_t n, std::int64_t k,
              Select&& select) {
  std::vector<Element> elements(static_cast<std::size_t>(n));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < n; ++i) elements[static_cast<std::size_t>(i)] = {x[row * n + i], i};
    select(elements);
    for (std::int64_t i = 0; i < k; ++i) {
      values[row * k + i] = elements[static_cast<std::size_t>(i)].value;
      indices[row * k + i] = elements[static_cast<std::size_t>(i)].index;
    }
  }
}

}  // namespace

void std_sort(const float* x, float* values, std::int64_t rows, std::int64_t n) {
  std::copy(x, x + rows * n, values);
  for (std::int64_t row = 0; row < rows; ++row) std::sort(values + row * n, values + (row + 1) * n);
}

void std_argsort(const float* x, std::int64_t* indices, std::int64_t rows, std::int64_t n) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* values = x + row * n;
    std::int64_t* order = indices + row * n;
    std::iota(order, order + n, std::int64_t{0});
    std::stable_sort(order, order + n, [&](std::int64_t a, std::int64_t b) { return values[a] < values[b]; });
  }
}

void partial_sort_topk(const float* x, float* values, std::int64_t* indices, std::int64_t rows, std::int64_t n,
                       std::int64_t k) {
  each_row(x, values, indices, rows, n, k,
           [&](std::vector<Element>& all) { std::partial_sort(all.begin(), all.begin() + k, all.end()); });
}

void nth_element_topk(const float* x, float* values, std::int64_t* indices, std::int64_t rows, std::int64_t n,
                      std::int64_t k) {
  each_row(x, values, indices, rows, n, k, [&](std::vector<Element>& all) {
    std::nth_element(all.begin(), all.begin() + k - 1, all.end());
    std::sort(all.begin(), all.begin() + k);
  });
}

void binary_heap_topk(const float* x, float* values, std::int64_t* indices, std::int64_t rows, std::int64_t n,
                      std::int64_t k) {
  std::vector<Element> heap;
  for (std::int64_t row = 0; row < rows; ++row) {
    heap.assign({});
    for (std::int64_t i = 0; i < k; ++i) heap.push_back({x[row * n + i], i});
    std::make_heap(heap.begin(), heap.end());
    for (std::int64_t i = k; i < n; ++i) {
      if (x[row * n + i] <= heap.front().value) continue;
      std::pop_heap(heap.begin(), heap.end());
      heap.back() = {x[row * n + i], i};
      std::push_heap(heap.begin(), heap.end());
    }
    std::sort_heap(heap.begin(), heap.end());
    for (std::int64_t i = 0; i < k; ++i) {
      values[row * k + i] = heap[static_cast<std::size_t>(i)].value;
      indices[row * k + i] = heap[static_cast<std::size_t>(i)].index;
    }
  }
}

float read_all(const float* x, std::int64_t count) {
  // Enough independent maxima to hide the latency of a maximum, and few enough to stay in registers.
  constexpr std::int64_t kNumAccumulators = 64;
  float greatest[kNumAccumulators];
  std::fill(std::begin(greatest), std::end(greatest), -std::numeric_limits<float>::infinity());
  std::int64_t i = 0;
  for (; i + kNumAccumulators <= count; i += kNumAccumulators) {
    for (std::int64_t lane = 0; lane < kNumAccumulators; ++lane) {
      greatest[lane] = x[i + lane] > greatest[lane] ? x[i + lane] : greatest[lane];
    }
  }
  for (; i < count; ++i) greatest[0] = std::max(greatest[0], x[i]);
  return *std::max_element(std::begin(greatest), std::end(greatest));
}

}  // namespace millrace::peers
