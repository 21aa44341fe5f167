// SPDX-License-Identifier: Apache-2.0
// Affine indices over the dims of a loop nest: their composition, ranges, offsets in memory, and text.
#include "jit/ir/affine.h"

#include <algorithm>

namespace millrace {
namespace {

/// index += factor * other
void add_scaled(AffineIndex& index, const AffineIndex& other, const SizeExpr& factor) {
  index.offset = index.offset + other.offset * factor;
  for (std::size_t d = 0; d < index.coefficients.size(); ++d) {
    if (!other.coefficients[d].is(0)) index.coefficients[d] = index.coefficients[d] + other.coefficients[d] * factor;
  }
}

}  // namespace

AffineIndex constant_index(std::size_t num_dims, SizeExpr value) {
  return {std::move(value), std::vector<SizeExpr>(num_dims)};
}

AffineIndex dim_index(std::size_t num_dims, std::size_t dim) {
  AffineIndex index = constant_index(num_dims, 0);
  index.coefficients[dim] = 1;
  return index;
}

AffineIndex compose(const AffineIndex& outer, std::span<const AffineIndex> inner, std::size_t num_dims) {
  MILLRACE_CHECK(outer.coefficients.size() == inner.size());
  AffineIndex index = constant_index(num_dims, outer.offset);
  for (std::size_t d = 0; d < inner.size(); ++d) {
    if (!outer.coefficients[d].is(0)) add_scaled(index, inner[d], outer.coefficients[d]);
  }
  return index;
}

bool are_equal(std::span<const AffineIndex> a, std::span<const AffineIndex> b, std::span<const SizeExpr> extents) {
  const auto is_equal = [&](const AffineIndex& x, const AffineIndex& y) {
    if (x.offset != y.offset) return false;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if (!extents[d].is(1) && x.coefficients[d] != y.coefficients[d]) return false;
    }
    return true;
  };
  return std::ranges::equal(a, b, is_equal);
}

std::optional<std::size_t> as_single_dim(const AffineIndex& index) {
  if (!index.offset.is(0)) return std::nullopt;
  std::optional<std::size_t> dim;
  for (std::size_t d = 0; d < index.coefficients.size(); ++d) {
    if (index.coefficients[d].is(0)) continue;
    if (dim || !index.coefficients[d].is(1)) return std::nullopt;
    dim = d;
  }
  return dim;
}

BodyValue extent_value(BodyBuilder& body, const SizeExpr& size, std::vector<SizeExpr>& extents) {
  if (size.is_constant()) return body.constant_int(DType::kI64, size.constant());
  extents.push_back(size);
  return body.extent(static_cast<std::uint32_t>(extents.size() - 1));
}

BodyValue index_value(BodyBuilder& body, const AffineIndex& index, std::vector<SizeExpr>& extents) {
  std::optional<BodyValue> sum;
  const auto add = [&](BodyValue term) { sum = sum ? body.add(*sum, term) : term; };
  for (std::size_t d = 0; d < index.coefficients.size(); ++d) {
    const SizeExpr& coefficient = index.coefficients[d];
    if (coefficient.is(0)) continue;
    const BodyValue walked = body.index(static_cast<std::uint32_t>(d));
    add(coefficient.is(1) ? walked : body.mul(walked, extent_value(body, coefficient, extents)));
  }
  if (!sum || !index.offset.is(0)) add(extent_value(body, index.offset, extents));
  return *sum;
}

bool is_inside(const AffineIndex& index, const SizeExpr& extent, std::span<const LoopDim> domain) {
  SizeExpr min_index = index.offset;
  SizeExpr max_index = index.offset;
  for (std::size_t d = 0; d < domain.size(); ++d) {
    const SizeExpr& coefficient = index.coefficients[d];
    if (coefficient.is(0)) continue;
    const SizeExpr reach = coefficient * (domain[d].extent - 1);
    if (coefficient.lower_bound() >= 0) {
      max_index = max_index + reach;
    } else if (coefficient.upper_bound() <= 0) {
      min_index = min_index + reach;
    } else {
      return false;
    }
  }
  return min_index.lower_bound() >= 0 && (extent - max_index).lower_bound() >= 1;
}

std::optional<SizeExpr> count_digits(const AffineIndex& index, std::span<const LoopDim> domain,
                                     std::set<std::size_t>& used) {
  std::set<std::size_t> left;
  for (std::size_t d = 0; d < domain.size(); ++d) {
    if (!index.coefficients[d].is(0) && !domain[d].extent.is(1)) left.insert(d);
  }
  SizeExpr count = 1;
  while (!left.empty()) {
    const auto next = std::ranges::find_if(left, [&](std::size_t d) { return index.coefficients[d] == count; });
    if (next == left.end() || !used.insert(*next).second) return std::nullopt;
    count = count * domain[*next].extent;
    left.erase(next);
  }
  return count;
}

std::optional<IndexRange> constant_range(const AffineIndex& index, std::span<const LoopDim> domain) {
  if (!index.offset.is_constant()) return std::nullopt;
  IndexRange range{index.offset.constant(), index.offset.constant()};
  for (std::size_t d = 0; d < domain.size(); ++d) {
    const SizeExpr& extent = domain[d].extent;
    const SizeExpr& coefficient = index.coefficients[d];
    if (!extent.is_constant() || extent.constant() <= 0 || !coefficient.is_constant()) return std::nullopt;
    const std::int64_t reach = saturating::multiply(coefficient.constant(), extent.constant() - 1);
    std::int64_t& end = reach < 0 ? range.min : range.max;
    end = saturating::add(end, reach);
  }
  return range;
}

AffineIndex element_offset(const Access& access, const Layout& layout, std::size_t num_dims) {
  AffineIndex total = constant_index(num_dims, layout.offset);
  for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
    add_scaled(total, access.indices[axis], layout.strides[axis]);
  }
  return total;
}

std::string to_text(const AffineIndex& index) {
  std::string text;
  const auto add_term = [&text](const std::string& term) { text += text.empty() ? term : " + " + term; };
  for (std::size_t d = 0; d < index.coefficients.size(); ++d) {
    const SizeExpr& coefficient = index.coefficients[d];
    if (coefficient.is(0)) continue;
    const std::string dim = "d" + std::to_string(d);
    if (coefficient.is(1)) {
      add_term(dim);
    } else if (coefficient.is_constant()) {
      add_term(coefficient.to_text() + "*" + dim);
    } else {
      add_term("(" + coefficient.to_text() + ")*" + dim);
    }
  }
  const std::string offset = index.offset.to_text();
  if (text.empty() || !index.offset.is(0)) add_term(index.offset.is_constant() ? offset : "(" + offset + ")");
  return text;
}

}  // namespace millrace
