// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "millrace/base/dtype.h"
#include "millrace/base/size_expr.h"

namespace millrace {

inline constexpr std::size_t kMaxRank = 8;

/// Logical extents, outermost first. Rank 0 is a scalar.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<SizeExpr> dims) : dims_(dims) {}
  explicit Shape(std::vector<SizeExpr> dims) : dims_(std::move(dims)) {}

  std::size_t rank() const { return dims_.size(); }
  const SizeExpr& operator[](std::size_t axis) const { return dims_[axis]; }
  SizeExpr& operator[](std::size_t axis) { return dims_[axis]; }
  const std::vector<SizeExpr>& dims() const { return dims_; }
  bool is_static() const;
  SizeExpr num_elements() const;
  /// "[4x8]" when all dims are numbers, "[]" for a scalar, "[rows, n + 1, 8]" when a dim is symbolic.
  std::string to_text() const;
  /// Also prints the facts of each symbol that is not yet in `printed_symbols`, and adds the symbol to it: "[rows
  /// in 1..64, 8]".
  std::string to_text(std::map<std::string, Dim>& printed_symbols) const;
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<SizeExpr> dims_;
};

/// The type of a tensor: element dtype and logical shape. Text: "f32[4x8]".
struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  std::string to_text() const;
  std::string to_text(std::map<std::string, Dim>& printed_symbols) const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Where a tensor's elements are in its buffer: element (i0, i1, ...) is at `offset + sum of i_d * strides[d]`. All
/// counts are in elements, not bytes.
struct Layout {
  SizeExpr offset;
  std::vector<SizeExpr> strides;

  /// Dense, offset 0, innermost stride 1.
  static Layout row_major(const Shape&);
  /// Whether every element is where `row_major` puts it. The stride of an axis of extent 1 does not matter.
  bool is_row_major(const Shape&) const;
  /// "offset 4 strides [8, 1]".
  std::string to_text() const;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Elements from the start of the buffer to just past the last element; 0 for an empty shape.
/// Precondition: one stride per axis.
SizeExpr extent_elements(const Shape&, const Layout&);
/// Bytes of a row-major tensor.
SizeExpr size_bytes(const TensorType&);

}  // namespace millrace
