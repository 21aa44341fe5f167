// SPDX-License-Identifier: Apache-2.0
// Greedy non-maximum suppression, as a loop that keeps the best remaining box.
#include <limits>

#include "graph/composites/composite.h"
#include "graph/composites/true_places.h"

namespace millrace {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

/// The rows of a tensor that holds each box's corners and area: x low, y low, x high, y high, area.
enum Row : std::int64_t { kXLow, kYLow, kXHigh, kYHigh, kArea, kNumRows };

/// [5, n] from boxes[n, 4], where any two opposite corners give a box.
Tensor rows_of(Tensor boxes) {
  const SizeExpr n = boxes.shape()[0];
  const auto column = [&](std::int64_t i) { return reshape(slice(boxes, {0, i}, {n, i + 1}), {n}); };
  const Tensor x0 = column(0), y0 = column(1), x1 = column(2), y1 = column(3);
  const Tensor x_low = min(x0, x1), y_low = min(y0, y1), x_high = max(x0, x1), y_high = max(y0, y1);
  return stack({x_low, y_low, x_high, y_high, (x_high - x_low) * (y_high - y_low)}, 0);
}

/// [n]: the overlap of each box with box `i`: the shared area divided by the area of the union; NaN if neither box has
/// an area.
Tensor overlap_with(Tensor rows, Tensor i) {
  const SizeExpr n = rows.shape()[1];
  const Tensor own_rows = gather(rows, i, 1);
  const auto all = [&](Row row) { return reshape(slice(rows, {row, 0}, {row + 1, n}), {n}); };
  const auto own = [&](Row row) { return slice(own_rows, {row}, {row + 1}); };
  const Tensor width = min(all(kXHigh), own(kXHigh)) - max(all(kXLow), own(kXLow));
  const Tensor height = min(all(kYHigh), own(kYHigh)) - max(all(kYLow), own(kYLow));
  const Tensor shared = max(width, 0) * max(height, 0);
  return shared / (all(kArea) + own(kArea) - shared);
}

std::string problem_of(Tensor boxes, Tensor scores) {
  const Shape &among = boxes.shape(), &rated = scores.shape();
  const bool fits = among.rank() == 2 && among[1].is(4) && rated.rank() == 1 && rated[0] == among[0] &&
                    boxes.dtype() == scores.dtype() && is_float(boxes.dtype());
  if (fits) return "";
  return fmt::format(
      "operands are {} and {}, expected boxes[n, 4] and scores[n] of one float dtype; "
      "reshape or cast one",
      boxes.type().to_text(), scores.type().to_text());
}

}  // namespace

IndicesAndCount non_max_suppression(Tensor boxes, Tensor scores, SizeExpr bound, double max_overlap, double min_score) {
  return build_composite({boxes, scores}, [&](Composite& composite) -> IndicesAndCount {
    GraphBuilder& graph = *boxes.builder();
    const std::string problem = problem_of(boxes, scores);
    if (!problem.empty()) return {composite.refuse(problem), {}};
    if (!check_bound(composite, bound)) return {};
    if (!composite.passes(expect_within_limits({DType::kI64, {bound}}))) return {};
    const DType dtype = boxes.dtype();
    // A box has the lowest score if it cannot be chosen, can no longer be chosen, or its score is NaN.
    Tensor rows = rows_of(widen(boxes, dtype)), rated = widen(scores, dtype);
    if (rated.is_valid() && rated.shape()[0].lower_bound() < 1) {  // one more box, so that argmax has an element
      rows = pad(rows, {0, 0}, {0, 1});
      rated = pad(rated, {0}, {1}, kLowest);
    }
    if (!rows.is_valid() || !rated.is_valid()) return {};
    const auto lowest = [&] { return graph.fill(rated.dtype(), rated.shape(), kLowest); };
    const auto best_of = [](Tensor left) { return std::pair(argmax(left, 0), reduce_max(left, {0})); };
    const Tensor start = select(greater(rated, min_score), rated, lowest());
    const auto [first, first_score] = best_of(start);
    const std::vector<Tensor> last = graph.while_loop(
        {start, first, first_score, graph.fill(DType::kI64, {bound}, -1), graph.fill(DType::kI64, {}, 0)},
        [&](std::span<const Tensor> state) {
          return logical_and(greater(state[2], kLowest), less(state[4], size_of(graph, bound)));
        },
        [&](std::span<const Tensor> state) {
          const Tensor i = state[1];
          const Tensor is_itself = equal(iota(graph, DType::kI64, rated.shape(), 0), i);
          const Tensor is_gone = logical_or(greater(overlap_with(rows, i), max_overlap), is_itself);
          const Tensor left = select(is_gone, lowest(), state[0]);
          const auto [next, score] = best_of(left);
          const Tensor chosen = scatter(state[3], reshape(state[4], {1}), reshape(i, {1}), 0);
          return std::vector{left, next, score, chosen, state[4] + 1};
        });
    return last.empty() ? IndicesAndCount() : IndicesAndCount{last[3], last[4]};
  });
}

IndicesAndCount non_max_suppression(Tensor boxes, Tensor scores) {
  return build_composite({boxes, scores}, [&](Composite&) {
    return non_max_suppression(boxes, scores, scores.shape().rank() == 0 ? SizeExpr(1) : scores.shape()[0]);
  });
}

}  // namespace millrace
