// SPDX-License-Identifier: Apache-2.0
#include "bench/ops/peers/plain_suppression.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace millrace::peers {

std::int64_t plain_suppression(const float* boxes, const float* scores, std::int64_t n, std::int64_t bound,
                               float max_overlap, std::int64_t* indices) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(
      order, [&](std::int64_t i, std::int64_t k) { return scores[i] != scores[k] ? scores[i] > scores[k] : i < k; });
  const auto area = [&](const float* box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  std::vector<char> is_hidden(static_cast<std::size_t>(n));
  std::int64_t count = 0;
  for (std::size_t i = 0; i < order.size() && count < bound; ++i) {
    if (is_hidden[i]) continue;
    indices[count++] = order[i];
    const float* a = boxes + 4 * order[i];
    for (std::size_t k = i + 1; k < order.size(); ++k) {
      if (is_hidden[k]) continue;
      const float* b = boxes + 4 * order[k];
      const float width = std::max(0.f, std::min(a[2], b[2]) - std::max(a[0], b[0]));
      const float height = std::max(0.f, std::min(a[3], b[3]) - std::max(a[1], b[1]));
      const float shared = width * height;
      if (shared / (area(a) + area(b) - shared) > max_overlap) is_hidden[k] = 1;
    }
  }
  return count;
}

}  // namespace millrace::peers
