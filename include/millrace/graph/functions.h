// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "millrace/base/number.h"
#include "millrace/graph/builder.h"

namespace millrace {

// The ops as functions on tensors. op_table.inc and `millrace ops` describe each op. Axes may be negative. The builder
// records errors, including out of memory.

/// A C++ number next to a tensor: it stands for a tensor of the other operand's dtype and shape. An integer dtype must
/// be able to hold it. x / 2.0 is refused for integers, because it would be an integer division.
class Literal {
 public:
  template <std::integral T>
  Literal(T value) : value_(value) {}
  template <std::floating_point T>
  Literal(T value) : value_(static_cast<double>(value)), is_floating_(true) {}
  /// A number from another source, such as a graph text. If `is_floating`, it is treated as a C++ floating-point
  /// number.
  Literal(const Number& value, bool is_floating) : value_(value), is_floating_(is_floating) {}

  const Number& value() const { return value_; }
  bool is_floating() const { return is_floating_; }

 private:
  Number value_;
  bool is_floating_ = false;
};

// Elementwise ops: exp(x), max(x, y), ... Two tensors must have equal dtypes. Their shapes are broadcast as in NumPy:
// aligned at the last dim, each pair of dims is equal, or one of them is 1 or missing.
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example)
#define MILLRACE_UNARY(name, rule, meaning) Tensor name(Tensor x);
#define MILLRACE_BINARY(name, traits, rule, meaning) \
  Tensor name(Tensor x, Tensor y);                   \
  Tensor name(Tensor x, Literal y);                  \
  Tensor name(Literal x, Tensor y);
#include "millrace/ops/op_table.inc"

inline Tensor operator-(Tensor x) { return neg(x); }
inline Tensor operator+(Tensor x, Tensor y) { return add(x, y); }
inline Tensor operator+(Tensor x, Literal y) { return add(x, y); }
inline Tensor operator+(Literal x, Tensor y) { return add(x, y); }
inline Tensor operator-(Tensor x, Tensor y) { return sub(x, y); }
inline Tensor operator-(Tensor x, Literal y) { return sub(x, y); }
inline Tensor operator-(Literal x, Tensor y) { return sub(x, y); }
inline Tensor operator*(Tensor x, Tensor y) { return mul(x, y); }
inline Tensor operator*(Tensor x, Literal y) { return mul(x, y); }
inline Tensor operator*(Literal x, Tensor y) { return mul(x, y); }
inline Tensor operator/(Tensor x, Tensor y) { return div(x, y); }
inline Tensor operator/(Tensor x, Literal y) { return div(x, y); }
inline Tensor operator/(Literal x, Tensor y) { return div(x, y); }
inline Tensor& operator+=(Tensor& x, Tensor y) { return x = add(x, y); }
inline Tensor& operator+=(Tensor& x, Literal y) { return x = add(x, y); }
inline Tensor& operator-=(Tensor& x, Tensor y) { return x = sub(x, y); }
inline Tensor& operator-=(Tensor& x, Literal y) { return x = sub(x, y); }
inline Tensor& operator*=(Tensor& x, Tensor y) { return x = mul(x, y); }
inline Tensor& operator*=(Tensor& x, Literal y) { return x = mul(x, y); }
inline Tensor& operator/=(Tensor& x, Tensor y) { return x = div(x, y); }
inline Tensor& operator/=(Tensor& x, Literal y) { return x = div(x, y); }

inline Tensor operator<(Tensor x, Tensor y) { return less(x, y); }
inline Tensor operator<(Tensor x, Literal y) { return less(x, y); }
inline Tensor operator<(Literal x, Tensor y) { return less(x, y); }
inline Tensor operator<=(Tensor x, Tensor y) { return less_equal(x, y); }
inline Tensor operator<=(Tensor x, Literal y) { return less_equal(x, y); }
inline Tensor operator<=(Literal x, Tensor y) { return less_equal(x, y); }
inline Tensor operator>(Tensor x, Tensor y) { return greater(x, y); }
inline Tensor operator>(Tensor x, Literal y) { return greater(x, y); }
inline Tensor operator>(Literal x, Tensor y) { return greater(x, y); }
inline Tensor operator>=(Tensor x, Tensor y) { return greater_equal(x, y); }
inline Tensor operator>=(Tensor x, Literal y) { return greater_equal(x, y); }
inline Tensor operator>=(Literal x, Tensor y) { return greater_equal(x, y); }

