// SPDX-License-Identifier: Apache-2.0
#include "bench/ops/peers/plain_bounded.h"

#include <algorithm>
#include <vector>

#include "bench/ops/peers/radix_order.h"

namespace millrace::peers {

std::int64_t plain_nonzero(const float* x, std::int64_t n, std::int64_t* indices) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    indices[count] = i;
    count += x[i] != 0 ? 1 : 0;
  }
  return count;
}

std::int64_t std_unique(const float* x, std::int64_t n, float* values) {
  std::copy(x, x + n, values);
  std::sort(values, values + n);
  return std::unique(values, values + n) - values;
}

std::int64_t radix_unique(const float* x, std::int64_t n, const UniqueResults& results) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  radix_argsort(x, order.data(), 1, n);
  std::int64_t count = 0, begin = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at = order[static_cast<std::size_t>(i)];
    if (i == 0 || x[at] != results.values[count - 1]) {
      if (i > 0) results.counts[count - 1] = i - begin;
      begin = i;
      results.values[count] = x[at];
      results.first_indices[count++] = at;
    }
    results.inverse[at] = count - 1;
  }
  if (n > 0) results.counts[count - 1] = n - begin;
  return count;
}

}  // namespace millrace::peers
