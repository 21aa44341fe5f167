// SPDX-License-Identifier: Apache-2.0
// Grows a graph node by node: an op, operands that are brought to what it takes, attributes that may be right. What the
// op's own type rule refuses, or what no binding of the symbols allows, is not added.
#include "tests/support/random_graph.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "millrace/graph/passes.h"
#include "millrace/millrace.h"
#include "millrace/ops/op_def.h"

namespace millrace::test {
namespace {

constexpr std::int64_t kMostElements = 3000;

class Grower {
 public:
  explicit Grower(std::uint64_t seed) : random_(seed), builder_("random") {}

  RandomGraph run() {
    make_symbols();
    for (std::uint64_t i = 0, count = 1 + below(3); i < count; ++i) {
      values_.push_back(new_input(any_dtype(), any_shape()));
    }
    const std::size_t wanted = 1 + below(12);
    for (std::size_t added = 0, tried = 0; added < wanted && tried < 200; ++tried) added += add_node() ? 1 : 0;
    add_outputs();
    Graph graph = builder_.finish().value();
    if (chance(70)) MILLRACE_CHECK(eliminate_dead_nodes(graph).ok());  // what was tried in vain
    return {std::move(graph), bindings_};
  }

 private:
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class Range>
  const auto& one_of(const Range& range) {
    return std::begin(range)[below(std::size(range))];
  }

  /// Up to two symbols with facts, and three bindings that keep them.
  void make_symbols() {
    // Bounded: one that is left in no input's extents is bound by name.
    const Dim dims[] = {Dim("n").at_most(64), Dim("m").at_least(1).at_most(64), Dim("rows").at_most(40).multiple_of(4),
                        Dim("k").at_most(6)};
    bindings_.resize(3);
    for (std::uint64_t i = 0, count = below(3); i < count; ++i) {
      const Dim& dim = dims[below(4)];
      symbols_.push_back(dim);
      for (SymbolValues& values : bindings_) {
        std::int64_t value = 0;
        do value = static_cast<std::int64_t>(below(9) == 0 ? below(37) : below(9));
        while (!dim.allows(value));
        values[dim.name()] = value;
      }
    }
    if (symbols_.empty()) bindings_.resize(1);
  }

  DType any_dtype() { return chance(50) ? DType::kF32 : one_of(kAllDTypes); }
  SizeExpr any_extent() {
    if (!symbols_.empty() && chance(40)) {
      const SizeExpr symbol = one_of(symbols_);
      return chance(80) ? symbol : chance(50) ? symbol + 1 : symbol * 2;
    }
    constexpr std::int64_t kExtents[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33};
    return one_of(kExtents);
  }
  Shape any_shape() {
    std::vector<SizeExpr> dims;
    for (std::uint64_t i = 0, rank = below(4); i < rank; ++i) dims.push_back(any_extent());
    return is_small(Shape(dims)) ? Shape(std::move(dims)) : Shape({4, 5});
  }

  /// The size under every binding; nothing when one cannot be counted.
  std::optional<std::vector<std::int64_t>> sizes(const SizeExpr& size) {
    std::vector<std::int64_t> found;
    for (const SymbolValues& values : bindings_) {
      const Result<std::int64_t> value = size.evaluate(values);
      if (!value.ok()) return std::nullopt;
      found.push_back(*value);
    }
    return found;
  }
  bool is_small(const Shape& shape) {
    for (const SizeExpr& dim : shape.dims()) {
      const auto extents = sizes(dim);
      if (!extents || std::ranges::any_of(*extents, [](std::int64_t extent) { return extent < 0; })) return false;
    }
    const auto counts = sizes(shape.num_elements());
    return counts && std::ranges::all_of(*counts, [](std::int64_t count) { return count <= kMostElements; });
  }

  /// An input, or a constant of the type.
  Tensor new_input(DType dtype, Shape shape) {
    if (shape.is_static() && chance(25)) {
      const TensorType type{dtype, shape};
      Graph one;
      one.inputs.push_back(one.nodes.push_back({InputNode{"x"}, {}, {type}}));
      return builder_.constant_bytes(type, random_inputs(one, random_())[0].bytes);
    }
    return builder_.input("x" + std::to_string(builder_.graph().inputs.size()), dtype, std::move(shape));
  }
  SizeExpr from_1_to(std::uint64_t most) { return 1 + static_cast<std::int64_t>(below(most)); }

  Tensor any_value() { return one_of(values_); }

