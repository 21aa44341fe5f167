// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/reference/families.h"

namespace millrace::reference {
namespace {

struct ReducedDims {
  Extents result;          // extents, with reduced dims as kept or not
  Extents result_strides;  // per operand dim; 0 where reduced
};

ReducedDims reduced_dims(const Extents& extents, const std::vector<std::int64_t>& axes, bool keep_dims) {
  ReducedDims dims;
  Extents with_ones = extents;
  const auto is_reduced = [&](std::size_t d) {
    return std::ranges::any_of(axes, [&](std::int64_t axis) { return from_front(axis, extents.size()) == d; });
  };
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (is_reduced(d)) with_ones[d] = 1;
    if (!is_reduced(d) || keep_dims) dims.result.push_back(with_ones[d]);
  }
  dims.result_strides = row_major_strides(with_ones);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (is_reduced(d)) dims.result_strides[d] = 0;
  }
  return dims;
}

template <class W>
W initial(Op op, DType dtype) {
  if (op == Op::reduce_prod || op == Op::reduce_all) return 1;
  if (op == Op::reduce_max) return lowest_value<W>(dtype);
  if (op == Op::reduce_min) return highest_value<W>(dtype);
  return 0;
}

template <class W>
W combine(Op op, DType dtype, W a, W b) {
  if (op == Op::reduce_prod) return wrap(dtype, product(a, b));
  if (op == Op::reduce_any) return a != 0 || b != 0;
  if (op == Op::reduce_all) return a != 0 && b != 0;
  if (op == Op::reduce_max) return greater(a, b);
  if (op == Op::reduce_min) return lesser(a, b);
  return wrap(dtype, static_cast<W>(a + b));
}

}  // namespace

Tensor reduce(Op op, const ReduceAttrs& attrs, const Tensor& x) {
  const Extents extents = x.extents();
  const DType dtype = x.type.dtype;
  const ReducedDims dims = reduced_dims(extents, attrs.axes, attrs.keep_dims);
  return visit_wide(dtype, [&]<class W>() {
    std::vector<W> results(static_cast<std::size_t>(count(dims.result)), initial<W>(op, dtype));
    std::int64_t i = 0;
    for_each_index(extents, [&](const Extents& index) {
      W& result = results[static_cast<std::size_t>(offset_of(index, dims.result_strides))];
      result = combine(op, dtype, result, read_element<W>(dtype, x.element(i++)));
    });
    if constexpr (!kIsInteger<W>) {
      W points = 1;
      for (const std::int64_t axis : attrs.axes) points *= static_cast<W>(extents[from_front(axis, extents.size())]);
      for (W& result : results) {
        if (op == Op::reduce_mean) result /= points;
      }
    }
    return make_tensor(dtype, dims.result, results);
  });
}

Tensor arg(Op op, const ArgAttrs& attrs, const Tensor& x) {
  const Extents extents = x.extents();
  const DType dtype = x.type.dtype;
  const std::size_t axis = from_front(attrs.axis, extents.size());
  const ReducedDims dims = reduced_dims(extents, {attrs.axis}, attrs.keep_dims);
  return visit_wide(dtype, [&]<class W>() {
    std::vector<W> best(static_cast<std::size_t>(count(dims.result)));
    Tensor at(DType::kI64, dims.result);
    std::int64_t i = 0;
    for_each_index(extents, [&](const Extents& index) {
      const std::int64_t result = offset_of(index, dims.result_strides);
      W& extreme = best[static_cast<std::size_t>(result)];
      const W value = read_element<W>(dtype, x.element(i++));
      const bool is_first = index[axis] == 0;
      const bool is_better = op == Op::argmax ? value > extreme : value < extreme;
      if (!is_first && (is_nan(extreme) || !(is_nan(value) || is_better))) return;
      extreme = value;
      write_element(DType::kI64, static_cast<Int128>(index[axis]), at.element(result));
    });
    return at;
  });
}

}  // namespace millrace::reference
