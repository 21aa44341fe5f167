// SPDX-License-Identifier: Apache-2.0
// Finds the byte ranges of each buffer that a loop nest accesses, so that a schedule needs fewer barriers.
#include "jit/ir/touched_bytes.h"

#include <algorithm>
#include <span>

#include "jit/ir/affine.h"

namespace millrace {
namespace {

/// The maximum number of terms of an expression. A longer expression would cost more than the barrier that it may save.
constexpr std::size_t kMaxTerms = 16;

/// Rows with gaps between them, innermost level first. A dim extends the level inside it if it continues with that
/// level's step. Any other dim starts a new level.
struct GappedRows {
  std::vector<ByteRange::Rows> levels = {};
  SizeExpr next_step = 0;
  bool are_irregular = false;

  /// Adds a dim that repeats `inner_bytes` every `step` bytes, `extent` times.
  void add(const SizeExpr& step, const SizeExpr& extent, const SizeExpr& inner_bytes) {
    if (levels.empty() || step != next_step) {
      levels.push_back({step, inner_bytes});
      are_irregular |= (step - inner_bytes).lower_bound() < 0;
    }
    next_step = step * extent;
  }
};

std::optional<ByteRange> range_of(const Access& access, const KernelTensor& tensor, std::span<const LoopDim> domain) {
  if (access.dynamic_dim || access.fill) return {};
  const AffineIndex element = element_offset(access, tensor.layout, domain.size());
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(tensor.type.dtype));
  SizeExpr first = element.offset * element_bytes, length = element_bytes, points = 1;
  GappedRows rows;
  for (std::size_t d = domain.size(); d-- > 0;) {
    const SizeExpr step = element.coefficients[d] * element_bytes;
    const SizeExpr& extent = domain[d].extent;
    if (step.is(0) || extent.is(1)) continue;
    points = points * extent;
    if (step == length) {  // contiguous; also correct for an extent of 0
      length = length * extent;
      rows.are_irregular |= !rows.levels.empty();
    } else {
      if (extent.lower_bound() < 1) return {};
      rows.add(step, extent, length);
      const SizeExpr reach = step * (extent - 1);
      if (step.lower_bound() >= 0) {
        length = length + reach;
      } else if (step.upper_bound() <= 0) {
        first = first + reach;
        length = length - reach;
      } else {
        return {};
      }
    }
    if (first.num_terms() + length.num_terms() > kMaxTerms) return {};
  }
  // The order of the dims does not matter: if there are as many points as elements, there are no gaps.
  const bool has_gaps = length != points * element_bytes;
  ByteRange range{std::move(first), std::move(length)};
  if (has_gaps && !rows.are_irregular) range.rows.assign(rows.levels.rbegin(), rows.levels.rend());
  return range;
}

/// A range that contains both; empty unless it is known which range begins first and which ends last.
std::optional<ByteRange> hull(const ByteRange& a, const ByteRange& b) {
  if (a == b) return a;
  const bool are_constant = a.offset_bytes.is_constant() && a.length_bytes.is_constant() &&
                            b.offset_bytes.is_constant() && b.length_bytes.is_constant();
  if (!are_constant) return {};
  const std::int64_t begin = std::min(a.offset_bytes.constant(), b.offset_bytes.constant());
  const std::int64_t end =
      std::max((a.offset_bytes + a.length_bytes).constant(), (b.offset_bytes + b.length_bytes).constant());
  return ByteRange{begin, SizeExpr(end) - begin};
}

/// A range that contains the bytes of all accesses to one tensor; empty if there is no access or the range is not
/// known.
std::optional<ByteRange> range_of_all(std::span<const Access> accesses, std::uint32_t number,
                                      const KernelTensor& tensor, std::span<const LoopDim> domain) {
  std::optional<ByteRange> all;
  for (const Access& access : accesses) {
    if (access.tensor != number) continue;
    const std::optional<ByteRange> range = range_of(access, tensor, domain);
    if (!range) return {};
    all = all ? hull(*all, *range) : range;
    if (!all) return {};
  }
  return all;
}

}  // namespace

std::vector<std::optional<ByteRange>> touched_bytes(const LoopKernel& kernel) {
  std::vector<std::optional<ByteRange>> ranges;
  for (std::uint32_t i = 0; i < kernel.operands.size(); ++i) {
    ranges.push_back(range_of_all(kernel.loads, i, kernel.operands[i], kernel.domain));
  }
  for (std::uint32_t i = 0; i < kernel.results.size(); ++i) {
    ranges.push_back(range_of_all(kernel.stores, i, kernel.results[i], kernel.domain));
  }
  return ranges;
}

}  // namespace millrace
