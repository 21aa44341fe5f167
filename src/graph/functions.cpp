// SPDX-License-Identifier: Apache-2.0
// The functions on tensors in functions.h: each broadcasts its operands if the op does not, and adds the node.
#include <algorithm>

#include "graph/build_or_fail.h"
#include "graph/composites/composite.h"
#include "graph/infer.h"

namespace millrace {
namespace {

Tensor apply(Op op, std::initializer_list<Tensor> operands, Attributes attributes = NoAttrs{}) {
  GraphBuilder* builder = builder_of(operands);
  return builder ? builder->op1(op, operands, std::move(attributes)) : Tensor();
}

}  // namespace

namespace {

Tensor spread_number(std::string_view function, Tensor x, const Literal& literal) {
  GraphBuilder& graph = *x.builder();
  const DType dtype = x.dtype();
  const Number& number = literal.value();
  const auto place = [&] {
    return fmt::format("{}: the number {} next to {}", graph.next_text(function), number.to_text(), x.type().to_text());
  };
  if (!number.fits(dtype)) {
    return graph.fail(invalid_argument(fmt::format(
        "{}, expected one that {} holds; cast the tensor, or give an integer in its range", place(), to_text(dtype))));
  }
  if (function == to_text(Op::div) && literal.is_floating() && !is_float(dtype)) {
    return graph.fail(
        invalid_argument(fmt::format("{} is of a C++ floating-point type, expected an integer type in an integer "
                                     "division; cast the tensor, or write "
                                     "{} as an integer",
                                     place(), number.to_text())));
  }
  if (size_bytes(dtype) < sizeof(std::uint64_t) || is_float(dtype)) {
    return graph.fill(dtype, x.shape(), number.as_double());
  }
  const std::uint64_t bits = number.as_u64();  // a double cannot hold every 64-bit integer
  Tensor scalar = graph.constant_bytes({dtype, {}}, std::as_bytes(std::span(&bits, 1)));
  return x.shape().rank() == 0 ? scalar : broadcast(scalar, x.shape(), {});
}

}  // namespace

Tensor full_like(std::string_view function, Tensor x, const Literal& literal) {
  if (!x.is_valid()) return {};
  return build_or_fail(x.builder(), [&] { return spread_number(function, x, literal); }, 0, function);
}

namespace {

/// Broadcasts x to the shape, aligned at the last dims.
Tensor align_last(Tensor x, const Shape& shape) {
  std::vector<std::int64_t> dims;
  const auto offset = static_cast<std::int64_t>(shape.rank()) - static_cast<std::int64_t>(x.shape().rank());
  for (std::size_t d = 0; d < x.shape().rank(); ++d) dims.push_back(offset + static_cast<std::int64_t>(d));
  return apply(Op::broadcast, {x}, BroadcastAttrs{shape.dims(), std::move(dims)});
}

Tensor add_broadcast(Op op, Tensor x, Tensor y) {
  if (!x.is_valid() || !y.is_valid() || x.dtype() != y.dtype() || x.shape() == y.shape()) return apply(op, {x, y});
  const Shape shapes[] = {x.shape(), y.shape()};
  const std::optional<Shape> joint = joint_shape(shapes);
  if (!joint) {
    if (Status conflict = check_facts(shapes); !conflict.ok()) {
      return refuse(*x.builder(), to_text(op), conflict.message());
    }
    return refuse(
        *x.builder(), to_text(op),
        fmt::format("operands are {} and {}, expected dims that are equal or 1, aligned at the last; reshape or "
                    "broadcast one",
                    x.type().to_text(), y.type().to_text()));
  }
  if (x.shape() != *joint) x = align_last(x, *joint);
  if (y.shape() != *joint) y = align_last(y, *joint);
  return apply(op, {x, y});
}

/// Applies the op to two operands that are broadcast to one shape. The op itself refuses dtypes that differ.
Tensor apply_broadcast(Op op, Tensor x, Tensor y) {
  return build_or_fail(builder_of({x, y}), [&] { return add_broadcast(op, x, y); }, 0, to_text(op));
}

ValuesAndIndices apply_order(Op op, Tensor x, Attributes attributes) {
  if (!x.is_valid()) return {};
  const std::vector<Tensor> results = x.builder()->op(op, std::span(&x, 1), std::move(attributes));
  return results.size() == 2 ? ValuesAndIndices{results[0], results[1]} : ValuesAndIndices{};
}

}  // namespace

#define MILLRACE_OP(name, operands, results, traits, attributes, meaning, example)
#define MILLRACE_UNARY(name, rule, meaning) \
  Tensor name(Tensor x) { return apply(Op::name, {x}); }
#define MILLRACE_BINARY(name, traits, rule, meaning)                                        \
  Tensor name(Tensor x, Tensor y) { return apply_broadcast(Op::name, x, y); }               \
  Tensor name(Tensor x, Literal y) { return apply(Op::name, {x, full_like(#name, x, y)}); } \
  Tensor name(Literal x, Tensor y) { return apply(Op::name, {full_like(#name, y, x), y}); }
#include "millrace/ops/op_table.inc"

#define MILLRACE_REDUCE(name)                                             \
  Tensor name(Tensor x, std::vector<std::int64_t> axes, bool keep_dims) { \
    return apply(Op::name, {x}, ReduceAttrs{std::move(axes), keep_dims}); \
  }
MILLRACE_REDUCE(reduce_sum)
MILLRACE_REDUCE(reduce_prod)
MILLRACE_REDUCE(reduce_max)
MILLRACE_REDUCE(reduce_min)
MILLRACE_REDUCE(reduce_mean)
MILLRACE_REDUCE(reduce_any)
MILLRACE_REDUCE(reduce_all)

#undef MILLRACE_REDUCE

Tensor select(Tensor condition, Tensor if_true, Tensor if_false) {
  return apply(Op::select, {condition, if_true, if_false});
}
Tensor select(Tensor condition, Tensor if_true, Literal if_false) {
  return apply(Op::select, {condition, if_true, full_like("select", if_true, if_false)});
}
Tensor select(Tensor condition, Literal if_true, Tensor if_false) {
  return apply(Op::select, {condition, full_like("select", if_false, if_true), if_false});
}
Tensor cast(Tensor x, DType dtype) { return apply(Op::cast, {x}, CastAttrs{dtype}); }
Tensor bit_cast(Tensor x, DType dtype) { return apply(Op::bit_cast, {x}, CastAttrs{dtype}); }
Tensor argmax(Tensor x, std::int64_t axis, bool keep_dims) { return apply(Op::argmax, {x}, ArgAttrs{axis, keep_dims}); }
Tensor argmin(Tensor x, std::int64_t axis, bool keep_dims) { return apply(Op::argmin, {x}, ArgAttrs{axis, keep_dims}); }

Tensor dot(Tensor x, Tensor y, DotAttrs attributes) { return apply(Op::dot, {x, y}, std::move(attributes)); }
Tensor dot_i32(Tensor x, Tensor y, DotAttrs attributes) { return apply(Op::dot_i32, {x, y}, std::move(attributes)); }
Tensor conv2d(Tensor x, Tensor weights, Conv2dAttrs attributes) {
  return apply(Op::conv2d, {x, weights}, std::move(attributes));
}
Tensor conv2d_i32(Tensor x, Tensor weights, Conv2dAttrs attributes) {
  return apply(Op::conv2d_i32, {x, weights}, std::move(attributes));
}
Tensor max_pool2d(Tensor x, Pool2dAttrs attributes) { return apply(Op::max_pool2d, {x}, std::move(attributes)); }
Tensor avg_pool2d(Tensor x, Pool2dAttrs attributes) { return apply(Op::avg_pool2d, {x}, std::move(attributes)); }

Tensor reshape(Tensor x, Shape shape) {
  return build_or_fail(x.builder(), [&] {
    return apply(Op::reshape, {x}, ShapeAttrs{with_found_dim(std::move(shape), x.shape()).dims()});
  });
}
Tensor transpose(Tensor x, std::vector<std::int64_t> permutation) {
  return apply(Op::transpose, {x}, PermutationAttrs{std::move(permutation)});
}
Tensor broadcast_to(Tensor x, Shape shape) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(expect_within_limits({x.dtype(), shape}))) return {};
    const Shape shapes[] = {shape, x.shape()};
    if (joint_shape(shapes) != shape) {
      return composite.refuse(
          fmt::format("operand 0 is {}, expected dims that are 1 or those of shape {}, aligned at the last; reshape it",
                      x.type().to_text(), shape.to_text()));
    }
    return align_last(x, shape);
  });
}
Tensor broadcast(Tensor x, Shape shape, std::vector<std::int64_t> dims) {
  return build_or_fail(x.builder(),
                       [&] { return apply(Op::broadcast, {x}, BroadcastAttrs{shape.dims(), std::move(dims)}); });
}
namespace {

/// Makes a negative bound count from the end.
SizeExpr from_beginning(const SizeExpr& bound, const SizeExpr& extent) {
  return bound.upper_bound() < 0 ? extent + bound : bound;
}

/// Turns a slice with a negative step into the slice of the same elements with a positive step, in reverse order.
void reverse_slice(SizeExpr& start, SizeExpr& stop, std::int64_t& step) {
  step = -step;
  const SizeExpr count = ceil_div(start - stop, step), last = start;
  start = count.is(0) ? last + 1 : last - (count - 1) * step;
  if (step > 1 && count.lower_bound() < 1) start = min(start, last + 1);  // the slice may turn out empty in a run
  stop = last + 1;
}

Tensor add_slice(Tensor x, std::vector<SizeExpr> start, std::vector<SizeExpr> stop, std::vector<std::int64_t> step) {
  if (step.empty()) step.assign(start.size(), 1);
  std::vector<std::int64_t> backwards;
  const std::size_t rank = x.is_valid() ? x.shape().rank() : 0;
  if (start.size() == rank && stop.size() == rank && step.size() == rank) {  // otherwise the op refuses them
    for (std::size_t d = 0; d < rank; ++d) {
      constexpr std::int64_t kMinStep = -(std::int64_t{1} << 48);  // no dim has more elements
      start[d] = from_beginning(start[d], x.shape()[d]);
      stop[d] = from_beginning(stop[d], x.shape()[d]);
      if (step[d] >= 0) continue;
      if ((start[d] - stop[d]).upper_bound() < 0) {
        return refuse(
            *x.builder(), "slice",
            fmt::format("start[{}] is {} and stop[{}] is {}, expected -1 <= stop <= start < {} for step {} and "
                        "operand 0, {}; swap them",
                        d, start[d].to_text(), d, stop[d].to_text(), x.shape()[d].to_text(), step[d],
                        x.type().to_text()));
      }
      step[d] = std::max(step[d], kMinStep);
      reverse_slice(start[d], stop[d], step[d]);
      backwards.push_back(static_cast<std::int64_t>(d));
    }
  }
  Tensor sliced = apply(Op::slice, {x}, SliceAttrs{std::move(start), std::move(stop), std::move(step)});
  return backwards.empty() ? sliced : flip(sliced, std::move(backwards));
}

}  // namespace

Tensor slice(Tensor x, std::vector<SizeExpr> start, std::vector<SizeExpr> stop, std::vector<std::int64_t> step) {
  return build_or_fail(x.builder(), [&] { return add_slice(x, std::move(start), std::move(stop), std::move(step)); });
}
Tensor pad(Tensor x, std::vector<SizeExpr> low, std::vector<SizeExpr> high, Number value) {
  return apply(Op::pad, {x}, PadAttrs{std::move(low), std::move(high), value});
}
Tensor concat(std::span<const Tensor> tensors, std::int64_t axis) {
  GraphBuilder* builder = builder_of(tensors);
  if (builder == nullptr) return {};
  const std::vector<Tensor> results = builder->op(Op::concat, tensors, AxisAttrs{axis});
  return results.empty() ? Tensor() : results[0];
}
Tensor gather(Tensor x, Tensor indices, std::int64_t axis) {
  return apply(Op::gather, {x, indices}, GatherAttrs{axis});
}
Tensor take_along_axis(Tensor x, Tensor indices, std::int64_t axis) {
  return apply(Op::take_along_axis, {x, indices}, GatherAttrs{axis});
}
Tensor scatter(Tensor x, Tensor indices, Tensor updates, std::int64_t axis) {
  return apply(Op::scatter, {x, indices, updates}, GatherAttrs{axis});
}
Tensor scatter_add(Tensor x, Tensor indices, Tensor updates, std::int64_t axis) {
  return apply(Op::scatter_add, {x, indices, updates}, GatherAttrs{axis});
}
Tensor scatter_mul(Tensor x, Tensor indices, Tensor updates, std::int64_t axis) {
  return apply(Op::scatter_mul, {x, indices, updates}, GatherAttrs{axis});
}
Tensor scatter_min(Tensor x, Tensor indices, Tensor updates, std::int64_t axis) {
  return apply(Op::scatter_min, {x, indices, updates}, GatherAttrs{axis});
}
Tensor scatter_max(Tensor x, Tensor indices, Tensor updates, std::int64_t axis) {
  return apply(Op::scatter_max, {x, indices, updates}, GatherAttrs{axis});
}
Tensor cumulative_sum(Tensor x, ScanAttrs attributes) { return apply(Op::cumulative_sum, {x}, attributes); }
Tensor cumulative_prod(Tensor x, ScanAttrs attributes) { return apply(Op::cumulative_prod, {x}, attributes); }
Tensor cumulative_max(Tensor x, ScanAttrs attributes) { return apply(Op::cumulative_max, {x}, attributes); }
Tensor cumulative_min(Tensor x, ScanAttrs attributes) { return apply(Op::cumulative_min, {x}, attributes); }
Tensor size_of(GraphBuilder& graph, const SizeExpr& size) {
  return build_or_fail(&graph, [&] {
    if (!size.is_constant()) return graph.op1(Op::size, {}, SizeAttrs{size});
    const std::int64_t value = size.constant();
    return graph.constant<std::int64_t>({}, std::span(&value, 1));
  });
}
Tensor iota(GraphBuilder& graph, DType dtype, Shape shape, std::int64_t axis) {
  return build_or_fail(&graph, [&] { return graph.op1(Op::iota, {}, IotaAttrs{shape.dims(), dtype, axis}); });
}
ValuesAndIndices sort(Tensor x, std::int64_t axis, bool descending) {
  return apply_order(Op::sort, x, SortAttrs{axis, descending});
}
ValuesAndIndices topk(Tensor x, SizeExpr k, TopKAttrs attributes) {
  attributes.k = std::move(k);
  return apply_order(Op::topk, x, std::move(attributes));
}

}  // namespace millrace