  /// `value` as `type` by a cast, or something new of that type.
  Tensor as_type(Tensor value, const TensorType& type) {
    if (value.type() == type) return value;
    if (value.shape() == type.shape) return cast(value, type.dtype);
    for (int i = 0; i < 4; ++i) {
      const Tensor other = any_value();
      if (other.shape() == type.shape) return other.dtype() == type.dtype ? other : cast(other, type.dtype);
    }
    return builder_.fill(type.dtype, type.shape, static_cast<double>(below(7)) - 3);
  }

  std::int64_t any_axis(std::size_t rank) {
    const auto signed_rank = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
    return static_cast<std::int64_t>(below(2 * static_cast<std::uint64_t>(signed_rank))) - signed_rank;
  }

  // Attributes that may be right for operands of these types; one overload for each kind that needs thought.
  void choose(auto&, std::span<const Tensor>) {}
  void choose(CastAttrs& a, std::span<const Tensor>) { a.dtype = any_dtype(); }
  void choose(ReduceAttrs& a, std::span<const Tensor> x) {
    for (std::size_t d = 0; d < x[0].shape().rank(); ++d) {
      if (chance(50)) a.axes.push_back(static_cast<std::int64_t>(d));
    }
    a.keep_dims = chance(50);
  }
  void choose(ArgAttrs& a, std::span<const Tensor> x) { a = {any_axis(x[0].shape().rank()), chance(50)}; }
  void choose(Pool2dAttrs& a, std::span<const Tensor>) {
    for (std::int64_t& window : a.window) window = 1 + static_cast<std::int64_t>(below(3));
    for (std::int64_t& stride : a.strides) stride = 1 + static_cast<std::int64_t>(below(3));
    for (std::size_t i = 0; i < 4; ++i) a.padding[i] = static_cast<std::int64_t>(below(2));
    a.count_include_pad = chance(50);
  }
  void choose(Conv2dAttrs& a, std::span<const Tensor>) {
    for (std::int64_t& stride : a.strides) stride = 1 + static_cast<std::int64_t>(below(3));
    for (std::int64_t& padding : a.padding) padding = static_cast<std::int64_t>(below(3));
    for (std::int64_t& dilation : a.dilations) dilation = 1 + static_cast<std::int64_t>(below(2));
  }
  void choose(ScanAttrs& a, std::span<const Tensor> x) { a = {any_axis(x[0].shape().rank()), chance(50), chance(50)}; }
  void choose(SizeAttrs& a, std::span<const Tensor>) { a.size = any_extent() * any_extent(); }
  void choose(ShapeAttrs& a, std::span<const Tensor> x) {
    const Shape& shape = x[0].shape();
    a.shape = {shape.num_elements()};
    if (shape.rank() >= 2 && chance(60)) {
      a.shape = shape.dims();
      const std::size_t d = below(shape.rank() - 1);
      a.shape[d] = a.shape[d] * a.shape[d + 1];
      a.shape.erase(a.shape.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    }
    if (chance(30)) a.shape.insert(a.shape.begin() + static_cast<std::ptrdiff_t>(below(a.shape.size() + 1)), 1);
  }
  void choose(PermutationAttrs& a, std::span<const Tensor> x) {
    for (std::size_t d = 0; d < x[0].shape().rank(); ++d) a.permutation.push_back(static_cast<std::int64_t>(d));
    std::ranges::shuffle(a.permutation, random_);
  }
  void choose(BroadcastAttrs& a, std::span<const Tensor> x) {
    for (const SizeExpr& dim : x[0].shape().dims()) {
      if (chance(30)) a.shape.push_back(any_extent());
      a.dims.push_back(static_cast<std::int64_t>(a.shape.size()));
      a.shape.push_back(dim.is(1) ? any_extent() : dim);
    }
    if (a.shape.empty() || chance(20)) a.shape.push_back(any_extent());
  }
  void choose(SliceAttrs& a, std::span<const Tensor> x) {
    for (const SizeExpr& dim : x[0].shape().dims()) {
      a.start.push_back(static_cast<std::int64_t>(below(3)));
      a.stop.push_back(chance(70) ? dim : dim - 1);
      a.step.push_back(1 + static_cast<std::int64_t>(below(3)));
    }
  }
  void choose(PadAttrs& a, std::span<const Tensor> x) {
    for (std::size_t d = 0; d < x[0].shape().rank(); ++d) {
      a.low.push_back(static_cast<std::int64_t>(below(3)));
      a.high.push_back(chance(20) ? any_extent() : SizeExpr(static_cast<std::int64_t>(below(3))));
    }
    a.value = static_cast<double>(below(9)) / 2 - 2;
  }
  void choose(AxisAttrs& a, std::span<const Tensor> x) { a.axis = any_axis(x[0].shape().rank()); }
  void choose(GatherAttrs& a, std::span<const Tensor> x) { a.axis = any_axis(x[0].shape().rank()); }
  void choose(IotaAttrs& a, std::span<const Tensor>) {
    const Shape shape = any_shape();
    a = {shape.dims(), any_dtype(), any_axis(shape.rank())};
  }
  void choose(SortAttrs& a, std::span<const Tensor> x) { a = {any_axis(x[0].shape().rank()), chance(50)}; }
  void choose(TopKAttrs& a, std::span<const Tensor> x) {
    a = {any_extent(), any_axis(x[0].shape().rank()), chance(50), true};
  }
  void choose(DotAttrs& a, std::span<const Tensor> x) {
    const auto rank = static_cast<std::int64_t>(std::min(x[0].shape().rank(), x[1].shape().rank()));
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(x[0].shape().rank()); ++i) {
      for (std::int64_t j = 0; j < static_cast<std::int64_t>(x[1].shape().rank()); ++j) {
        const bool is_taken = std::ranges::count(a.x_contract, i) + std::ranges::count(a.x_batch, i) +
                                  std::ranges::count(a.y_contract, j) + std::ranges::count(a.y_batch, j) >
                              0;
        if (is_taken || !(x[0].shape()[static_cast<std::size_t>(i)] == x[1].shape()[static_cast<std::size_t>(j)])) {
          continue;
        }
        if (chance(60)) {
          a.x_contract.push_back(i);
          a.y_contract.push_back(j);
        } else if (chance(30) && rank > 1) {
          a.x_batch.push_back(i);
          a.y_batch.push_back(j);
        }
      }
    }
  }

