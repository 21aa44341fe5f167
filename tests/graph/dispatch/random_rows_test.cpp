// SPDX-License-Identifier: Apache-2.0
// Random graphs around rows: reductions, values that are computed from their results in the same row or in another one,
// and outputs anywhere between.
#include <random>

#include <doctest/doctest.h>

#include "graph/dispatch/compose.h"
#include "tests/graph/dispatch/formed.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/kernels/kernel_round_trip.h"
#include "tests/support/random/check_random_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

constexpr std::uint64_t kNumRandomRows = 2000;

struct RandomRows {
  Graph graph;
  SymbolValues values;  // of its symbols
};

/// Grows a graph of two kinds of values: `points_` have one element per point of a shape, `rows_` one per row, which
/// runs along fixed axes. Draws in statements of their own: a compiler may evaluate arguments in any order.
class RowsGrower {
 public:
  explicit RowsGrower(std::uint64_t seed) : random_(seed) {}

  RandomRows run() {
    choose_shape();
    choose_rows();
    const std::uint64_t num_inputs = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < num_inputs; ++i) points_.push_back(new_input(shape_));
    const std::uint64_t num_nodes = 4 + random_.below(11);
    for (std::uint64_t i = 0; i < num_nodes; ++i) random_.chance(30) ? add_row() : add_point();
    add_outputs(num_inputs);
    return {builder_.finish().value(), std::move(values_)};
  }

 private:
  /// At most 2000 elements. Equal dims are frequent, so that transposes keep the shape.
  void choose_shape() {
    constexpr std::int64_t kExtents[] = {1, 2, 3, 5, 8, 17, 33, 130, 300, 1100};
    constexpr std::int64_t kMaxElements = 2000;
    std::int64_t num_elements = 1, extent = 1;
    const std::uint64_t rank = 1 + random_.below(4);
    std::vector<SizeExpr> dims;
    for (std::uint64_t d = 0; d < rank; ++d) {
      const bool is_equal = d > 0 && random_.chance(30) && num_elements * extent <= kMaxElements;
      if (!is_equal) {
        do extent = random_.one_of(kExtents);
        while (num_elements * extent > kMaxElements);
      }
      num_elements *= extent;
      const std::string name = "n" + std::to_string(d);
      const bool is_symbol = !is_equal && random_.chance(15);
      if (is_symbol) values_[name] = extent;
      dims.push_back(is_equal ? dims.back() : is_symbol ? SizeExpr(Dim(name).at_least(1)) : SizeExpr(extent));
    }
    shape_ = Shape(std::move(dims));
  }

  void choose_rows() {
    constexpr DType kDTypes[] = {DType::kF32, DType::kF32, DType::kF32,  DType::kF32, DType::kF32, DType::kF32,
                                 DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64, DType::kU8};
    dtype_ = random_.one_of(kDTypes);
    axes_ = any_axes();
    keep_dims_ = random_.chance(70);
    for (std::size_t d = 0; d < shape_.rank(); ++d) {
      const auto dim = static_cast<std::int64_t>(d);
      if (std::ranges::find(axes_, dim) == axes_.end()) kept_.push_back(dim);
    }
  }

  std::vector<std::int64_t> any_axes() {
    std::vector<std::int64_t> axes;
    for (std::size_t d = 0; d < shape_.rank(); ++d) {
      if (random_.chance(50)) axes.push_back(static_cast<std::int64_t>(d));
    }
    if (axes.empty()) axes.push_back(static_cast<std::int64_t>(shape_.rank()) - 1);
    return axes;
  }

  Tensor new_input(const Shape& shape) { return builder_.input("x" + std::to_string(num_inputs_++), dtype_, shape); }
  /// Often the last one, so that chains are long.
  Tensor any(const std::vector<Tensor>& values) { return random_.chance(40) ? values.back() : random_.one_of(values); }
  Tensor any_point() { return any(points_); }
  Tensor any_row() {
    if (rows_.empty()) rows_.push_back(reduced(any_point(), axes_, keep_dims_));
    return any(rows_);
  }

  /// Keeps floats finite: a product has one factor like this.
  Tensor limited(Tensor x) { return is_float(dtype_) ? max(min(x, 2.0), -2.0) : x; }

  Tensor changed(Tensor x) {
    switch (random_.below(is_float(dtype_) ? 9 : 4)) {
      case 0:
        return -x;
      case 1:
        return abs(x);
      case 2:
        return max(x, 1);
      case 3:
        return x + 3;
      case 4:
        return x * 0.5;
      case 5:
        return exp(min(x, 1.0));
      case 6:
        return sigmoid(x);
      case 7:
        return sqrt(abs(x));
      default:
        return tanh(x);
    }
  }

  Tensor combined(Tensor x, Tensor y) {
    switch (random_.below(7)) {
      case 0:
        return x + y;
      case 1:
        return max(x, y);
      case 2:
        return min(y, x);
      case 3:
        return x * limited(y);
      case 4:
        return x / (abs(y) + 1);
      default:
        return x - y;
    }
  }

  Tensor reduced(Tensor x, const std::vector<std::int64_t>& axes, bool keep_dims) {
    constexpr Tensor (*kReductions[])(Tensor, std::vector<std::int64_t>, bool) = {reduce_sum, reduce_max, reduce_min,
                                                                                  reduce_mean};
    return kReductions[random_.below(is_float(dtype_) ? 4 : 3)](x, axes, keep_dims);
  }

  /// The element of each row at each point of it; now and then through a reshape, which needs it in memory.
  Tensor spread(Tensor row) {
    const bool is_reshaped = random_.chance(10);
    if (keep_dims_ != is_reshaped) return broadcast_to(is_reshaped ? unsqueeze(row, axes_) : row, shape_);
    return broadcast(is_reshaped ? squeeze(row, axes_) : row, shape_, kept_);
  }

  /// The rows that are last along one dim.
  Tensor last_rows(Tensor row) {
    const Shape shape = row.shape();
    if (shape.rank() == 0) return row;
    const std::size_t d = random_.below(shape.rank());
    std::vector<SizeExpr> start(shape.rank(), 0);
    start[d] = shape[d] - 1;
    return slice(row, std::move(start), shape.dims());
  }

  /// The first or the last element of each row.
  Tensor end_of_rows(Tensor point) {
    const bool is_first = random_.chance(50);
    std::vector<SizeExpr> start(shape_.rank(), 0), stop = shape_.dims();
    for (const std::int64_t axis : axes_) {
      const auto d = static_cast<std::size_t>(axis);
      if (is_first) stop[d] = 1;
      if (!is_first) start[d] = stop[d] - 1;
    }
    const Tensor end = slice(point, std::move(start), std::move(stop));
    return keep_dims_ ? end : squeeze(end, axes_);
  }

  /// With two equal dims exchanged, if there are any.
  Tensor turned(Tensor point) {
    std::vector<std::int64_t> permutation;
    for (std::size_t d = 0; d < shape_.rank(); ++d) permutation.push_back(static_cast<std::int64_t>(d));
    for (std::size_t d = 1; d < shape_.rank(); ++d) {
      if (shape_[d - 1] != shape_[d]) continue;
      std::swap(permutation[d - 1], permutation[d]);
      return transpose(point, std::move(permutation));
    }
    return -point;
  }

  /// Softmax along any axis, a norm of the last one; of integers, another reduction.
  Tensor composed(Tensor point) {
    const auto axis = static_cast<std::int64_t>(random_.below(shape_.rank()));
    const std::uint64_t which = random_.below(5);
    if (!is_float(dtype_)) return across(point);
    if (which == 0) return log_softmax(point, axis);
    if (which == 1 || which == 2) return softmax(point, axis);
    const Tensor scale = new_input({shape_.dims().back()});
    return which == 3 ? rms_norm(point, scale) : layer_norm(point, scale, new_input({shape_.dims().back()}));
  }

  /// Reads a reduction over other axes, or the same ones by chance.
  Tensor across(Tensor point) {
    const Tensor result = reduced(point, any_axes(), true);
    return combined(point, broadcast_to(result, shape_));
  }

  void add_row() {
    const std::uint64_t which = random_.below(8);
    const Tensor row = any_row(), point = any_point();
    if (which == 0) {
      rows_.push_back(changed(row));
    } else if (which == 1) {
      rows_.push_back(combined(row, any_row()));
    } else if (which == 2) {
      rows_.push_back(end_of_rows(point));
    } else {
      rows_.push_back(reduced(which < 5 ? point * limited(point) : point, axes_, keep_dims_));
    }
  }

  void add_point() {
    const std::uint64_t which = random_.below(16);
    const Tensor point = any_point();
    if (which < 3) {
      points_.push_back(changed(point));
    } else if (which < 5) {
      points_.push_back(combined(point, any_point()));
    } else if (which < 10) {
      points_.push_back(combined(point, spread(any_row())));
    } else if (which < 12) {
      points_.push_back(composed(point));
    } else if (which == 12) {
      points_.push_back(turned(point));
    } else if (which == 13) {
      points_.push_back(combined(point, spread(last_rows(any_row()))));
    } else if (which == 14) {
      points_.push_back(across(point));
    } else if (random_.chance(30)) {
      points_.push_back(sort(point, static_cast<std::int64_t>(random_.below(shape_.rank()))).values);
    } else {
      points_.push_back(spread(any_row()));
    }
  }

  /// The last value, and some of the others.
  void add_outputs(std::uint64_t num_inputs) {
    std::vector<Tensor> values = rows_;
    values.insert(values.end(), points_.begin() + static_cast<std::ptrdiff_t>(num_inputs), points_.end());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i + 1 == values.size() || random_.chance(20)) builder_.output("y" + std::to_string(i), values[i]);
    }
    if (!random_.chance(10) || shape_[0].lower_bound() < 2) return;
    std::vector<SizeExpr> start(shape_.rank(), 0);
    start[0] = 1;
    builder_.output("part", slice(points_.back(), std::move(start), shape_.dims()));
  }

  test::RandomChoice random_;
  GraphBuilder builder_;
  DType dtype_ = DType::kF32;
  Shape shape_;
  SymbolValues values_;
  std::vector<std::int64_t> axes_, kept_;  // the dims that are reduced, and the others
  bool keep_dims_ = false;
  int num_inputs_ = 0;
  std::vector<Tensor> points_, rows_;
};

