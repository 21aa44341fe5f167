// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/jit/body.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// The constant index `value`.
AffineIndex constant_index(std::size_t num_dims, SizeExpr value);
/// The index of domain dim `dim`.
AffineIndex dim_index(std::size_t num_dims, std::size_t dim);

/// The composition of `outer` with `inner`: dim d of `outer` has index inner[d], which is over `num_dims` dims.
AffineIndex compose(const AffineIndex& outer, std::span<const AffineIndex> inner, std::size_t num_dims);

/// The domain dim, if the index is exactly one dim.
std::optional<std::size_t> as_single_dim(const AffineIndex& index);

/// The index as an i64 of the body. Sizes that are not constant are appended to `extents`, the extents of the body's
/// kernel.
BodyValue index_value(BodyBuilder& body, const AffineIndex& index, std::vector<SizeExpr>& extents);
/// The size as an i64 of the body, as in index_value.
BodyValue extent_value(BodyBuilder& body, const SizeExpr& size, std::vector<SizeExpr>& extents);

/// Whether the index is provably in [0, extent) at every point of a non-empty domain.
bool is_inside(const AffineIndex& index, const SizeExpr& extent, std::span<const LoopDim> domain);

struct IndexRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
/// The smallest and largest index over the domain; empty if a size is not constant or the domain is empty.
std::optional<IndexRange> constant_range(const AffineIndex& index, std::span<const LoopDim> domain);

/// The element offset of an access in its buffer, without the dynamic part: strides and layout offset applied.
AffineIndex element_offset(const Access& access, const Layout& layout, std::size_t num_dims);

/// "2*d0 + (n)*d3 + 1", "d0 + (n - 1)", "0": a size that is not constant is in parentheses, so that "d0" is always a
/// domain dim.
std::string to_text(const AffineIndex& index);

}  // namespace millrace
