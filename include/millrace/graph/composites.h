// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/graph/functions.h"

namespace millrace {

// Composites are functions that expand to several ops. A graph text can call them by the same names. Softmax, norms and
// attention compute 16-bit floats in f32 and round once.

/// e^(x - max) / sum of e^(x - max) over `axis`. A row of only -inf gives NaN, as the formula does.
Tensor softmax(Tensor x, std::int64_t axis = -1);
/// x * (1 + erf(x / sqrt 2)) / 2. Source: Hendrycks & Gimpel, arXiv:1606.08415.
Tensor gelu(Tensor x);
/// max(x, 0).
Tensor relu(Tensor x);
/// x / (1 + e^-x). Source: Elfwing et al., arXiv:1702.03118.
Tensor silu(Tensor x);
/// x where x >= 0, otherwise alpha * (e^x - 1). Source: Clevert et al., arXiv:1511.07289.
Tensor elu(Tensor x, double alpha = 1);
/// x where x >= 0, otherwise alpha * (e^(x / alpha) - 1); alpha is not 0. Source: Barron, arXiv:1704.07483.
Tensor celu(Tensor x, double alpha = 1);
/// gamma * elu(x, alpha). The defaults keep mean 0 and variance 1. Source: Klambauer et al., arXiv:1706.02515.
Tensor selu(Tensor x, double alpha = 1.6732632423543772, double gamma = 1.0507009873554805);
/// alpha * x + beta, limited to [0, 1]; NaN stays NaN.
Tensor hard_sigmoid(Tensor x, double alpha = 0.2, double beta = 0.5);
/// x / (1 + |x|).
Tensor softsign(Tensor x);
/// Angles in radians. Like the functions below, accurate to a few ulp, and NaN outside the domain.
Tensor asin(Tensor x);
Tensor acos(Tensor x);
Tensor atan(Tensor x);
/// Hyperbolic functions and their inverses.
Tensor sinh(Tensor x);
Tensor cosh(Tensor x);
Tensor asinh(Tensor x);
Tensor acosh(Tensor x);
Tensor atanh(Tensor x);
/// x * tanh(softplus(x)). Source: Misra, arXiv:1908.08681.
Tensor mish(Tensor x);
/// gelu by its approximation x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))). Source: arXiv:1606.08415.
Tensor gelu_tanh(Tensor x);
/// bool: whether x is +inf or -inf; floats only.
Tensor is_inf(Tensor x);
/// x limited to [low, high]; NaN stays NaN. For integers, the bounds must be integers; a bound outside the dtype's
/// range counts as the end of that range.
Tensor clamp(Tensor x, double low, double high);
/// select, with all three operands broadcast to one shape, as in NumPy. One choice may be a number.
Tensor where(Tensor condition, Tensor if_true, Tensor if_false);
Tensor where(Tensor condition, Tensor if_true, Literal if_false);
Tensor where(Tensor condition, Literal if_true, Tensor if_false);
/// 1 at the first maximum along `axis`, otherwise 0; NaN is greatest. The extent must be at least 1.
Tensor hardmax(Tensor x, std::int64_t axis = -1);
/// x - max - log(sum of e^(x - max)) over `axis`.
Tensor log_softmax(Tensor x, std::int64_t axis = -1);
/// x / sqrt(mean of x^2 + epsilon) * scale over the last dim. Source: Zhang & Sennrich, arXiv:1910.07467.
Tensor rms_norm(Tensor x, Tensor scale, double epsilon = 1e-5);
/// x[n, c, ...] normalized over each of `groups` groups of channels and all trailing dims, times scale[c], plus
/// bias[c]. A group of equal elements gives bias[c] exactly, as in layer_norm.
/// Source: Wu & He, arXiv:1803.08494.
Tensor group_norm(Tensor x, std::int64_t groups, Tensor scale, Tensor bias, double epsilon = 1e-5);
/// group_norm with one channel per group. The number of channels must be constant. Source: Ulyanov et al.,
/// arXiv:1607.08022.
Tensor instance_norm(Tensor x, Tensor scale, Tensor bias, double epsilon = 1e-5);
/// (x - mean) / sqrt(variance + epsilon) * scale + bias for x[n, c, ...]; mean, variance, scale and bias have one
/// element per channel. For inference. Source: Ioffe & Szegedy, arXiv:1502.03167.
Tensor batch_norm(Tensor x, Tensor mean, Tensor variance, Tensor scale, Tensor bias, double epsilon = 1e-5);
struct LocalResponseAttributes {
  std::int64_t size = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  double bias = 1;
  template <class V>
  void visit(V&& v) {
    v("size", size);
    v("alpha", alpha);
    v("beta", beta);
    v("bias", bias);
  }
};
/// x / (bias + alpha / size * (sum of x^2 over a window of `size` channels))^beta, for x[n, c, ...]. Channels outside x
/// count as 0. If the size is even, the window has one more channel after the element than before it. Source:
/// Krizhevsky et al., NIPS 2012.
Tensor local_response_norm(Tensor x, LocalResponseAttributes attributes = {});
/// max + log(sum of e^(x - max)) over `axes`; -inf where all elements are -inf, +inf where any element is +inf.
Tensor logsumexp(Tensor x, std::vector<std::int64_t> axes, bool keep_dims = false);
/// x / max(sqrt(sum of x^2 over `axis`), epsilon).
Tensor l2_normalize(Tensor x, std::int64_t axis = -1, double epsilon = 1e-12);
/// [..., depth]: 1 at the index, otherwise 0. An index outside [0, depth) gives a row of zeros.
Tensor one_hot(Tensor indices, SizeExpr depth, DType dtype = DType::kF32);
/// Keeps the elements of the last two dims on and above (`upper`) or on and below a diagonal, and sets the others to 0.
/// Diagonal 0 is the main one; positive ones are above it.
Tensor trilu(Tensor x, bool upper, std::int64_t diagonal = 0);
/// Selects elements or slices of x: each row of indices[..., m] indexes the first m axes. Indices wrap and are checked
/// as in gather.
Tensor gather_nd(Tensor x, Tensor indices);
/// How an update combines with the element that its index selects.
enum class ScatterReduction { kReplace, kAdd, kMul, kMin, kMax };
/// Replaces elements or slices of x by updates[..., rest], or combines them with the updates. Indices select them as in
/// gather_nd. If indices are equal, kReplace keeps the last update.
Tensor scatter_nd(Tensor x, Tensor indices, Tensor updates, ScatterReduction reduction = ScatterReduction::kReplace);
/// i64: for each of values[..., m], the position at which it would be inserted into sorted[..., n]: the number of
/// elements that come before it in the order of sort or, with `right`, that do not come after it. The leading dims are
/// equal. For unsorted rows, the counts are meaningless. O(m log n).
Tensor searchsorted(Tensor sorted, Tensor values, bool right = false);
/// i64: for each element, the index of the first maximum among the elements up to it along `axis`; NaN is greatest.
Tensor cumulative_argmax(Tensor x, std::int64_t axis = -1);
struct IndicesAndCount {
  Tensor indices;
  Tensor count;  // an i64 scalar
};
/// The indices of the elements of x that are not 0 (NaN is not 0): i64 indices[bound, rank] in row-major order, like
/// NumPy's argwhere. `count` is the number of all such elements. If it exceeds the bound, only the first `bound` are
/// listed. If it is lower, the remaining rows are -1: gather accepts that index, and the caller can mask its result.
/// O(elements + bound).
IndicesAndCount nonzero(Tensor x, SizeExpr bound);
/// The bound is the number of elements.
IndicesAndCount nonzero(Tensor x);
struct UniqueResults {
  Tensor values;         // [bound], ascending
  Tensor inverse;        // i64 [n]: for each element of x, the index of its value in `values`
  Tensor counts;         // i64 [bound]: for each value, the number of elements equal to it
  Tensor first_indices;  // i64 [bound]: for each value, the index in x of its first element
  Tensor count;          // i64 scalar: the number of values, which may exceed the bound
};
/// The distinct values of x[n], in the order of sort: NaN is greatest and equals NaN, -0 equals +0. Each value has the
/// bits of its first element in x. From index `count` on, `values` repeats the greatest value (0 if x is empty),
/// `counts` is 0 and `first_indices` is -1. If there are more than `bound` values, only the first `bound` are listed,
/// but `inverse` counts all of them. O(n log n).
UniqueResults unique(Tensor x, SizeExpr bound);
/// The bound is n.
UniqueResults unique(Tensor x);
/// The indices of the boxes[n, 4] to keep, best score first, at most `bound`. Drops a box if its overlap with a kept
/// one (shared area divided by the area of the union) is above `max_overlap`. A box is given by two opposite corners:
/// x, y, x, y. Ignores a box if its score in scores[n] is NaN, -inf, or not above `min_score`. Boxes with equal scores
/// keep their order. From index `count` on, the i64 indices are -1. Runs one loop iteration of O(n) per kept box.
/// Source: Neubeck & Van Gool, "Efficient Non-Maximum Suppression", ICPR 2006 (the greedy algorithm).
IndicesAndCount non_max_suppression(Tensor boxes, Tensor scores, SizeExpr bound, double max_overlap = 0.5,
                                    double min_score = -std::numeric_limits<double>::infinity());
/// The bound is n.
IndicesAndCount non_max_suppression(Tensor boxes, Tensor scores);
/// topk with given indices of the elements: integers in the shape of x. The result's indices are taken from `indices`,
/// in its dtype, instead of being positions along the axis. This merges the results of several shards or of an earlier
/// topk. Equal elements keep the order that they have in x, regardless of `indices`.
ValuesAndIndices topk(Tensor x, Tensor indices, SizeExpr k, TopKAttrs attributes = {});

/// Parts of x along `axis`, with the extents `sizes`, which add up to the axis' extent.
std::vector<Tensor> split(Tensor x, std::vector<SizeExpr> sizes, std::int64_t axis);
/// `num_parts` equal parts, at most 4096; the extent must be known to be a multiple of `num_parts`.
std::vector<Tensor> split_evenly(Tensor x, std::int64_t num_parts, std::int64_t axis);
/// Joins tensors of one type along a new axis of the result.
Tensor stack(std::span<const Tensor> tensors, std::int64_t axis);
inline Tensor stack(std::initializer_list<Tensor> tensors, std::int64_t axis) {
  return stack(std::span(tensors.begin(), tensors.size()), axis);
}
/// Drops axes of extent 1.
Tensor squeeze(Tensor x, std::vector<std::int64_t> axes);
/// Adds axes of extent 1. `axes` are their positions in the result.
Tensor unsqueeze(Tensor x, std::vector<std::int64_t> axes);
/// Repeats x `repeats[d]` times along each dim d.
Tensor tile(Tensor x, std::vector<SizeExpr> repeats);
/// Reverses the order along each of `axes`.
Tensor flip(Tensor x, std::vector<std::int64_t> axes);
/// Moves elements `shift` places towards the end of `axis`; those that pass the end continue at the beginning.
Tensor roll(Tensor x, std::int64_t shift, std::int64_t axis);
/// Pads with the elements next to the border, mirrored at the outermost one: c b | a b c | b a. Each dim must be longer
/// than its padding on each side; if this depends on a symbol, it is checked at run time.
Tensor pad_reflect(Tensor x, std::vector<SizeExpr> low, std::vector<SizeExpr> high);
/// Pads with the outermost element: a a | a b c | c c. A padded dim must not be empty.
Tensor pad_edge(Tensor x, std::vector<SizeExpr> low, std::vector<SizeExpr> high);
/// How depth_to_space splits the channels: [block, block, c] or [c, block, block]. ONNX calls them DCR and CRD.
enum class DepthOrder { kBlockFirst, kChannelFirst };
/// x[n, c * block^2, h, w] -> [n, c, h * block, w * block].
Tensor depth_to_space(Tensor x, std::int64_t block, DepthOrder order = DepthOrder::kBlockFirst);
/// x[n, c, h * block, w * block] -> [n, block^2 * c, h, w]: the inverse of depth_to_space with kBlockFirst.
Tensor space_to_depth(Tensor x, std::int64_t block);
/// Replaces the elements of x that `indices` select along `axis`, as in take_along_axis, by `updates`, or combines them
/// with the updates. Indices and updates have the same shape; its dims other than `axis` are at most those of x. If
/// indices are equal, kReplace keeps the last update.
Tensor scatter_elements(Tensor x, Tensor indices, Tensor updates, std::int64_t axis,
                        ScatterReduction reduction = ScatterReduction::kReplace);
/// x with `update` in place of its elements from `start` on along `axis`; the other dims are equal. A negative start
/// counts from the end. If nothing needs x later, or if x is a variable whose new value is the result, only the
/// elements of `update` are written. A start that puts part of the update outside x is an error: while the graph is
/// built if the start is known, otherwise at run time.
Tensor update_slice(Tensor x, Tensor update, std::int64_t axis, SizeExpr start);
/// Does the same with `start` as an i32 or i64 scalar.
Tensor update_slice(Tensor x, Tensor update, std::int64_t axis, Tensor start);

/// Mean and maximum over all dims of x[n, c, ...] after the second one. These dims stay, with extent 1.
Tensor global_avg_pool(Tensor x);
Tensor global_max_pool(Tensor x);

struct Pool1dAttributes {
  std::int64_t window = 2;
  std::int64_t stride = 2;
  std::int64_t padding_low = 0;
  std::int64_t padding_high = 0;
  bool count_include_pad = false;  // avg_pool1d only
  bool ceil_mode = false;          // see Pool2dAttrs
  template <class V>
  void visit(V&& v) {
    v("window", window);
    v("stride", stride);
    v("padding_low", padding_low);
    v("padding_high", padding_high);
    v("count_include_pad", count_include_pad);
    v("ceil_mode", ceil_mode);
  }
};
/// x[n,c,w] -> [n,c,w'], like max_pool2d and avg_pool2d.
Tensor max_pool1d(Tensor x, Pool1dAttributes attributes = {});
Tensor avg_pool1d(Tensor x, Pool1dAttributes attributes = {});

struct Conv1dAttributes {
  std::int64_t stride = 1;
  std::int64_t padding_low = 0;
  std::int64_t padding_high = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  template <class V>
  void visit(V&& v) {
    v("stride", stride);
    v("padding_low", padding_low);
    v("padding_high", padding_high);
    v("dilation", dilation);
    v("groups", groups);
  }
};
/// x[n,c,w], weights[o,c/groups,kw] -> [n,o,w']. bias[o], if given, is added to each filter's result.
Tensor conv1d(Tensor x, Tensor weights, Conv1dAttributes attributes = {});
Tensor conv1d(Tensor x, Tensor weights, Tensor bias, Conv1dAttributes attributes = {});
/// conv2d, with bias[o] added to each filter's result.
Tensor conv2d(Tensor x, Tensor weights, Tensor bias, Conv2dAttrs attributes = {});

enum class ResizeMode { kNearest, kLinear };
/// Maps point i of `to` result points to a position among `from` operand points. kHalfPixel: (i + 1/2) * from / to -
/// 1/2. kAlignCorners: i * (from - 1) / (to - 1), or 0 if there is one result point. kAsymmetric: i * from / to.
enum class ResizeCoordinates { kHalfPixel, kAlignCorners, kAsymmetric };
/// Resizes x to `sizes` points along `axes`. kNearest takes the nearer operand point, the lower one on a tie; with
/// kAsymmetric it takes the point below. kLinear interpolates between the two neighbours. Positions outside the operand
/// are clamped to its ends.
Tensor resize(Tensor x, std::vector<std::int64_t> axes, std::vector<SizeExpr> sizes, ResizeMode mode,
              ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel);

/// "ij,jk->ik": multiplies the operands from left to right, summing over the letters missing from the result, as NumPy
/// does. "..." stands for the dims without letters; they are broadcast, and the result has them too. A letter that
/// occurs twice in an operand selects its diagonal. Without "->", the result has "..." and the letters that occur once,
/// capitals first.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
inline Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span(operands.begin(), operands.size()));
}

