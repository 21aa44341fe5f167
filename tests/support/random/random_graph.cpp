// SPDX-License-Identifier: Apache-2.0
// Grows a graph node by node: an op or a composite, operands that are converted to its types, attributes that may be
// right. A node that the op's own type rule refuses, or that no binding of the symbols allows, is not added.
#include "tests/support/random/random_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "millrace/graph/passes.h"
#include "millrace/millrace.h"
#include "millrace/ops/op_def.h"
#include "tests/support/random/random_attributes.h"
#include "tests/support/random/random_choice.h"
#include "tests/support/random/random_composite.h"

namespace millrace::test {
namespace {

bool takes_indices(Op op) { return has_trait(op, kTakesIndices); }
bool is_convolution(Op op) { return op == Op::conv2d || op == Op::conv2d_i32; }
bool is_scatter(Op op) { return takes_indices(op) && has_trait(op, kSequence); }

std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

class Grower {
 public:
  Grower(std::uint64_t seed, GraphSize size) : random_(seed, size), long_sums_(seed), builder_("random") {}

  RandomGraph run() {
    for (std::uint64_t i = 0, count = 1 + random_.below(3); i < count; ++i) {
      const DType dtype = random_.any_dtype();
      values_.push_back(new_input({dtype, random_.any_shape()}));
    }
    const std::size_t wanted = 1 + random_.below(12);
    for (std::size_t added = 0, tried = 0; added < wanted && tried < 200; ++tried) {
      added += add_in_scope(tried) ? 1 : 0;
    }
    add_outputs();
    Graph graph = builder_.finish().value();
    if (random_.chance(70)) MILLRACE_CHECK(eliminate_dead_nodes(graph).ok());  // nodes of failed attempts
    return {std::move(graph), random_.bindings(), std::move(composites_)};
  }

 private:
  /// An input, or a constant of the type.
  Tensor new_input(const TensorType& type) {
    if (type.shape.is_static() && random_.chance(25)) {
      Graph one;
      one.inputs.push_back(one.nodes.push_back({InputNode{"x"}, {}, {type}}));
      return builder_.constant_bytes(type, random_inputs(one, random_.seed())[0].bytes);
    }
    return builder_.input("x" + std::to_string(builder_.graph().inputs.size()), type.dtype, type.shape);
  }

  Tensor any_value() { return random_.one_of(values_); }

  /// `value` as `type` by a cast, or another value, or something new of that type.
  Tensor as_type(Tensor value, const TensorType& type) {
    if (value.type() == type) return value;
    if (value.shape() == type.shape) return cast(value, type.dtype);
    for (int i = 0; i < 4; ++i) {
      const Tensor other = any_value();
      if (other.shape() == type.shape) return other.dtype() == type.dtype ? other : cast(other, type.dtype);
    }
    if (random_.chance(50)) return new_input(type);
    return builder_.fill(type.dtype, type.shape, static_cast<double>(random_.below(7)) - 3);
  }

  /// Sums of numbers that are small have a bound; infinities would not.
  Tensor bounded(Tensor x) {
    if (!is_float(x.dtype())) return x;
    if (size_bytes(x.dtype()) < 4) return cast(bounded(cast(x, DType::kF32)), x.dtype());
    const Tensor limit = builder_.fill(x.dtype(), x.shape(), 2), lower = builder_.fill(x.dtype(), x.shape(), -2);
    const Tensor one = builder_.fill(x.dtype(), x.shape(), 1);
    const Tensor number = select(equal(x, x), x, one);
    const Tensor raised = select(greater(number, lower), number, lower);
    return select(less(number, limit), raised, limit);
  }

