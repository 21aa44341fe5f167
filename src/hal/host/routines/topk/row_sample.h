// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The elements at which a long row is sampled. RowSelector describes limits, samples and groups.
namespace millrace {

/// The number of vectors in a sample. A row shorter than kMinSampledTimesK * k begins without a limit, because most of
/// its groups contain one of the first k elements.
inline constexpr std::int64_t kSampledVectors = 1024;
inline constexpr std::int64_t kMinSampledTimesK = 64;
/// The number of elements in a sample that gives only the first limit, which group minima improve later. Such a sample
/// can be smaller. Its size is the same for every vector width.
inline constexpr std::int64_t kSampledElementsOfLongRow = 1024;
/// The number of neighbouring elements that a sample takes together: one cache line of 32-bit elements.
inline constexpr std::int64_t kSampledTogether = 16;

/// A pseudorandom place below `count` for sample i; it depends on i alone. Random places keep patterns in the row from
/// distorting the sample.
inline std::int64_t place_between(std::int64_t i, std::int64_t count) {
  const std::uint32_t random = (static_cast<std::uint32_t>(i) + 1) * 0x9e3779b1U;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(random) * static_cast<std::uint64_t>(count) >> 32);
}

}  // namespace millrace
