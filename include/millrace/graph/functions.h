// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/graph/builder.h"

namespace millrace {

// The ops as functions on tensors. op_table.inc and `millrace ops` say what each means. Axes may be negative. Errors,
// including out of memory, go to the builder.

// Elementwise ops: exp(x), max(x, y), ... Two tensors must have equal shapes and dtypes. A C++ number stands for a
// tensor of the other operand's type; an integer dtype must be able to hold it.
#define MILLRACE_OP(name, operands, results, traits, attributes, meaning)
#define MILLRACE_UNARY(name, rule, meaning) Tensor name(Tensor x);
#define MILLRACE_BINARY(name, traits, rule, meaning) \
  Tensor name(Tensor x, Tensor y);                   \
  Tensor name(Tensor x, double y);                   \
  Tensor name(double x, Tensor y);
#include "millrace/ops/op_table.inc"

inline Tensor operator-(Tensor x) { return neg(x); }
inline Tensor operator+(Tensor x, Tensor y) { return add(x, y); }
inline Tensor operator+(Tensor x, double y) { return add(x, y); }
inline Tensor operator+(double x, Tensor y) { return add(x, y); }
inline Tensor operator-(Tensor x, Tensor y) { return sub(x, y); }
inline Tensor operator-(Tensor x, double y) { return sub(x, y); }
inline Tensor operator-(double x, Tensor y) { return sub(x, y); }
inline Tensor operator*(Tensor x, Tensor y) { return mul(x, y); }
inline Tensor operator*(Tensor x, double y) { return mul(x, y); }
inline Tensor operator*(double x, Tensor y) { return mul(x, y); }
inline Tensor operator/(Tensor x, Tensor y) { return div(x, y); }
inline Tensor operator/(Tensor x, double y) { return div(x, y); }
inline Tensor operator/(double x, Tensor y) { return div(x, y); }

/// if_true where condition (bool) holds, otherwise if_false, for equal shapes; the latter two have one dtype.
Tensor select(Tensor condition, Tensor if_true, Tensor if_false);
/// Converts to any dtype. Float to integer rounds towards zero and saturates, NaN gives 0; integers wrap; a bool is
/// x != 0.
Tensor cast(Tensor x, DType dtype);

/// Reductions over `axes` (at least one, each named once). The result keeps the dtype; reduced dims are dropped, or
/// have extent 1 if keep_dims. sum, prod, max and min take integers and floats, mean floats, any and all bool.
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

/// Matrix product of the last two dims, with equal leading (batch) dims: x[..., m, k] * y[..., k, n] -> [..., m, n].
Tensor matmul(Tensor x, Tensor y);
/// Sums of products over the contracted dims, for integers or floats of one dtype. Result dims: batch dims, free dims
/// of x, free dims of y.
Tensor dot(Tensor x, Tensor y, DotAttrs attributes);
/// dot of i8 or u8 operands, also mixed, with an i32 result.
Tensor dot_i32(Tensor x, Tensor y, DotAttrs attributes);
/// x[n,c,h,w], weights[o,c/groups,kh,kw] -> [n,o,h',w']: cross-correlation with zero padding, for integers or floats of
/// one dtype. `groups` must divide c and o.
Tensor conv2d(Tensor x, Tensor weights, Conv2dAttrs attributes = {});
/// x[n,c,h,w] -> [n,c,h',w']; padding must be less than the window. max_pool2d takes integers and floats, and its
/// padding counts as the lowest value. avg_pool2d takes floats.
Tensor max_pool2d(Tensor x, Pool2dAttrs attributes = {});
Tensor avg_pool2d(Tensor x, Pool2dAttrs attributes = {});

/// At most one dim may be -1: it is computed from the number of elements. A run checks that the division is exact.
Tensor reshape(Tensor x, Shape shape);
/// Result dim d is operand dim permutation[d].
Tensor transpose(Tensor x, std::vector<std::int64_t> permutation);
/// Operand dims become the trailing result dims, as in NumPy.
Tensor broadcast_to(Tensor x, Shape shape);
/// Operand dim d becomes result dim dims[d].
Tensor broadcast(Tensor x, Shape shape, std::vector<std::int64_t> dims);
/// Elements start, start + step, ... below stop of each dim: 0 <= start <= stop <= extent, step >= 1 (1 if empty).
Tensor slice(Tensor x, std::vector<SizeExpr> start, std::vector<SizeExpr> stop, std::vector<std::int64_t> step = {});
/// Adds low[d] elements before and high[d] elements after each dim d, equal to `value`; both counts are 0 or more.
Tensor pad(Tensor x, std::vector<SizeExpr> low, std::vector<SizeExpr> high, Number value = 0);
/// Joins one or more tensors, which are equal in type except along `axis`.
Tensor concat(std::span<const Tensor> tensors, std::int64_t axis);
/// Replaces `axis` of x by the dims of indices (i32 or i64). A negative index wraps once; an index out of range is an
/// error of the run.
Tensor gather(Tensor x, Tensor indices, std::int64_t axis);
/// Picks the elements of x that the indices name along the axis, as in NumPy. The indices are i32 or i64 with the shape
/// of x, except that the extent along the axis is free; the result has their shape. A negative index wraps once; an
/// index out of range is an error of the run, as for gather.
Tensor take_along_axis(Tensor x, Tensor indices, std::int64_t axis);
/// x with the elements that indices name (as for gather) replaced by, or combined with, the updates, in the order of
/// the indices. Updates have the type of gather(x, indices, axis). scatter takes any dtype, the others integers and
/// floats.
Tensor scatter(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
Tensor scatter_add(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
Tensor scatter_min(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
Tensor scatter_max(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
/// Scans of integers or floats along one axis. An exclusive scan begins with the value of an empty scan: sum 0, product
/// 1, maximum the lowest value and minimum the highest value, which are -inf and +inf for floats.
Tensor cumulative_sum(Tensor x, ScanAttrs attributes = {});
Tensor cumulative_prod(Tensor x, ScanAttrs attributes = {});
Tensor cumulative_max(Tensor x, ScanAttrs attributes = {});
Tensor cumulative_min(Tensor x, ScanAttrs attributes = {});
/// The index along `axis` of each element, in an integer or float dtype.
Tensor iota(GraphBuilder& graph, DType dtype, Shape shape, std::int64_t axis);
/// An i64 scalar: a constant, or bound by the run.
Tensor size_of(GraphBuilder& graph, const SizeExpr& size);

struct ValuesAndIndices {
  Tensor values;
  Tensor indices;  // i64; for topk with indices, their dtype
};
/// Sorts any dtype along `axis`, stably: NaN is greatest, and -0 equals +0. `indices` are positions along the axis.
ValuesAndIndices sort(Tensor x, std::int64_t axis = -1, bool descending = false);
/// The k largest or smallest elements of any dtype along attributes.axis, 0 <= k <= extent, in the order of sort. `k`
/// replaces attributes.k. Of equal elements, those with the lower index come first.
ValuesAndIndices topk(Tensor x, SizeExpr k, TopKAttrs attributes = {});

// Composites build smaller ops; they are not ops themselves. Softmax, norms and attention compute 16-bit floats in f32
// and round once.

/// e^(x - max) / sum of e^(x - max) over `axis`. A row of only -inf gives NaN, as by the definition.
Tensor softmax(Tensor x, std::int64_t axis = -1);
/// x * (1 + erf(x / sqrt 2)) / 2. Source: Hendrycks & Gimpel, arXiv:1606.08415.
Tensor gelu(Tensor x);
/// max(x, 0).
Tensor relu(Tensor x);
/// x / (1 + e^-x). Source: Elfwing et al., arXiv:1702.03118.
Tensor silu(Tensor x);
/// x limited to [low, high]; NaN stays NaN. For integers, the bounds must be integers, and a bound outside the dtype's
/// range has no effect.
Tensor clamp(Tensor x, double low, double high);
/// select, with all three operands broadcast to one shape, as in NumPy.
Tensor where(Tensor condition, Tensor if_true, Tensor if_false);
/// x - max - log(sum of e^(x - max)) over `axis`.
Tensor log_softmax(Tensor x, std::int64_t axis = -1);
/// x / sqrt(mean of x^2 + epsilon) * scale over the last dim. Source: Zhang & Sennrich, arXiv:1910.07467.
Tensor rms_norm(Tensor x, Tensor scale, double epsilon = 1e-5);
/// x[n, c, ...] normalized over each of `groups` groups of channels and all trailing dims, times scale[c], plus
/// bias[c].
/// Source: Wu & He, arXiv:1803.08494.
Tensor group_norm(Tensor x, std::int64_t groups, Tensor scale, Tensor bias, double epsilon = 1e-5);
/// [..., depth]: 1 at the index, otherwise 0. An index outside [0, depth) gives a row of zeros.
Tensor one_hot(Tensor indices, SizeExpr depth, DType dtype = DType::kF32);
/// Keeps the elements on and above (`upper`), or on and below, diagonal `diagonal` of the last two dims; others become
/// 0.
Tensor trilu(Tensor x, bool upper, std::int64_t diagonal = 0);
/// indices[..., m] select elements or slices by the first m axes of x. Each index wraps and is checked as in gather.
Tensor gather_nd(Tensor x, Tensor indices);
/// topk of elements that carry indices: integers with the shape of x. The result's indices come from `indices`, in its
/// dtype, instead of positions along the axis, so this selects from the results of shards or of an earlier topk. Of
/// equal elements, the one first in x comes first, regardless of its index.
ValuesAndIndices topk(Tensor x, Tensor indices, SizeExpr k, TopKAttrs attributes = {});

struct Conv1dAttributes {
  std::int64_t stride = 1;
  std::int64_t padding_low = 0;
  std::int64_t padding_high = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};
/// x[n,c,w], weights[o,c/groups,kw] -> [n,o,w'].
Tensor conv1d(Tensor x, Tensor weights, Conv1dAttributes attributes = {});

enum class ResizeMode { kNearest, kLinear };
/// Maps point i of `to` result points to a position among `from` operand points: (i + 1/2) * from / to - 1/2; i * (from
/// - 1) / (to - 1), or 0 if there is one result point; i * from / to.
enum class ResizeCoordinates { kHalfPixel, kAlignCorners, kAsymmetric };
/// Resizes x to `sizes` points along `axes`. kNearest takes the nearer operand point, the lower one on a tie; with
/// kAsymmetric it takes the point below. kLinear interpolates between the two neighbours. Positions outside the operand
/// are clamped to its ends.
Tensor resize(Tensor x, std::vector<std::int64_t> axes, std::vector<SizeExpr> sizes, ResizeMode mode,
              ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel);

/// "ij,jk->ik": multiplies the operands from left to right, summing over the letters missing from the result.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);

/// round(x / scale) + zero_point, saturated to zero_point's dtype. Scale and zero_point are scalars or have one element
/// per index of `axis`.
Tensor quantize_linear(Tensor x, Tensor scale, Tensor zero_point, std::int64_t axis = -1);
/// (x - zero_point) * scale, in scale's dtype.
Tensor dequantize_linear(Tensor x, Tensor scale, Tensor zero_point, std::int64_t axis = -1);

/// softmax(query * key^T * scale + mask) * value, for query[..., m, d], key[..., n, d], value[..., n, e]; scale
/// defaults to 1 / sqrt(d). A bool mask excludes positions where it is false. Masks are broadcast to [..., m, n]. A
/// fully excluded row is NaN. Source: Vaswani et al., arXiv:1706.03762.
Tensor attention(Tensor query, Tensor key, Tensor value, Tensor mask = {}, std::optional<double> scale = {});
/// (x - mean) / sqrt(variance + epsilon) * scale + bias over the last dim. Source: Ba et al., arXiv:1607.06450.
Tensor layer_norm(Tensor x, Tensor scale, Tensor bias, double epsilon = 1e-5);

}  // namespace millrace
