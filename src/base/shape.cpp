// SPDX-License-Identifier: Apache-2.0
// Sizes, strides and texts of shapes, tensor types and layouts.
#include "millrace/base/shape.h"

#include <algorithm>

namespace millrace {

bool Shape::is_static() const {
  return std::all_of(dims_.begin(), dims_.end(), [](const SizeExpr& dim) { return dim.is_constant(); });
}

SizeExpr Shape::num_elements() const {
  SizeExpr product = 1;
  for (const SizeExpr& dim : dims_) product = product * dim;
  return product;
}

namespace {

template <class DimText>
std::string shape_text(const Shape& shape, const DimText& dim_text) {
  const char* separator = shape.is_static() ? "x" : ", ";
  std::string text = "[";
  for (const SizeExpr& dim : shape.dims()) text += (text.size() > 1 ? separator : "") + dim_text(dim);
  return text + "]";
}

}  // namespace

std::string Shape::to_text() const {
  return shape_text(*this, [](const SizeExpr& dim) { return dim.to_text(); });
}

std::string Shape::to_text(std::map<std::string, Dim>& printed_symbols) const {
  return shape_text(*this, [&](const SizeExpr& dim) { return dim.to_text(printed_symbols); });
}

std::string TensorType::to_text() const { return std::string(millrace::to_text(dtype)) + shape.to_text(); }

std::string TensorType::to_text(std::map<std::string, Dim>& printed_symbols) const {
  return std::string(millrace::to_text(dtype)) + shape.to_text(printed_symbols);
}

Layout Layout::row_major(const Shape& shape) {
  Layout layout;
  layout.strides.resize(shape.rank());
  SizeExpr stride = 1;
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    layout.strides[axis] = stride;
    stride = stride * shape[axis];
  }
  return layout;
}

bool Layout::is_row_major(const Shape& shape) const {
  if (strides.size() != shape.rank()) return false;
  if (shape.num_elements().is(0)) return true;
  if (!offset.is(0)) return false;
  const Layout dense = row_major(shape);
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (!shape[axis].is(1) && strides[axis] != dense.strides[axis]) return false;
  }
  return true;
}

std::string Layout::to_text() const {
  std::string text = "offset " + offset.to_text() + " strides [";
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += strides[axis].to_text();
  }
  return text + "]";
}

SizeExpr extent_elements(const Shape& shape, const Layout& layout) {
  MILLRACE_CHECK(layout.strides.size() == shape.rank());
  SizeExpr last = layout.offset;
  SizeExpr is_not_empty = 1;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    // A negative stride reaches its highest address at index 0. An extent of 0 makes `last` wrong, but then
    // is_not_empty is 0.
    last = last + (shape[axis] - 1) * max(0, layout.strides[axis]);
    is_not_empty = is_not_empty * min(1, shape[axis]);
  }
  return (last + 1) * is_not_empty;
}

SizeExpr size_bytes(const TensorType& type) {
  return type.shape.num_elements() * static_cast<std::int64_t>(size_bytes(type.dtype));
}

}  // namespace millrace