  /// Sums and the like, of an operand whose elements only they read: more than 100,000, so that they are long. With
  /// draws of their own, so that other graphs stay as they are.
  bool is_long(Op op) {
    if (!std::holds_alternative<ReduceAttrs>(default_attributes(op))) return false;
    return long_sums_() % kReductionsPerLong == 0;
  }
  bool add_long_reduction(Op op) {
    const auto extra = static_cast<std::int64_t>(long_sums_() % 1000);
    const Shape shapes[] = {{100'001 + extra}, {3, 33'400 + extra}, {33'400 + extra, 3}, {317 + extra % 9, 317}};
    const std::size_t form = long_sums_() % 4;
    ReduceAttrs attributes = {.axes = {form == 1 ? 1 : 0}, .keep_dims = long_sums_() % 2 == 0};
    if (form == 3) attributes.axes = {0, 1};
    const bool is_logical = op == Op::reduce_any || op == Op::reduce_all;
    const DType dtypes[] = {DType::kF32, DType::kF32, DType::kF64, DType::kBF16, DType::kI32};
    DType dtype = is_logical ? DType::kBool : dtypes[long_sums_() % 5];
    if (op == Op::reduce_mean && !is_float(dtype)) dtype = DType::kF32;
    const Tensor x = builder_.input("x" + std::to_string(builder_.graph().inputs.size()), dtype, shapes[form]);
    values_.push_back(maybe_named(builder_.op(op, std::array{x}, attributes)[0]));
    return true;
  }

  /// An extent that fits a window under most bindings.
  SizeExpr window_extent() {
    const SizeExpr room = random_.from_1_to(9);
    return random_.chance(50) ? random_.any_extent() + room : room;
  }

  /// An image, the same for one dim, or a value that could be one; and filters for it.
  std::vector<Tensor> window_operands(Op op, Tensor value) {
    std::int64_t groups = 1;
    if (value.shape().rank() != 4) {
      if (is_convolution(op) && random_.chance(50)) groups = random_.from_1_to(3);
      const DType dtype = random_.chance(80) ? DType::kF32 : random_.any_dtype();
      const SizeExpr batch = random_.chance(50) ? random_.any_extent() : 1;
      const SizeExpr channels = random_.chance(20) ? random_.any_extent() : random_.from_1_to(3);
      const SizeExpr rows = random_.chance(30) ? 1 : window_extent(), columns = window_extent();
      const Shape image = {batch, channels * groups, rows, columns};
      value = new_input({dtype, random_.is_small(image) ? image : Shape({1, channels * groups, 1, 9})});
    }
    if (!is_convolution(op)) return {value};
    const Shape& image = value.shape();
    const SizeExpr filters = random_.from_1_to(4) * groups, channels = floor_div(image[1], groups);
    const SizeExpr rows = image[2].is(1) ? 1 : random_.from_1_to(3), columns = random_.from_1_to(3);
    return {value, new_input({value.dtype(), {filters, channels, rows, columns}})};
  }

  /// take_along_axis takes the shape of x, with another extent along its axis.
  Shape index_shape(Op op, Shape x) {
    if (op != Op::take_along_axis) return random_.any_shape();
    if (x.rank() > 0 && random_.chance(50)) {
      const std::size_t dim = random_.below(x.rank());
      x[dim] = random_.any_extent();
    }
    return x;
  }

  std::vector<Tensor> choose_operands(Op op) {
    const int count = info(op).num_operands;
    std::vector<Tensor> operands;
    for (std::uint64_t i = 0, n = count < 0 ? 1 + random_.below(3) : static_cast<std::uint64_t>(count); i < n; ++i) {
      operands.push_back(any_value());
    }
    if (operands.empty()) return operands;
    if (op == Op::select) {
      operands[2] = as_type(operands[2], operands[1].type());
      operands[0] = as_type(operands[0], {DType::kBool, operands[1].shape()});
    } else if (has_trait(op, kElementwise)) {
      for (Tensor& operand : operands) operand = as_type(operand, operands[0].type());
    } else if (is_convolution(op) || op == Op::max_pool2d || op == Op::avg_pool2d) {
      operands = window_operands(op, operands[0]);
    } else if (op == Op::reduce_any || op == Op::reduce_all) {
      operands[0] = cast(operands[0], DType::kBool);
    } else if (takes_indices(op)) {
      const DType dtype = random_.chance(50) ? DType::kI32 : DType::kI64;
      operands[1] = builder_.fill(dtype, index_shape(op, operands[0].shape()), 0);
    } else if (op == Op::dot) {
      operands[1] = as_type(operands[1], {operands[0].dtype(), operands[1].shape()});
    }
    if (op == Op::dot_i32 || op == Op::conv2d_i32) {
      for (Tensor& operand : operands) operand = cast(operand, random_.chance(50) ? DType::kI8 : DType::kU8);
    }
    if (has_trait(op, kAccumulates)) {  // sums have an error bound only while they stay finite
      for (Tensor& operand : operands) operand = bounded(operand);
    }
    return operands;
  }

  /// Whether the type rule accepts it, sizes stay small, and every binding satisfies the checks of a run.
  bool fits(Op op, std::span<const TensorType> operands, const Attributes& attributes) {
    const Result<Inference> inferred = infer_types(op, operands, attributes);
    if (!inferred.ok()) return false;
    for (const TensorType& type : inferred->results) {
      if (!random_.is_small(type.shape)) return false;
    }
    for (const SizeRequirement& needed : inferred->requirements) {
      const auto room = random_.sizes(needed.large - needed.small);
      if (!room || std::ranges::any_of(*room, [](std::int64_t left) { return left < 0; })) return false;
    }
    return true;
  }

  /// The same of all its nodes. In a graph of its own: a builder takes nothing back.
  bool fits(const RandomComposite& composite) {
    GraphBuilder builder;
    std::vector<Tensor> operands;
    for (const TensorType& type : composite.operands) {
      if (!random_.is_small(type.shape)) return false;
      operands.push_back(builder.input("x" + std::to_string(operands.size()), type.dtype, type.shape));
    }
    composite.build(operands);
    if (!builder.status().ok()) return false;
    const Graph& graph = builder.graph();
    return std::ranges::all_of(graph.nodes, [&](const Node& node) {
      std::vector<TensorType> types;
      for (const Value& operand : node.operands) types.push_back(graph.type(operand));
      const auto* op = std::get_if<OpNode>(&node.what);
      return op == nullptr || fits(op->op, types, op->attributes);
    });
  }

  /// Indices that every binding of `x` has along the axis, some counted from its end; nothing when one has none.
  std::optional<Tensor> some_indices(const Tensor& like, const Tensor& x, std::int64_t axis) {
    const auto rank = static_cast<std::int64_t>(x.shape().rank());
    if (axis < -rank || axis >= rank) return std::nullopt;
    const auto extents = random_.sizes(x.shape()[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
    const std::int64_t min_extent = extents ? std::ranges::min(*extents) : 0;
    if (min_extent == 0) return std::nullopt;
    Tensor indices = like;
    if (like.shape().rank() > 0) {
      const auto along = static_cast<std::int64_t>(random_.below(like.shape().rank()));
      const Tensor count = iota(builder_, like.dtype(), like.shape(), along) + random_.below(7);
      indices = rem(count, builder_.fill(like.dtype(), like.shape(), static_cast<double>(min_extent)));
    }
    return random_.chance(50) ? indices - min_extent : indices;
  }

  /// In large graphs mostly one that has other kernels for long rows.
  Op any_op() {
    if (random_.size() == GraphSize::kSmall || random_.chance(40)) return random_.one_of(kAllOps);
    Op op = random_.one_of(kAllOps);
    while (!has_trait(op, kOrder) && !has_trait(op, kSequence) && !has_trait(op, kReduction)) {
      op = random_.one_of(kAllOps);
    }
    return op;
  }

  /// Half of the nodes are in a scope. Like names, that takes no draw: a seed's graph does not depend on them.
  bool add_in_scope(std::size_t tried) {
    if (tried % 2 == 0) return add_any();
    const auto scope = builder_.scope(tried % 4 == 1 ? "layer" : "layer 2");
    return add_any();
  }
  bool add_any() { return random_.chance(15) ? add_composite() : add_op(); }

  /// A third of the values have a name.
  Tensor maybe_named(Tensor value) { return builder_.graph().nodes.size() % 3 == 0 ? value.named("value") : value; }

  bool add_op() {
    const Op op = any_op();
    if (is_long(op)) return add_long_reduction(op);
    std::vector<Tensor> operands = choose_operands(op);
    const Attributes attributes = random_attributes(random_, op, types_of(operands));
    if (takes_indices(op)) {
      const std::int64_t axis = std::get<GatherAttrs>(attributes).axis;
      const std::optional<Tensor> indices = some_indices(operands[1], operands[0], axis);
      if (!indices) return false;
      operands[1] = *indices;
    }
    if (is_scatter(op)) {
      const auto updates = infer_types(Op::gather, types_of(std::array{operands[0], operands[1]}), attributes);
      if (!updates.ok() || !random_.is_small(updates->results[0].shape)) return false;
      operands[2] = as_type(operands[2], updates->results[0]);
    }
    if (!fits(op, types_of(operands), attributes)) return false;
    for (const Tensor& result : builder_.op(op, operands, attributes)) values_.push_back(maybe_named(result));
    return true;
  }

  bool add_composite() {
    const CompositeRow& row = random_.one_of(all_composites());
    Tensor value = any_value();
    const RandomComposite composite = row.choose(random_, value.type());
    if (!fits(composite)) return false;
    std::vector<Tensor> operands;
    for (const TensorType& type : composite.operands) {
      const Tensor operand = as_type(std::exchange(value, any_value()), type);
      operands.push_back(composite.has_sum ? bounded(operand) : operand);
    }
    values_.push_back(maybe_named(composite.build(operands)));
    composites_.push_back(row.name);
    return true;
  }

  void add_outputs() {
    builder_.output("last", values_.back());
    for (std::uint64_t i = 0, count = random_.below(3); i < count; ++i) {
      builder_.output("y" + std::to_string(i), any_value());
    }
  }

  static constexpr std::uint64_t kReductionsPerLong = 10;

  RandomChoice random_;
  std::mt19937_64 long_sums_;
  GraphBuilder builder_;
  std::vector<Tensor> values_;
  std::vector<std::string_view> composites_;
};

}  // namespace

RandomGraph make_random_graph(std::uint64_t seed, GraphSize size) { return Grower(seed, size).run(); }

namespace {

double random_float(std::uint64_t draw, InputStyle style) {
  if (style == InputStyle::kWhole) return static_cast<double>(draw % 9) - 4;
  if (style == InputStyle::kReal) return static_cast<double>(draw >> 11) * 0x1p-50 - 4;  // from -4 to 4
  constexpr double kSpecial[] = {-0.0, INFINITY, -INFINITY, NAN, 1e30, 1e-30, 1e-40, 65519};
  if (draw % 101 == 0) return kSpecial[draw / 101 % 8];
  return static_cast<double>(draw % 65) / 8 - 4;
}

}  // namespace

std::vector<reference::Tensor> random_inputs(const Graph& graph, std::uint64_t seed, InputStyle style) {
  std::vector<reference::Tensor> inputs;
  std::mt19937_64 random(seed);
  for (const NodeId id : graph.inputs) {
    reference::Tensor tensor(graph.type({id, 0}));
    const DType dtype = tensor.type.dtype;
    for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
      const std::uint64_t draw = random();
      const bool is_special = draw % 101 == 0;
      const std::uint64_t which = draw / 101;
      if (is_float(dtype)) {
        reference::write_element(dtype, random_float(draw, style), tensor.element(i));
      } else if (dtype == DType::kBool) {
        reference::write_element(dtype, static_cast<std::int64_t>(draw % 2), tensor.element(i));
      } else {
        using reference::Int128;
        const auto lowest = reference::lowest_value<Int128>(dtype), highest = reference::highest_value<Int128>(dtype);
        const Int128 small = static_cast<Int128>(draw % 17) - (lowest < 0 ? 8 : 0);
        reference::write_element(dtype, is_special ? (which % 2 == 0 ? lowest : highest) : small, tensor.element(i));
      }
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace millrace::test