namespace detail {
/// The operands of == or !=, at least one of them a tensor.
template <class X, class Y>
concept ComparesTensors = (std::same_as<X, Tensor> && (std::same_as<Y, Tensor> || std::convertible_to<Y, Literal>)) ||
                          (std::same_as<Y, Tensor> && std::convertible_to<X, Literal>);
}  // namespace detail

/// == and != on tensors do not compile. If they built a node instead of returning a bool, searching and comparing
/// containers of tensors would silently go wrong.
template <class X, class Y>
  requires detail::ComparesTensors<X, Y>
bool operator==(const X&, const Y&) {
  static_assert(!detail::ComparesTensors<X, Y>,
                "== does not compare tensors: equal(x, y) builds a node, x.value() == y.value() compares handles");
  return false;
}
template <class X, class Y>
  requires detail::ComparesTensors<X, Y>
bool operator!=(const X&, const Y&) {
  static_assert(!detail::ComparesTensors<X, Y>,
                "!= does not compare tensors: not_equal(x, y) builds a node, x.value() != y.value() compares handles");
  return false;
}

/// if_true where condition (bool) holds, otherwise if_false. All three operands have the same shape, and both choices
/// the same dtype. One choice may be a number.
Tensor select(Tensor condition, Tensor if_true, Tensor if_false);
Tensor select(Tensor condition, Tensor if_true, Literal if_false);
Tensor select(Tensor condition, Literal if_true, Tensor if_false);
/// Converts to any dtype. Float to integer rounds towards zero and saturates, NaN gives 0; integers wrap; a bool is
/// x != 0.
Tensor cast(Tensor x, DType dtype);
/// Reads the bits of x as another dtype of the same size, without conversion; neither dtype may be bool. The bits of a
/// NaN are known only where it was read or made from bits: an op that computes a NaN may give it any sign and payload.
/// f16 and bf16 may become quiet NaNs where they were signalling ones.
Tensor bit_cast(Tensor x, DType dtype);

