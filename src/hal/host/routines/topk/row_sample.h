// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Which elements of a long row are a sample of it.
namespace millrace {

/// Vectors of a sample. A row that is shorter than kMinSampledTimesK * k begins without a limit, because most of its
/// groups have one of the first k.
inline constexpr std::int64_t kSampledVectors = 1024;
inline constexpr std::int64_t kMinSampledTimesK = 64;
/// For a limit that groups improve: fewer, and as many elements for vectors of any width.
inline constexpr std::int64_t kSampledElementsOfLongRow = 1024;
/// Elements of a sample that are neighbours: a line of 32-bit ones.
inline constexpr std::int64_t kSampledTogether = 16;

/// The place of sample i among `count`, by a random number that depends on i alone: what repeats in the row has no
/// influence.
inline std::int64_t place_between(std::int64_t i, std::int64_t count) {
  const std::uint32_t random = (static_cast<std::uint32_t>(i) + 1) * 0x9e3779b1U;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(random) * static_cast<std::uint64_t>(count) >> 32);
}

}  // namespace millrace
