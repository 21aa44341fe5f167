// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/graph/builder.h"

namespace millrace {

// The ops as functions on tensors; op_table.inc, and `millrace ops`, say what each means. Axes may be negative. Errors
// go to the builder, a lack of memory too.

// Elementwise ops: exp(x), max(x, y), ... The two tensors have equal shapes and dtypes. A C++ number stands for a
// tensor like the other; beside integers it is one that they hold.
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

Tensor select(Tensor condition, Tensor if_true, Tensor if_false);
Tensor cast(Tensor x, DType dtype);

Tensor reduce_sum(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_prod(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_max(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_min(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_mean(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_any(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor reduce_all(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
Tensor argmax(Tensor x, std::int64_t axis, bool keep_dims = false);
Tensor argmin(Tensor x, std::int64_t axis, bool keep_dims = false);

/// Matrix product of the last two dims, with equal leading (batch) dims: x[..., m, k] * y[..., k, n] -> [..., m, n].
Tensor matmul(Tensor x, Tensor y);
Tensor dot(Tensor x, Tensor y, DotAttrs attributes);
Tensor dot_i32(Tensor x, Tensor y, DotAttrs attributes);
/// x[n,c,h,w], weights[o,c/groups,kh,kw] -> [n,o,h',w'].
Tensor conv2d(Tensor x, Tensor weights, Conv2dAttrs attributes = {});
Tensor max_pool2d(Tensor x, Pool2dAttrs attributes = {});
Tensor avg_pool2d(Tensor x, Pool2dAttrs attributes = {});

/// A dim of -1 is what the others leave of the elements; a run checks that they divide them.
Tensor reshape(Tensor x, Shape shape);
Tensor transpose(Tensor x, std::vector<std::int64_t> permutation);
/// Operand dims become the trailing result dims, as NumPy does it.
Tensor broadcast_to(Tensor x, Shape shape);
/// Operand dim d becomes result dim dims[d].
Tensor broadcast(Tensor x, Shape shape, std::vector<std::int64_t> dims);
Tensor slice(Tensor x, std::vector<SizeExpr> start, std::vector<SizeExpr> stop, std::vector<std::int64_t> step = {});
Tensor pad(Tensor x, std::vector<SizeExpr> low, std::vector<SizeExpr> high, Number value = 0);
Tensor concat(std::span<const Tensor> tensors, std::int64_t axis);
Tensor gather(Tensor x, Tensor indices, std::int64_t axis);
/// The elements of x that indices name along the axis, as NumPy does it. Indices are i32 or i64 of the shape of x, but
/// any extent along the axis; the result has their shape. They wrap once, and are an error from the run, as gather's.
Tensor take_along_axis(Tensor x, Tensor indices, std::int64_t axis);
/// Updates have the type of gather(x, indices, axis).
Tensor scatter(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
Tensor scatter_add(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
Tensor scatter_min(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
Tensor scatter_max(Tensor x, Tensor indices, Tensor updates, std::int64_t axis);
/// Scans along one axis. An exclusive one begins with that of nothing: sum 0, product 1, maximum the lowest value and
/// minimum the highest, which are -inf and +inf of floats.
Tensor cumulative_sum(Tensor x, ScanAttrs attributes = {});
Tensor cumulative_prod(Tensor x, ScanAttrs attributes = {});
Tensor cumulative_max(Tensor x, ScanAttrs attributes = {});
Tensor cumulative_min(Tensor x, ScanAttrs attributes = {});
Tensor iota(GraphBuilder& graph, DType dtype, Shape shape, std::int64_t axis);
/// An i64 scalar: a constant, or what a run binds.
Tensor size_of(GraphBuilder& graph, const SizeExpr& size);

struct ValuesAndIndices {
  Tensor values;
  Tensor indices;  // i64, unless the elements came with indices
};
ValuesAndIndices sort(Tensor x, std::int64_t axis = -1, bool descending = false);
ValuesAndIndices topk(Tensor x, SizeExpr k, TopKAttrs attributes = {});

// Composites build smaller ops and are no kind of op. Softmax, norms and attention compute 16-bit floats in f32
// and round once.

/// e^(x - max) / sum over `axis`. Rows of -inf give NaN, as the definition does.
Tensor softmax(Tensor x, std::int64_t axis = -1);
/// x * (1 + erf(x / sqrt 2)) / 2. Source: Hendrycks & Gimpel, arXiv:1606.08415.
Tensor gelu(Tensor x);
/// max(x, 0).
Tensor relu(Tensor x);
/// x / (1 + e^-x). Source: Elfwing et al., arXiv:1702.03118.
Tensor silu(Tensor x);
/// x limited to [low, high]; NaN stays. Bounds of integers are integers, and none beyond the dtype's range.
Tensor clamp(Tensor x, double low, double high);
/// select with all three broadcast to one shape, as NumPy does it.
Tensor where(Tensor condition, Tensor if_true, Tensor if_false);
/// x - max - log(sum of e^(x - max)) over `axis`.
Tensor log_softmax(Tensor x, std::int64_t axis = -1);
/// x / sqrt(mean of x^2 + epsilon) * scale over the last dim. Source: Zhang & Sennrich, arXiv:1910.07467.
Tensor rms_norm(Tensor x, Tensor scale, double epsilon = 1e-5);
/// x[n, c, ...] normalized over each of `groups` of channels and all that follows, times scale[c], plus bias[c].
/// Source: Wu & He, arXiv:1803.08494.
Tensor group_norm(Tensor x, std::int64_t groups, Tensor scale, Tensor bias, double epsilon = 1e-5);
/// [..., depth]: 1 where the index is, else 0; an index outside of [0, depth) is nowhere.
Tensor one_hot(Tensor indices, SizeExpr depth, DType dtype = DType::kF32);
/// Keeps what is on and above (`upper`) or on and below diagonal number `diagonal` of the last two dims; else 0.
Tensor trilu(Tensor x, bool upper, std::int64_t diagonal = 0);
/// indices[..., m] name elements, or slices, of the first m axes of x, each as gather does.
Tensor gather_nd(Tensor x, Tensor indices);
/// topk of elements that come with indices, integers of the shape of x: in their dtype, these are the result's in place
/// of positions along the axis. So it selects from what shards, or an earlier topk, found. Of equal elements the first
/// of x comes first, whatever its index.
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
/// Where result point i of an axis stands in the operand, with `from` and `to` points: (i + 1/2) * from / to - 1/2;
/// i * (from - 1) / (to - 1), which is 0 for one point; i * from / to.
enum class ResizeCoordinates { kHalfPixel, kAlignCorners, kAsymmetric };
/// x with `sizes` points along `axes`. kNearest takes the lower of two points as near, and with kAsymmetric the one
/// below; kLinear weighs the two around. Beyond the ends the outermost point counts.
Tensor resize(Tensor x, std::vector<std::int64_t> axes, std::vector<SizeExpr> sizes, ResizeMode mode,
              ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel);

/// "ij,jk->ik": products summed over the letters that the result does not have, operand by operand from the left.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);

/// round(x / scale) + zero_point, saturated to zero_point's dtype. Scale and zero_point are scalars, or have one
/// element for each index of `axis`.
Tensor quantize_linear(Tensor x, Tensor scale, Tensor zero_point, std::int64_t axis = -1);
/// (x - zero_point) * scale, in scale's dtype.
Tensor dequantize_linear(Tensor x, Tensor scale, Tensor zero_point, std::int64_t axis = -1);

/// softmax(query * key^T * scale + mask) * value of query[..., m, d], key[..., n, d], value[..., n, e]; scale is
/// 1 / sqrt(d) unless given. A bool mask leaves out where it is false; masks are broadcast to [..., m, n]. A row that
/// is left out whole is NaN. Source: Vaswani et al., arXiv:1706.03762.
Tensor attention(Tensor query, Tensor key, Tensor value, Tensor mask = {}, std::optional<double> scale = {});
/// (x - mean) / sqrt(variance + epsilon) * scale + bias over the last dim. Source: Ba et al., arXiv:1607.06450.
Tensor layer_norm(Tensor x, Tensor scale, Tensor bias, double epsilon = 1e-5);

}  // namespace millrace