/// round(x / scale) + zero_point, saturated to zero_point's dtype. Scale and zero_point are scalars or have one element
/// per index of `axis`.
Tensor quantize_linear(Tensor x, Tensor scale, Tensor zero_point, std::int64_t axis = -1);
/// (x - zero_point) * scale, in scale's dtype.
Tensor dequantize_linear(Tensor x, Tensor scale, Tensor zero_point, std::int64_t axis = -1);

struct AttentionOptions {
  /// If bool, a query sees only the keys for which the mask is true; otherwise, the mask is added to the scores.
  /// Broadcast to the scores' shape.
  Tensor mask = {};
  std::optional<double> scale = {};  // scale of the scores; default: 1 / sqrt(d)
  /// Query i of m sees keys up to i + n - m: the last query sees all n.
  bool is_causal = false;
  template <class V>
  void visit(V&& v) {  // all members except the mask, which is an operand
    v("scale", scale);
    v("is_causal", is_causal);
  }
};
/// softmax(query * key^T * scale + mask) * value, for query[..., m, d], key[..., n, d], value[..., n, e]. If key and
/// value have fewer heads (dim -3) than the query, each of their heads serves a group of adjacent query heads. A query
/// that sees no key gives NaN. Source: Vaswani et al., arXiv:1706.03762; for groups, Ainslie et al., arXiv:2305.13245.
Tensor attention(Tensor query, Tensor key, Tensor value, AttentionOptions options = {});
Tensor attention(Tensor query, Tensor key, Tensor value, Tensor mask, std::optional<double> scale = {});
/// Rotates pairs of x[..., n, d] by angles whose cosines and sines are [n, d / 2], or broadcast to that. A pair is
/// elements i and i + d / 2 of the last dim, or two adjacent ones if `interleaved`. Source: Su et al.,
/// arXiv:2104.09864.
Tensor rotary_embedding(Tensor x, Tensor cosine, Tensor sine, bool interleaved = false);
/// (x - mean) / sqrt(variance + epsilon) * scale + bias over the last dim. The mean is computed from differences to one
/// of the row's elements: for a row of equal elements, x - mean and the variance are exactly 0, and rows far from 0
/// keep their precision. A row gives NaN if it has an infinity or if its differences overflow. Source: Ba et al.,
/// arXiv:1607.06450.
Tensor layer_norm(Tensor x, Tensor scale, Tensor bias, double epsilon = 1e-5);

/// Random u32 bits that depend only on the seed (a u64 scalar) and on each element's position, so every run on every
/// target gives the same bits. Source: Philox 4x32-10, Salmon et al., SC 2011.
Tensor random_bits(Tensor seed, Shape shape);
/// Uniform in [0, 1), f32, in steps of 2^-24.
Tensor random_uniform(Tensor seed, Shape shape);
/// i64: `num_samples` indices along the last dim of logits[..., n], drawn with replacement with the probabilities of
/// softmax(logits). Source: the Gumbel-max trick, Maddison et al., arXiv:1411.0030.
Tensor multinomial(Tensor logits, Tensor seed, std::int64_t num_samples);

}  // namespace millrace
