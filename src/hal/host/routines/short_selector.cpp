// SPDX-License-Identifier: Apache-2.0
#include "hal/host/routines/short_selector.h"

#include <algorithm>
#include <limits>

namespace millrace {
namespace {

/// With more elements per result than this, many are likely to be equal to the bound.
constexpr std::int64_t kManyPerResult = 4;

}  // namespace

template <class Key>
std::int64_t ShortSelector<Key>::filter(const std::byte* row, Key limit, Key* numbers) const {
  return reinterpret_cast<const Key*>(code_.filter_row(row, numbers, n_, 0, limit)) - numbers;
}

template <class Key>
std::int64_t ShortSelector<Key>::find(const std::byte* row, const KeyRun<Key>& bound, Key* numbers) {
  const std::int64_t num_found = filter(row, bound.last, numbers);
  if (num_found <= kManyPerResult * k_) return num_found;
  // Those before the bound, and then the first ones that equal it, as many as are wanted.
  std::int64_t num_before = 0;
  if (bound.first != std::numeric_limits<Key>::min()) {
    num_before = filter(row, static_cast<Key>(bound.first - 1), memory_.others);
  }
  std::int64_t count = num_before;
  for (std::int64_t i = 0, next_before = 0; count < k_; ++i) {
    if (next_before < num_before && memory_.others[next_before] == numbers[i]) {
      ++next_before;
    } else {
      memory_.others[count++] = numbers[i];
    }
  }
  std::copy_n(memory_.others, count, numbers);
  return count;
}

template class ShortSelector<std::int32_t>;
template class ShortSelector<std::int64_t>;

}  // namespace millrace
