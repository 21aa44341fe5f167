// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/map_kernel.h"

namespace millrace {

/// How the parallel dims of a nest are divided into groups and loops.
struct NestSplit {
  std::vector<std::size_t> order;  // parallel dims, outermost loop first
  std::size_t split = 0;           // position in `order` of the dim that is cut into chunks
  std::int64_t chunk = 1;          // the number of that dim's points per group
  SizeExpr num_chunks = 1;
  SizeExpr num_groups = 1;
};

/// Preconditions: `collapsed` is the result of collapse_dims, and `tiling` is a tiling of it.
NestSplit split_nest(const LoopKernel& collapsed, const Tiling& tiling);

/// The points of a whole tile along `dim`.
std::int64_t tile_of(const Tiling& tiling, std::size_t dim);

/// A body of at most this many instructions has kVectorsOfShortBody copies in a step.
inline constexpr std::size_t kMaxOverlappingInstructions = 12;
/// The number of copies of a body in one step. Each copy computes one of several adjacent vectors. Long bodies have
/// enough parallelism without copies, and every copy costs compile time. What is equal at all points of a row, because
/// it depends on sizes and reductions alone, does not count.
std::uint32_t vectors_of_body(const Body& body);

/// Whether a reduction has so few and short terms that they can be emitted one after the other, without loops. The
/// terms of a 3x3 window are an example.
bool has_short_reduction(const LoopKernel& collapsed);

/// The extent, or a guess within its bounds if it is known only at run time.
std::int64_t guess_extent(const SizeExpr& extent);

}  // namespace millrace
