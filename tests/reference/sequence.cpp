// SPDX-License-Identifier: Apache-2.0
// Evaluates scans and scatters of the oracle, one step after another.
#include <stdexcept>

#include "tests/reference/families.h"

namespace millrace::reference {
namespace {

/// IEEE addition in the dtype: two roundings of an f64's sum would not be one.
template <class W>
W sum_of(W a, W b) {
  if constexpr (std::is_same_v<W, long double>) return static_cast<double>(a) + static_cast<double>(b);
  return a + b;
}

/// IEEE multiplication in the dtype: two roundings of an f64's product would not be one.
template <class W>
W product_of(W a, W b) {
  if constexpr (std::is_same_v<W, long double>) return static_cast<double>(a) * static_cast<double>(b);
  return product(a, b);
}

/// The scan of nothing.
template <class W>
W scan_start(Op op, DType dtype) {
  if (op == Op::cumulative_prod) return 1;
  if (op == Op::cumulative_max) return lowest_value<W>(dtype);
  if (op == Op::cumulative_min) return highest_value<W>(dtype);
  return 0;
}

template <class W>
W scan_step(Op op, DType dtype, W state, W term) {
  if (op == Op::cumulative_prod) return wrap(dtype, product(state, term));
  if (op == Op::cumulative_max) return greater(state, term);
  if (op == Op::cumulative_min) return lesser(state, term);
  return wrap(dtype, static_cast<W>(state + term));
}

}  // namespace

Tensor scatter(Op op, const GatherAttrs& attrs, Operands operands) {
  const Tensor &indices = operands[1], &updates = operands[2];
  Tensor y = operands[0];
  const DType dtype = y.type.dtype;
  const Extents extents = y.extents(), index_extents = indices.extents();
  const auto axis = static_cast<std::ptrdiff_t>(from_front(attrs.axis, extents.size()));
  const auto index_rank = static_cast<std::ptrdiff_t>(index_extents.size());
  const Extents strides = row_major_strides(extents), index_strides = row_major_strides(index_extents);
  std::int64_t i = 0;
  for_each_index(updates.extents(), [&](const Extents& index) {
    const Extents at(index.begin() + axis, index.begin() + axis + index_rank);
    auto chosen = static_cast<std::int64_t>(
        read_element<Int128>(indices.type.dtype, indices.element(offset_of(at, index_strides))));
    if (chosen < 0) chosen += extents[static_cast<std::size_t>(axis)];
    if (chosen < 0 || chosen >= extents[static_cast<std::size_t>(axis)]) throw std::out_of_range("scatter index");
    Extents target(index.begin(), index.begin() + axis);
    target.push_back(chosen);
    target.insert(target.end(), index.begin() + axis + index_rank, index.end());
    std::byte* element = y.element(offset_of(target, strides));
    const std::byte* update = updates.element(i++);
    if (op == Op::scatter) {
      std::memcpy(element, update, size_bytes(dtype));
      return;
    }
    visit_wide(dtype, [&]<class W>() {
      const W old = read_element<W>(dtype, element), term = read_element<W>(dtype, update);
      const W combined = op == Op::scatter_add   ? sum_of(old, term)
                         : op == Op::scatter_mul ? product_of(old, term)
                         : op == Op::scatter_min ? lesser(old, term)
                                                 : greater(old, term);
      write_element(dtype, combined, element);
    });
  });
  return y;
}

Tensor scan(Op op, const ScanAttrs& attrs, const Tensor& x) {
  const Extents extents = x.extents();
  const DType dtype = x.type.dtype;
  const std::size_t axis = from_front(attrs.axis, extents.size());
  const Extents strides = row_major_strides(extents);
  Extents lines = extents;
  lines[axis] = 1;
  Tensor y(x.type);
  if (y.num_elements() == 0) return y;
  for_each_index(lines, [&](const Extents& line) {
    visit_wide(dtype, [&]<class W>() {
      W state = scan_start<W>(op, dtype);
      for (std::int64_t i = 0; i < extents[axis]; ++i) {
        const std::int64_t position = attrs.reverse ? extents[axis] - 1 - i : i;
        const std::int64_t at = offset_of(line, strides) + position * strides[axis];
        if (attrs.exclusive) write_element(dtype, state, y.element(at));
        state = scan_step(op, dtype, state, read_element<W>(dtype, x.element(at)));
        if (!attrs.exclusive) write_element(dtype, state, y.element(at));
      }
    });
  });
  return y;
}

}  // namespace millrace::reference
