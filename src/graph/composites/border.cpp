// SPDX-License-Identifier: Apache-2.0
// Pads with the operand's own elements, mirrored or repeated, by gathering along each padded axis.
#include "graph/composites/composite.h"
#include "graph/composites/index.h"

namespace millrace {
namespace {

/// Maps each position of a padded axis to the index of the element to copy there; below 0 if there is none.
using IndexMap = Tensor (*)(Tensor position, Tensor last);

Tensor clamp_index(Tensor position, Tensor last) { return max(min(position, last), 0); }
Tensor mirror_index(Tensor position, Tensor last) {
  Tensor mirrored = last - abs(last - abs(position));
  // A position below -last needs a second reflection. Return the position itself: it is below 0, which means "no
  // element".
  Tensor is_too_low = less(position, -last);
  return select(is_too_low, position, mirrored);
}

/// A padded dim of the operand that the caller gave.
struct PaddedDim {
  const TensorType& type;
  std::size_t dim;
  const SizeExpr &low, &high;

  std::string text() const {
    return fmt::format("dim {} of {} is padded by {} and {}, expected", dim, type.to_text(), low.to_text(),
                       high.to_text());
  }
  /// The message for a dim that is too short to be padded. If that depends on symbols, a run reports it.
  std::string too_short(IndexMap map_index) const {
    return text() + (map_index == mirror_index ? " less than its extent on each side; pad in steps"
                                               : " an extent of 1 or more; first pad it with a number");
  }

  Status check(IndexMap map_index) const {
    if (low.upper_bound() < 0 || high.upper_bound() < 0) {
      return invalid_argument(text() + " 0 or more; slice it instead");
    }
    const SizeExpr max_padding = max(low, high), min_extent = map_index == mirror_index ? max_padding + 1 : SizeExpr(1);
    const bool is_padded = max_padding.lower_bound() > 0;
    if (is_padded && type.shape[dim].upper_bound() < min_extent.lower_bound())
      return invalid_argument(too_short(map_index));
    return {};
  }
};

Tensor pad_border(Composite& composite, Tensor x, const std::vector<SizeExpr>& low, const std::vector<SizeExpr>& high,
                  IndexMap map_index) {
  GraphBuilder& graph = *x.builder();
  const TensorType type = x.type();
  const std::size_t rank = type.shape.rank();
  if (low.size() != rank || high.size() != rank) {
    return composite.refuse(fmt::format("{} low and {} high counts for {}, expected one per dim; correct them",
                                        low.size(), high.size(), type.to_text()));
  }
  TensorType result = type;
  for (std::size_t d = 0; d < rank && x.is_valid(); ++d) {
    if (low[d].is(0) && high[d].is(0)) continue;
    const PaddedDim padded{type, d, low[d], high[d]};
    const SizeExpr extent = type.shape[d];
    result.shape[d] = low[d] + extent + high[d];
    if (!composite.passes(padded.check(map_index)) || !composite.passes(expect_within_limits(result))) return {};
    composite.explain_wrong_index(padded.too_short(map_index));
    Tensor position = iota(graph, DType::kI64, {result.shape[d]}, 0);
    position -= size_of(graph, low[d]);
    Tensor index = map_index(position, size_of(graph, extent) - 1);
    // Without this step, gather would wrap an index that is below 0.
    index = or_outside(greater_equal(index, 0), index, extent);
    x = gather(x, index, static_cast<std::int64_t>(d));
  }
  return x;
}

}  // namespace

Tensor pad_reflect(Tensor x, std::vector<SizeExpr> low, std::vector<SizeExpr> high) {
  return build_composite({x}, [&](Composite& c) { return pad_border(c, x, low, high, mirror_index); });
}
Tensor pad_edge(Tensor x, std::vector<SizeExpr> low, std::vector<SizeExpr> high) {
  return build_composite({x}, [&](Composite& c) { return pad_border(c, x, low, high, clamp_index); });
}

}  // namespace millrace
