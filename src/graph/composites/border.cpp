// SPDX-License-Identifier: Apache-2.0
// Padding by elements of the tensor itself: each padded axis is gathered from indices that turn back at its ends.
#include "graph/composites/composite.h"
#include "graph/composites/index.h"

namespace millrace {
namespace {

/// The element that each position of a padded axis shows, below 0 where it can show none.
using TurnIndex = Tensor (*)(Tensor position, Tensor last);

Tensor clamp_index(Tensor position, Tensor last) { return max(min(position, last), 0); }
Tensor mirror_index(Tensor position, Tensor last) {
  Tensor mirrored = last - abs(last - abs(position));
  // Twice mirrored, before the first element.
  Tensor is_too_low = less(position, -last);
  return select(is_too_low, position, mirrored);
}

Tensor pad_border(const char* name, Tensor x, const std::vector<SizeExpr>& low, const std::vector<SizeExpr>& high,
                  TurnIndex turn) try {
  if (!x.is_valid()) return {};
  GraphBuilder& graph = *x.builder();
  const std::size_t rank = x.shape().rank();
  if (low.size() != rank || high.size() != rank) {
    return refuse(graph, name,
                  fmt::format("{} low and {} high counts for {}, expected one per dim; correct them", low.size(),
                              high.size(), x.type().to_text()));
  }
  for (std::size_t d = 0; d < rank && x.is_valid(); ++d) {
    if (low[d].is(0) && high[d].is(0)) continue;
    const SizeExpr extent = x.shape()[d];
    if (low[d].upper_bound() < 0 || high[d].upper_bound() < 0) {
      return refuse(graph, name,
                    fmt::format("dim {} of {} is padded by {} and {}, expected 0 or more; slice it instead", d,
                                x.type().to_text(), low[d].to_text(), high[d].to_text()));
    }
    const bool is_too_short = extent.upper_bound() <= max(low[d], high[d]).lower_bound();
    if (turn == mirror_index && is_too_short) {
      return refuse(
          graph, name,
          fmt::format("dim {} of {} is padded by {} and {}, expected less than its extent on each side; pad in "
                      "steps",
                      d, x.type().to_text(), low[d].to_text(), high[d].to_text()));
    }
    Tensor position = iota(graph, DType::kI64, {low[d] + extent + high[d]}, 0);
    position -= size_of(graph, low[d]);
    Tensor index = turn(position, size_of(graph, extent) - 1);
    // Beyond what the axis can show; gather would wrap it.
    index = or_outside(greater_equal(index, 0), index, extent);
    x = gather(x, index, static_cast<std::int64_t>(d));
  }
  return x;
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), name);
}

}  // namespace

Tensor pad_reflect(Tensor x, std::vector<SizeExpr> low, std::vector<SizeExpr> high) {
  return pad_border("pad_reflect", x, low, high, mirror_index);
}
Tensor pad_edge(Tensor x, std::vector<SizeExpr> low, std::vector<SizeExpr> high) {
  return pad_border("pad_edge", x, low, high, clamp_index);
}

}  // namespace millrace