/// Reductions over `axes` (at least one, each named once). The result keeps the dtype; reduced dims are dropped, or
/// have extent 1 if keep_dims. reduce_sum, _prod, _max and _min take integers and floats, reduce_mean floats,
/// reduce_any and _all bool. Sums of integers wrap. Sums and means of floats accumulate in f32 (f64: in f64), in levels
/// of at most 128 terms each. For n terms, |error| <= (128 * levels + 16) * eps * sum |x|, plus the result's own
/// rounding. The number of levels is 1 for n <= 128, 2 for n <= 128^2, 3 for n <= 128^3, and so on; eps is 2^-24 (f64:
/// 2^-53). A mean rounds once more. If x is a product, as in reduce_sum(a * b), replace 128 with 512.
Tensor reduce_sum(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_prod(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_max(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_min(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_mean(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_any(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_all(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
/// The i64 index of the first maximum or minimum of integers or floats along `axis`, whose extent must be at least 1.
Tensor argmax(Tensor x, std::int64_t axis, bool keep_dims = false);
Tensor argmin(Tensor x, std::int64_t axis, bool keep_dims = false);

/// Matrix product of the last two dims, as in NumPy: x[..., m, k] * y[..., k, n] -> [..., m, n]. The leading (batch)
/// dims are broadcast. A vector counts as a row on the left or as a column on the right; the result drops that row's or
/// column's dim of extent 1.
Tensor matmul(Tensor x, Tensor y);
/// Sums of products over the contracted dims, for integers or floats of one dtype. Result dims: batch dims, free dims
/// of x, free dims of y. Integers wrap. The error of floats is bounded as for reduce_sum, with 512 instead of 128 and
/// sum |x * y| instead of sum |x|.
Tensor dot(Tensor x, Tensor y, DotAttrs attributes);
/// dot with an i32 result; each operand is i8 or u8. Sums wrap, but only beyond 33025 products of u8 with u8, 65793 of
/// u8 with i8, or 131071 of i8 with i8.
Tensor dot_i32(Tensor x, Tensor y, DotAttrs attributes);
/// x[n,c,h,w], weights[o,c/groups,kh,kw] -> [n,o,h',w']: cross-correlation with zero padding, for integers or floats of
/// one dtype. `groups` must divide c and o. composites.h has conv2d with a bias. The error of floats is bounded as for
/// dot, over the c/groups * kh * kw products of an element.
Tensor conv2d(Tensor x, Tensor weights, Conv2dAttrs attributes = {});
/// conv2d with an i32 result; each operand is i8 or u8. Sums wrap, but only beyond the numbers of products that dot_i32
/// names.
Tensor conv2d_i32(Tensor x, Tensor weights, Conv2dAttrs attributes = {});
/// x[n,c,h,w] -> [n,c,h',w']; padding must be less than the window. max_pool2d takes integers and floats, and its
/// padding counts as the lowest value. avg_pool2d takes floats; its error is bounded as for reduce_mean.
Tensor max_pool2d(Tensor x, Pool2dAttrs attributes = {});
Tensor avg_pool2d(Tensor x, Pool2dAttrs attributes = {});

/// At most one dim may be -1: it is computed from the number of elements, which the other dims must divide. If that
/// depends on symbols, it is checked at run time.
Tensor reshape(Tensor x, Shape shape);
/// Result dim d is operand dim permutation[d].
Tensor transpose(Tensor x, std::vector<std::int64_t> permutation);
/// Operand dims become the trailing result dims, as in NumPy.
Tensor broadcast_to(Tensor x, Shape shape);
/// Operand dim d becomes result dim dims[d].
Tensor broadcast(Tensor x, Shape shape, std::vector<std::int64_t> dims);
/// Takes the elements start, start + step, ... below stop of each dim, where 0 <= start <= stop <= extent and step >=
/// 1. If `step` is empty, every step is 1. A negative start or stop counts from the end. A negative step takes the
/// elements from start down to, but excluding, stop, where -1 <= stop <= start < extent. A stop of -1 is then written
/// as -1 - extent, because -1 itself means the last element, as in NumPy.
Tensor slice(Tensor x, std::vector<SizeExpr> start, std::vector<SizeExpr> stop, std::vector<std::int64_t> step = {});
/// Adds elements equal to `value` around x: low[d] before it and high[d] after it along dim d. Both counts are 0 or
/// more.
Tensor pad(Tensor x, std::vector<SizeExpr> low, std::vector<SizeExpr> high, Number value = 0);
/// Joins one or more tensors, whose types are equal except along `axis`.
Tensor concat(std::span<const Tensor> tensors, std::int64_t axis);
inline Tensor concat(std::initializer_list<Tensor> tensors, std::int64_t axis) {
  return concat(std::span(tensors.begin(), tensors.size()), axis);
}
/// Replaces `axis` of x by the dims of indices (i32 or i64). A negative index wraps once; an index out of range is an
/// error at run time.
Tensor gather(Tensor x, Tensor indices, std::int64_t axis);
/// Picks elements of x by their indices along the axis, as in NumPy. The indices are i32 or i64. They have the shape of
/// x, except that their extent along the axis may differ; the result has the shape of the indices. A negative index
/// wraps once; an index out of range is an error at run time, as for gather.
Tensor take_along_axis(Tensor x, Tensor indices, std::int64_t axis);
/// Replaces the elements of x that the indices select (as in gather) by the updates, or combines them with the updates,
/// in the order of the indices. The updates have the type of gather(x, indices, axis). scatter takes any dtype;
/// scatter_add, _mul, _min and _max take integers and floats.
Tensor scatter(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
Tensor scatter_add(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
Tensor scatter_mul(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
Tensor scatter_min(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
Tensor scatter_max(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
/// Scans of integers or floats along one axis. An exclusive scan begins with the value of an empty scan: 0 for a sum, 1
/// for a product, the lowest value for a maximum and the highest for a minimum (-inf and +inf for floats). Each element
/// of a cumulative_sum of floats has the error bound of a reduce_sum of the whole row.
Tensor cumulative_sum(Tensor x, ScanAttrs attributes = {});
Tensor cumulative_prod(Tensor x, ScanAttrs attributes = {});
Tensor cumulative_max(Tensor x, ScanAttrs attributes = {});
Tensor cumulative_min(Tensor x, ScanAttrs attributes = {});
/// The index along `axis` of each element, in an integer or float dtype.
Tensor iota(GraphBuilder& graph, DType dtype, Shape shape, std::int64_t axis);
/// The size as an i64 scalar: a constant, or bound at run time.
Tensor size_of(GraphBuilder& graph, const SizeExpr& size);

struct ValuesAndIndices {
  Tensor values;
  Tensor indices;  // i64, or the dtype of the indices that topk is given
};
/// Sorts any dtype along `axis`, stably: NaN is greatest, and -0 equals +0. `indices` are positions along the axis.
ValuesAndIndices sort(Tensor x, std::int64_t axis = -1, bool descending = false);
/// The k largest or smallest elements of any dtype along attributes.axis, 0 <= k <= extent, in the order of sort. `k`
/// replaces attributes.k. Among equal elements, those with the lower index come first.
ValuesAndIndices topk(Tensor x, SizeExpr k, TopKAttrs attributes = {});

}  // namespace millrace