  /// Sums of numbers that are small have a bound; infinities would not.
  Tensor bounded(Tensor x) {
    if (!is_float(x.dtype())) return x;
    if (size_bytes(x.dtype()) < 4) return cast(bounded(cast(x, DType::kF32)), x.dtype());
    const Tensor limit = builder_.fill(x.dtype(), x.shape(), 2), lower = builder_.fill(x.dtype(), x.shape(), -2);
    const Tensor one = builder_.fill(x.dtype(), x.shape(), 1);
    const Tensor number = select(equal(x, x), x, one);
    return select(less(number, limit), select(greater(number, lower), number, lower), limit);
  }

  static bool is_scatter(Op op) {
    return op == Op::scatter || op == Op::scatter_add || op == Op::scatter_min || op == Op::scatter_max;
  }

  std::vector<Tensor> choose_operands(Op op) {
    const int count = info(op).num_operands;
    std::vector<Tensor> operands;
    for (std::uint64_t i = 0, n = count < 0 ? 1 + below(3) : static_cast<std::uint64_t>(count); i < n; ++i) {
      operands.push_back(any_value());
    }
    if (operands.empty()) return operands;
    if (op == Op::select) {
      operands[2] = as_type(operands[2], operands[1].type());
      operands[0] = as_type(operands[0], {DType::kBool, operands[1].shape()});
    } else if (has_trait(op, kElementwise)) {
      for (Tensor& operand : operands) operand = as_type(operand, operands[0].type());
    } else if (op == Op::conv2d || op == Op::max_pool2d || op == Op::avg_pool2d) {
      const SizeExpr channels = from_1_to(3), batch = chance(50) ? any_extent() : 1;
      operands[0] = new_input(chance(80) ? DType::kF32 : any_dtype(), {batch, channels, from_1_to(9), from_1_to(9)});
      if (op == Op::conv2d) {
        operands[1] = new_input(operands[0].dtype(), {from_1_to(5), channels, from_1_to(3), from_1_to(3)});
      }
    } else if (op == Op::reduce_any || op == Op::reduce_all) {
      operands[0] = cast(operands[0], DType::kBool);
    } else if (op == Op::dot_i32) {
      for (Tensor& operand : operands) operand = cast(operand, chance(50) ? DType::kI8 : DType::kU8);
      return operands;
    } else if (op == Op::gather || is_scatter(op)) {
      operands[1] = builder_.fill(chance(50) ? DType::kI32 : DType::kI64, any_shape(), 0);
    } else if (has_trait(op, kContraction)) {
      operands[1] = as_type(operands[1], {operands[0].dtype(), operands[1].shape()});
    }
    if (has_trait(op, kContraction) || has_trait(op, kReduction)) {
      for (Tensor& operand : operands) operand = bounded(operand);
    }
    return operands;
  }

