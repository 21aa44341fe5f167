// SPDX-License-Identifier: Apache-2.0
// The definitions of max_pool2d and avg_pool2d, as reductions over windows.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "millrace/base/saturating.h"
#include "ops/request.h"
#include "ops/window.h"

namespace millrace {

using namespace ops;

namespace {

WindowDims window_dims(Types operands, const Pool2dAttrs& attrs) {
  WindowDims dims =
      make_window_dims(operands[0].shape, {attrs.window[0], attrs.window[1]}, attrs.strides, attrs.padding);
  for (WindowDim& dim : dims) dim.rounds_up = attrs.ceil_mode;
  return dims;
}

/// A window entirely inside the padding would have no elements; padding less than the window prevents that, unless the
/// operand is empty.
Status expect_padding_below_window(const Pool2dAttrs& attrs) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (attrs.padding[i] < attrs.window[i % 2]) continue;
    return invalid_argument(fmt::format("padding[{}] is {}, expected less than window[{}], {}; shrink it", i,
                                        attrs.padding[i], i % 2, attrs.window[i % 2]));
  }
  return {};
}

InferResult infer_pool(Types operands, const Attributes& attributes, const DTypeSet& set) {
  const auto& attrs = std::get<Pool2dAttrs>(attributes);
  MILLRACE_TRY(expect_dtype(operands, 0, set));
  MILLRACE_TRY(expect_rank(operands, 0, 4, "n, c, h, w"));
  MILLRACE_TRY(expect_entries("window", attrs.window.size(), 2, "h, w"));
  MILLRACE_TRY(expect_at_least("window", attrs.window, 1));
  MILLRACE_TRY(check_window_attributes(attrs.strides, attrs.padding));
  MILLRACE_TRY(expect_padding_below_window(attrs));
  const WindowDims dims = window_dims(operands, attrs);
  std::vector<SizeRequirement> needed;
  MILLRACE_TRY(expect_window_fits(operands, dims, needed));
  const Shape shape({operands[0].shape[0], operands[0].shape[1], dims[0].output(), dims[1].output()});
  return Inference({{operands[0].dtype, shape}}, std::move(needed));
}

/// A loop nest over n, c, i, j and the window. Its load reads the operand's element, or `fill` in the padding.
struct PoolNest {
  LoopKernelBuilder nest;
  WindowDims dims;
  std::vector<AffineIndex> point;
  BodyValue value;

  PoolNest(std::string name, const OpInstance& node, Scalar fill)
      : nest(std::move(name)), dims(window_dims(node.operands, std::get<Pool2dAttrs>(node.attributes))) {
    const Shape& out = node.results[0].shape;
    const AffineIndex n = nest.parallel("n", out[0]), c = nest.parallel("c", out[1]);
    const AffineIndex i = nest.parallel("i", out[2]), j = nest.parallel("j", out[3]);
    point = {n, c, i, j};
    const AffineIndex kh = nest.reduction("kh", dims[0].window), kw = nest.reduction("kw", dims[1].window);
    LoadOptions options;
    if (dims[0].is_padded() || dims[1].is_padded()) options.fill = fill;
    value = nest.load(nest.term(), nest.operand("x0", node.operands[0]),
                      {n, c, dims[0].walked_by(i, kh), dims[1].walked_by(j, kw)}, options);
  }

  /// Whether the indices of the padded operand, and the points of a window, fit an i32. A vector has twice as many i32
  /// as i64.
  bool counts_fit_i32() const {
    constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
    const auto fits = [](const WindowDim& dim) {
      return (dim.input + dim.high + dim.low + dim.window).upper_bound() <= kLimit;
    };
    return std::ranges::all_of(dims, fits) &&
           saturating::multiply(dims[0].window.upper_bound(), dims[1].window.upper_bound()) <= kLimit;
  }

  /// Counts, as an integer, the points of the window at output index `dim` that are in the operand or, if
  /// `counts_padding`, in its padding.
  BodyValue count(const AffineIndex& dim, const WindowDim& window, bool counts_padding) {
    BodyBuilder& b = nest.epilogue();
    const DType dtype = counts_fit_i32() ? DType::kI32 : DType::kI64;
    const auto number = [&](std::int64_t value) { return b.constant_int(dtype, value); };
    if (!window.is_padded() || (counts_padding && !window.rounds_up)) return number(window.window.constant());
    const BodyValue index = b.convert(dtype, nest.index(b, dim));
    const BodyValue first = b.sub(b.mul(index, number(window.stride)), number(window.low));
    const SizeExpr last = window.input + (counts_padding ? window.high : 0);
    const BodyValue end = b.min(b.add(first, number(window.window.constant())), b.convert(dtype, nest.extent(b, last)));
    return b.sub(end, counts_padding ? first : b.max(first, number(0)));
  }
};

/// -inf for floats; converting that to an integer saturates to its lowest value.
Scalar lowest(DType dtype) { return Scalar::from_double(dtype, -std::numeric_limits<double>::infinity()); }

Result<std::vector<KernelRequest>> build_max_pool(const OpInstance& node) {
  PoolNest pool("max_pool2d", node, lowest(body_dtype(node.operands[0].dtype)));
  const BodyValue max = pool.nest.reduce(ReductionKind::kMax, pool.value);
  pool.nest.store("y0", node.results[0], pool.point, max);
  return finish_request(pool.nest);
}

Result<std::vector<KernelRequest>> build_avg_pool(const OpInstance& node) {
  const DType dtype = body_dtype(node.operands[0].dtype);
  PoolNest pool("avg_pool2d", node, Scalar::from_int(dtype, 0));
  BodyBuilder& b = pool.nest.epilogue();
  const auto& attrs = std::get<Pool2dAttrs>(node.attributes);
  const BodyValue sum = pool.nest.reduce(ReductionKind::kSum, pool.value);
  const SizeExpr all = pool.dims[0].window * pool.dims[1].window;
  const bool is_padded = pool.dims[0].is_padded() || pool.dims[1].is_padded();
  const bool counts_all = attrs.count_include_pad && !attrs.ceil_mode;
  const auto count = [&](std::size_t d) {
    return pool.count(pool.point[2 + d], pool.dims[d], attrs.count_include_pad);
  };
  const BodyValue divisor =
      counts_all || !is_padded ? b.constant_int(dtype, all.constant()) : b.convert(dtype, b.mul(count(0), count(1)));
  pool.nest.store("y0", node.results[0], pool.point, b.div(sum, divisor));
  return finish_request(pool.nest);
}

}  // namespace

OpDef define_max_pool2d() {
  OpDef def;
  def.infer = [](Types operands, const Attributes& a) { return infer_pool(operands, a, kArithmetic); };
  def.build = build_max_pool;
  return def;
}

OpDef define_avg_pool2d() {
  OpDef def;
  def.infer = [](Types operands, const Attributes& a) { return infer_pool(operands, a, kFloats); };
  def.build = build_avg_pool;
  return def;
}

}  // namespace millrace
