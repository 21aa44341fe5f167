// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/random_tree.h"

#include <random>

#include "millrace/millrace.h"

namespace millrace::test {
namespace {

class RandomTree {
 public:
  explicit RandomTree(std::uint64_t seed) : random_(seed), graph_("tree") {}

  Graph make() {
    std::vector<SizeExpr> dims;
    for (std::int64_t rank = pick(1, 4); rank > 0; --rank) dims.emplace_back(pick(1, 5));
    Shape shape(std::move(dims));
    constexpr DType kDTypes[] = {DType::kF32, DType::kF32, DType::kF32, DType::kF64, DType::kBF16, DType::kF16};
    dtype_ = kDTypes[pick(0, 5)];
    for (std::int64_t count = pick(0, 2); count > 0; --count) shape[at(pick(0, last(shape)))] = symbolic();
    Tensor root = tree(shape, pick(1, 3));
    if (pick(0, 1) == 0) root = root * 0.5;
    graph_.output("y", root);
    if (pick(0, 3) == 0) graph_.output("sum", reduce_max(root, {0}));
    return graph_.finish().value();
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  SizeExpr symbolic() {
    const SizeExpr n = n_;
    const SizeExpr sizes[] = {n, n * 2, n + 3, SizeExpr(9) - n, SizeExpr(17) - n * 2};
    return sizes[pick(0, 4)];
  }
  static std::size_t at(std::int64_t dim) { return static_cast<std::size_t>(dim); }
  static std::int64_t last(const Shape& shape) { return static_cast<std::int64_t>(shape.rank()) - 1; }

  /// A value of about this shape: some extents grow.
  Tensor tree(const Shape& shape, std::int64_t depth) {
    if (depth == 0) return producer(shape);
    const std::int64_t axis = pick(0, last(shape));
    const std::int64_t kind = pick(0, 3);
    if (kind == 0) {
      const Tensor inner = tree(shape, depth - 1);
      const std::size_t rank = inner.type().shape.rank();
      std::vector<SizeExpr> low(rank, 0), high(rank, 0);
      low[at(axis)] = pick(0, 2);
      high[at(axis)] = pick(0, 5) == 0 ? symbolic() : SizeExpr(pick(0, 2));
      const SizeExpr& extent = inner.type().shape[at(axis)];
      if (pick(0, 5) == 0) high[at(axis)] = ceil_div(extent, 8) * 8 - extent;
      for (std::int64_t more = pick(0, 2); more > 0; --more)
        (pick(0, 1) == 0 ? low : high)[at(pick(0, last(shape)))] = 1;
      return pad(inner, low, high, pick(-3, 3));
    }
    std::vector<Tensor> parts;
    const bool is_stack = kind == 1 && shape.rank() < 4;
    const std::int64_t count = pick(2, 4);
    Shape part = shape;
    for (std::int64_t i = 0; i < count; ++i) {
      if (!is_stack && shape[at(axis)].is_constant()) part[at(axis)] = pick(1, 20);
      parts.push_back(is_stack || pick(0, 1) == 0 ? producer(part) : inner_of(part, axis, depth - 1));
    }
    return is_stack ? stack(parts, axis) : concat(parts, axis);
  }

  /// A tree whose value has this shape in all dims but the axis.
  Tensor inner_of(const Shape& shape, std::int64_t axis, std::int64_t depth) {
    if (depth == 0) return producer(shape);
    std::vector<Tensor> parts;
    for (std::int64_t count = pick(1, 3); count > 0; --count) parts.push_back(producer(shape));
    return concat(parts, axis);
  }

  Tensor producer(const Shape& shape) {
    const std::string name = "x" + std::to_string(num_inputs_++);
    const auto rank = static_cast<std::int64_t>(shape.rank());
    switch (pick(0, 9)) {
      case 0:
        return graph_.input(name, dtype_, shape);
      case 1: {
        std::vector<std::int64_t> permutation;
        for (std::int64_t d = rank; d-- > 0;) permutation.push_back(d);
        return transpose(graph_.input(name, dtype_, Shape(std::vector(shape.dims().rbegin(), shape.dims().rend()))),
                         permutation);
      }
      case 2:
        return cumulative_sum(graph_.input(name, dtype_, shape));
      case 3: {
        Shape longer = shape;
        longer[at(rank - 1)] = 3;
        const Tensor sum = reduce_sum(graph_.input(name, dtype_, longer), {rank - 1}, true);
        return shape[at(rank - 1)].is(1) ? sum : broadcast_to(sum, shape) * 2.0;
      }
      case 4: {
        Shape left = shape;
        left[at(rank - 1)] = 3;
        const Tensor x = graph_.input(name, dtype_, left);
        const Tensor w = graph_.input(name + "w", dtype_, {3, shape[at(rank - 1)]});
        return rank == 1 ? reshape(matmul(reshape(x, {1, 3}), w), shape) : matmul(x, w);
      }
      case 5: {
        std::vector<SizeExpr> outer = shape.dims();
        outer.emplace_back(2);
        return reduce_max(graph_.input(name, dtype_, Shape(std::move(outer))), {rank});
      }
      case 6: {
        const Tensor x = graph_.input(name, dtype_, shape);
        const Tensor y = relu(x);
        if (pick(0, 1) == 0) graph_.output(name + "y", pick(0, 1) == 0 ? y : y + 1.0);
        return y;
      }
      case 7:
        return reshape(graph_.input(name, dtype_, {shape.num_elements()}) * 3.0, shape);
      default:
        return graph_.input(name, dtype_, shape) * 2.0 + 1.0;
    }
  }

  std::mt19937_64 random_;
  GraphBuilder graph_;
  int num_inputs_ = 0;
  DType dtype_ = DType::kF32;
  const Dim n_ = Dim("n").at_least(pick(0, 4) == 0 ? 0 : 1).at_most(8);
};

}  // namespace

Graph make_random_tree(std::uint64_t seed) { return RandomTree(seed).make(); }

}  // namespace millrace::test