  /// Whether the type rule takes it, sizes stay small, and every binding gives what a run will check.
  bool fits(Op op, std::span<const Tensor> operands, const Attributes& attributes) {
    std::vector<TensorType> types;
    for (const Tensor& operand : operands) types.push_back(operand.type());
    const Result<Inference> inferred = infer_types(op, types, attributes);
    if (!inferred.ok()) return false;
    for (const TensorType& type : inferred->results) {
      if (!is_small(type.shape)) return false;
    }
    for (const SizeRequirement& needed : inferred->requirements) {
      const auto room = sizes(needed.large - needed.small);
      if (!room || std::ranges::any_of(*room, [](std::int64_t left) { return left < 0; })) return false;
    }
    return true;
  }

  /// Indices that every binding of `x` has along the axis, some counted from its end; nothing when one has none.
  std::optional<Tensor> some_indices(const Tensor& like, const Tensor& x, std::int64_t axis) {
    const auto rank = static_cast<std::int64_t>(x.shape().rank());
    if (axis < -rank || axis >= rank) return std::nullopt;
    const auto extents = sizes(x.shape()[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
    const std::int64_t least = extents ? std::ranges::min(*extents) : 0;
    if (least == 0) return std::nullopt;
    Tensor indices = like;
    if (like.shape().rank() > 0) {
      const auto along = static_cast<std::int64_t>(below(like.shape().rank()));
      const Tensor count = iota(builder_, like.dtype(), like.shape(), along) + static_cast<double>(below(7));
      indices = builder_.op1(Op::rem, {count, builder_.fill(like.dtype(), like.shape(), static_cast<double>(least))});
    }
    return chance(50) ? indices - static_cast<double>(least) : indices;
  }

  bool add_node() {
    const Op op = one_of(kAllOps);
    std::vector<Tensor> operands = choose_operands(op);
    Attributes attributes = default_attributes(op);
    std::visit([&](auto& chosen) { choose(chosen, operands); }, attributes);
    if (op == Op::gather || is_scatter(op)) {
      const std::optional<Tensor> indices =
          some_indices(operands[1], operands[0], std::get<GatherAttrs>(attributes).axis);
      if (!indices) return false;
      operands[1] = *indices;
    }
    if (is_scatter(op)) {
      const auto updates = infer_types(Op::gather, std::array{operands[0].type(), operands[1].type()}, attributes);
      if (!updates.ok() || !is_small(updates->results[0].shape)) return false;
      operands[2] = as_type(operands[2], updates->results[0]);
    }
    if (!fits(op, operands, attributes)) return false;
    for (const Tensor& result : builder_.op(op, operands, attributes)) values_.push_back(result);
    return true;
  }

  void add_outputs() {
    builder_.output("last", values_.back());
    for (std::uint64_t i = 0, count = below(3); i < count; ++i) builder_.output("y" + std::to_string(i), any_value());
  }

  std::mt19937_64 random_;
  GraphBuilder builder_;
  std::vector<Dim> symbols_;
  std::vector<SymbolValues> bindings_;
  std::vector<Tensor> values_;
};

}  // namespace

RandomGraph make_random_graph(std::uint64_t seed) { return Grower(seed).run(); }

std::vector<reference::Tensor> random_inputs(const Graph& graph, std::uint64_t seed) {
  std::vector<reference::Tensor> inputs;
  std::mt19937_64 random(seed);
  for (const NodeId id : graph.inputs) {
    reference::Tensor tensor(graph.type({id, 0}));
    const DType dtype = tensor.type.dtype;
    for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
      const std::uint64_t draw = random();
      const double small = static_cast<double>(draw % 65) / 8 - 4;  // ties are frequent
      if (!is_float(dtype)) {
        const bool is_signed = reference::lowest_value<reference::Int128>(dtype) < 0;
        const auto number = static_cast<std::int64_t>(dtype == DType::kBool ? draw % 2 : draw % 17);
        reference::write_element(dtype, is_signed ? number - 8 : number, tensor.element(i));
      } else {
        constexpr double kSpecial[] = {-0.0, INFINITY, -INFINITY, NAN, 1e30, 1e-30};
        reference::write_element(dtype, draw % 101 == 0 ? kSpecial[draw / 101 % 6] : small, tensor.element(i));
      }
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace millrace::test
