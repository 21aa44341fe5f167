// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "millrace/millrace.h"

namespace digits {

inline constexpr std::size_t kSide = 8;
inline constexpr std::size_t kPixels = kSide * kSide;

/// Handwritten digits with their labels. Pixels are stored row by row, from 0 (paper) to 1 (ink).
struct DigitSet {
  std::vector<float> pixels;
  std::vector<std::int64_t> labels;

  std::size_t size() const { return labels.size(); }
  std::span<const float> image(std::size_t i) const { return std::span(pixels).subspan(i * kPixels, kPixels); }
};

/// Reads "test.images" and "test.labels".
millrace::Result<DigitSet> read_test_split(const millrace::Safetensors&);

}  // namespace digits
