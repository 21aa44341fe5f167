// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "tests/reference/families.h"

namespace millrace::reference {
namespace {

/// NaN is greatest and equal to NaN; -0 equals +0.
template <class W>
bool key_less(W a, W b) {
  if (is_nan(a)) return false;
  if (is_nan(b)) return true;
  return a < b;
}

}  // namespace

/// Sorts the indices of each row; of equal keys the lower index comes first, in both directions.
std::vector<Tensor> order(const Tensor& x, std::int64_t axis_attribute, bool descending, std::int64_t k) {
  const Extents extents = x.extents();
  const std::size_t axis = from_front(axis_attribute, extents.size());
  Extents result = extents, rows = extents;
  result[axis] = k;
  rows[axis] = 1;
  Tensor values(x.type.dtype, result), indices(DType::kI64, result);
  const Extents strides = row_major_strides(extents), result_strides = row_major_strides(result);
  const std::size_t bytes = size_bytes(x.type.dtype);
  visit_wide(x.type.dtype, [&]<class W>() {
    const std::vector<W> keys = read_all<W>(x);
    if (keys.empty()) return;
    for_each_index(rows, [&](const Extents& row) {
      const std::int64_t base = offset_of(row, strides), result_base = offset_of(row, result_strides);
      const auto key = [&](std::int64_t i) { return keys[static_cast<std::size_t>(base + i * strides[axis])]; };
      std::vector<std::int64_t> permutation(static_cast<std::size_t>(extents[axis]));
      std::iota(permutation.begin(), permutation.end(), 0);
      std::sort(permutation.begin(), permutation.end(), [&](std::int64_t a, std::int64_t b) {
        if (key_less(key(a), key(b))) return !descending;
        if (key_less(key(b), key(a))) return descending;
        return a < b;
      });
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t from = permutation[static_cast<std::size_t>(i)], to = result_base + i * result_strides[axis];
        std::memcpy(values.element(to), x.element(base + from * strides[axis]), bytes);
        write_element(DType::kI64, static_cast<Int128>(from), indices.element(to));
      }
    });
  });
  return {values, indices};
}

}  // namespace millrace::reference
