// SPDX-License-Identifier: Apache-2.0
// Evaluates views and moves of the oracle: elements are copied as bytes.
#include <functional>
#include <stdexcept>

#include "tests/reference/families.h"

namespace millrace::reference {
namespace {

Extents constants(const std::vector<SizeExpr>& sizes) {
  Extents extents;
  for (const SizeExpr& size : sizes) extents.push_back(size.constant());
  return extents;
}

/// y[index] = x[source(index)] for every index of y.
Tensor copy_from(const Tensor& x, const Extents& result, const std::function<Extents(const Extents&)>& source) {
  Tensor y(x.type.dtype, result);
  const Extents strides = row_major_strides(x.extents());
  std::int64_t i = 0;
  for_each_index(result, [&](const Extents& index) {
    std::memcpy(y.element(i++), x.element(offset_of(source(index), strides)), size_bytes(x.type.dtype));
  });
  return y;
}

/// The index at `offset`, counted from the front of an axis of `extent`.
std::int64_t chosen_index(const Tensor& indices, std::int64_t offset, std::int64_t extent) {
  auto chosen = static_cast<std::int64_t>(read_element<Int128>(indices.type.dtype, indices.element(offset)));
  if (chosen < 0) chosen += extent;
  if (chosen < 0 || chosen >= extent) throw std::out_of_range("gather index");
  return chosen;
}

}  // namespace

Tensor reshape(const ShapeAttrs& attrs, const Tensor& x) {
  Tensor y = x;
  y.type.shape = Shape(attrs.shape);
  return y;
}

Tensor transpose(const PermutationAttrs& attrs, const Tensor& x) {
  const Extents extents = x.extents();
  Extents result;
  for (const std::int64_t d : attrs.permutation) result.push_back(extents[from_front(d, extents.size())]);
  return copy_from(x, result, [&](const Extents& index) {
    Extents source(extents.size());
    for (std::size_t d = 0; d < index.size(); ++d) source[from_front(attrs.permutation[d], index.size())] = index[d];
    return source;
  });
}

Tensor broadcast(const BroadcastAttrs& attrs, const Tensor& x) {
  const Extents extents = x.extents();
  return copy_from(x, constants(attrs.shape), [&](const Extents& index) {
    Extents source;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      source.push_back(extents[d] == 1 ? 0 : index[static_cast<std::size_t>(attrs.dims[d])]);
    }
    return source;
  });
}

Tensor slice(const SliceAttrs& attrs, const Tensor& x) {
  const Extents start = constants(attrs.start), stop = constants(attrs.stop);
  Extents result;
  for (std::size_t d = 0; d < start.size(); ++d) {
    std::int64_t elements = 0;
    for (std::int64_t i = start[d]; i < stop[d]; i += attrs.step[d]) ++elements;
    result.push_back(elements);
  }
  return copy_from(x, result, [&](const Extents& index) {
    Extents source = index;
    for (std::size_t d = 0; d < index.size(); ++d) source[d] = start[d] + index[d] * attrs.step[d];
    return source;
  });
}

Tensor pad(const PadAttrs& attrs, const Tensor& x) {
  const Extents low = constants(attrs.low), high = constants(attrs.high), extents = x.extents();
  Extents result = extents;
  for (std::size_t d = 0; d < result.size(); ++d) result[d] += low[d] + high[d];
  Tensor y(x.type.dtype, result);
  const DType dtype = x.type.dtype;
  Tensor value(dtype, {});
  if (attrs.value.is_integer()) {
    const bool is_i64 = attrs.value.fits(DType::kI64);
    const Tensor exact = make_tensor<Int128>(is_i64 ? DType::kI64 : DType::kU64, {},
                                             {is_i64 ? Int128{attrs.value.as_i64()} : Int128{attrs.value.as_u64()}});
    value = cast(dtype, exact);
  } else {
    value = cast(dtype, make_tensor<double>(DType::kF64, {}, {attrs.value.as_double()}));
  }
  for (std::int64_t i = 0; i < y.num_elements(); ++i) std::memcpy(y.element(i), value.element(0), size_bytes(dtype));
  const Extents strides = row_major_strides(result);
  std::int64_t i = 0;
  for_each_index(extents, [&](const Extents& index) {
    Extents target = index;
    for (std::size_t d = 0; d < target.size(); ++d) target[d] += low[d];
    std::memcpy(y.element(offset_of(target, strides)), x.element(i++), size_bytes(dtype));
  });
  return y;
}

Tensor concat(const AxisAttrs& attrs, Operands operands) {
  Extents result = operands[0].extents();
  const std::size_t axis = from_front(attrs.axis, result.size());
  result[axis] = 0;
  for (const Tensor& operand : operands) result[axis] += operand.extents()[axis];
  Tensor y(operands[0].type.dtype, result);
  const Extents strides = row_major_strides(result);
  std::int64_t start = 0;
  for (const Tensor& operand : operands) {
    std::int64_t i = 0;
    for_each_index(operand.extents(), [&](const Extents& index) {
      Extents target = index;
      target[axis] += start;
      std::memcpy(y.element(offset_of(target, strides)), operand.element(i++), size_bytes(y.type.dtype));
    });
    start += operand.extents()[axis];
  }
  return y;
}

Tensor gather(const GatherAttrs& attrs, Operands operands) {
  const Extents extents = operands[0].extents(), index_extents = operands[1].extents();
  const auto axis = static_cast<std::ptrdiff_t>(from_front(attrs.axis, extents.size()));
  const auto index_rank = static_cast<std::ptrdiff_t>(index_extents.size());
  Extents result(extents.begin(), extents.begin() + axis);
  result.insert(result.end(), index_extents.begin(), index_extents.end());
  result.insert(result.end(), extents.begin() + axis + 1, extents.end());
  const Extents index_strides = row_major_strides(index_extents);
  return copy_from(operands[0], result, [&](const Extents& index) {
    const Extents at(index.begin() + axis, index.begin() + axis + index_rank);
    Extents source(index.begin(), index.begin() + axis);
    const std::int64_t extent = extents[static_cast<std::size_t>(axis)];
    source.push_back(chosen_index(operands[1], offset_of(at, index_strides), extent));
    source.insert(source.end(), index.begin() + axis + index_rank, index.end());
    return source;
  });
}

Tensor take_along_axis(const GatherAttrs& attrs, Operands operands) {
  const Extents extents = operands[0].extents();
  const std::size_t axis = from_front(attrs.axis, extents.size());
  std::int64_t i = 0;
  return copy_from(operands[0], operands[1].extents(), [&](const Extents& index) {
    Extents source = index;
    source[axis] = chosen_index(operands[1], i++, extents[axis]);
    return source;
  });
}

Tensor iota(const IotaAttrs& attrs) {
  const Extents extents = constants(attrs.shape);
  const std::size_t axis = from_front(attrs.axis, extents.size());
  Tensor y(attrs.dtype, extents);
  std::int64_t i = 0;
  for_each_index(extents, [&](const Extents& index) {
    write_element(attrs.dtype, static_cast<Int128>(index[axis]), y.element(i++));
  });
  return y;
}

Tensor size(const SizeAttrs& attrs) {
  Tensor y(DType::kI64, {});
  write_element(DType::kI64, static_cast<Int128>(attrs.size.constant()), y.element(0));
  return y;
}

}  // namespace millrace::reference