RandomRows random_rows(std::uint64_t seed) { return RowsGrower(seed).run(); }

TEST_CASE("random rows form regions in an order, with valid kernels; many have several passes") {
  std::size_t num_rows = 0, num_long = 0;
  for (std::uint64_t seed = 1; seed <= kNumRandomRows; ++seed) {
    Graph graph = random_rows(seed).graph;
    REQUIRE(run_passes(graph, kGraphPasses).ok());
    CAPTURE(seed);
    CAPTURE(to_text(graph));
    const Result<DispatchGraph> dispatch = form_dispatches(graph);
    REQUIRE(dispatch.status().message() == "");
    for (const Region& region : dispatch->regions) {
      const Result<std::vector<ComposedRequest>> composed = compose_region(*dispatch, region);
      REQUIRE(composed.status().message() == "");
      for (const ComposedRequest& each : *composed) {
        const auto* kernel = std::get_if<LoopKernel>(&each.request);
        if (kernel == nullptr) continue;
        REQUIRE(verify(*kernel).message() == "");
        if (classify(*kernel) != LoopKind::kRows) continue;
        REQUIRE(test::round_trip_problem(*kernel) == "");
        ++num_rows;
        num_long += kernel->terms.size() > 2 ? 1 : 0;
      }
    }
  }
  CHECK(num_rows > kNumRandomRows / 2);
  CHECK(num_long > kNumRandomRows / 10);
}

TEST_CASE("random rows equal the oracle, each on a level or a GPU, a slice at a time" * test::Sliced()) {
  std::vector<CompileOptions> ways = test::every_way_to_compile();
  for (const CompileOptions& way : test::every_way_to_compile()) ways.push_back(way);  // executing GPU code is slow
  for (const char* device : {"sim:gfx1100", "sim:gfx90a", "isa:gfx1100", "isa:gfx90a"}) {
    ways.push_back({.device = device, .context = test::isa_context()});
  }
  const test::Slice slice = test::tested_slice_of_long_cases();
  test::ElementTally tally;
  for (std::uint64_t seed = 1; seed <= kNumRandomRows; ++seed) {
    if (!slice.has(seed)) continue;
    CAPTURE(seed);
    const RandomRows rows = random_rows(seed);
    const CompileOptions& way = ways[std::mt19937_64(seed)() % ways.size()];
    const std::string wrong = test::report_mistake(
        rows.graph, [&](const Graph& graph) { return test::check_graph(graph, rows.values, way, seed, &tally); });
    CHECK_MESSAGE(wrong.empty(), test::to_text(way), ": ", wrong);
  }
  CHECK(tally.open < tally.known + tally.bounded);
}

}  // namespace
}  // namespace millrace
