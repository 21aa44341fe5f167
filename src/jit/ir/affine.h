// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// The index that is `value` everywhere.
AffineIndex constant_index(std::size_t num_dims, SizeExpr value);
/// The index that is domain dim `dim`.
AffineIndex dim_index(std::size_t num_dims, std::size_t dim);

/// `outer` walks dims whose indices are `inner`, which walk `num_dims` dims: the walk of `outer` over those.
AffineIndex compose(const AffineIndex& outer, std::span<const AffineIndex> inner, std::size_t num_dims);

/// The domain dim that `index` is, when it is one dim and nothing else.
std::optional<std::size_t> as_single_dim(const AffineIndex& index);

/// Whether the index is provably in [0, extent) at every point of a domain that is not empty.
bool is_inside(const AffineIndex& index, const SizeExpr& extent, std::span<const LoopDim> domain);

struct IndexRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};
/// Smallest and largest index over the domain; nothing when a size is not constant or the domain is empty.
std::optional<IndexRange> constant_range(const AffineIndex& index, std::span<const LoopDim> domain);

/// Element offset in the buffer of an access without its dynamic part: strides and layout offset applied.
AffineIndex element_offset(const Access& access, const Layout& layout, std::size_t num_dims);

/// "2*d0 + d3 + 1", "0".
std::string to_text(const AffineIndex& index);

}  // namespace millrace
