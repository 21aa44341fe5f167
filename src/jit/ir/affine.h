// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
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

/// Substitutes inner[d], an index over `num_dims` dims, for each dim d of `outer`.
AffineIndex compose(const AffineIndex& outer, std::span<const AffineIndex> inner, std::size_t num_dims);

/// Whether the indices are equal at every point of a domain with these extents: the index of a dim of extent 1 is 0.
bool are_equal(std::span<const AffineIndex> a, std::span<const AffineIndex> b, std::span<const SizeExpr> extents);

/// The number of the domain dim, if the index is a single dim and nothing else, such as "d1".
std::optional<std::size_t> as_single_dim(const AffineIndex& index);

/// Computes the index as an i64 in the body. Appends the sizes that are not constant to `extents`, the kernel's
/// LoopKernel::extents.
BodyValue index_value(BodyBuilder& body, const AffineIndex& index, std::vector<SizeExpr>& extents);
/// Computes the size as an i64 in the body, like index_value().
BodyValue extent_value(BodyBuilder& body, const SizeExpr& size, std::vector<SizeExpr>& extents);

/// Whether the index is provably in [0, extent) at every point of a non-empty domain.
bool is_inside(const AffineIndex& index, const SizeExpr& extent, std::span<const LoopDim> domain);

/// How far the index counts, from its offset, if its dims are digits: one has coefficient 1, each other one the product
/// of the extents of the lower digits. The index then has each value at one point. Empty if they are not, or if a dim
/// is in `used`; adds the dims to it. Dims of extent 1 do not count.
std::optional<SizeExpr> count_digits(const AffineIndex& index, std::span<const LoopDim> domain,
                                     std::set<std::size_t>& used);

struct IndexRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
/// The minimum and maximum of the index over the domain; empty if a size is not constant or the domain is empty.
std::optional<IndexRange> constant_range(const AffineIndex& index, std::span<const LoopDim> domain);

/// The element offset of an access in its buffer, computed from the strides and offset of the layout, without the
/// dynamic index.
AffineIndex element_offset(const Access& access, const Layout& layout, std::size_t num_dims);

/// "2*d0 + (n)*d3 + 1", "d0 + (n - 1)", "0": sizes that are not constant are in parentheses, so that "d0" outside them
/// is always a domain dim.
std::string to_text(const AffineIndex& index);

}  // namespace millrace
