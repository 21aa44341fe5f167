// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/millrace.h"

namespace denoise {

inline constexpr std::int64_t kHop = 256, kFrame = 512, kBins = kFrame / 2 + 1;

/// samples f32[256], the next hop -> spectrum f32[1, 257, 1, 2], real and imaginary, of the last 512 samples times the
/// square root of a Hann window. The variable 'before' keeps the hop; before the first one there is silence.
millrace::Result<millrace::Graph> build_analysis();

/// spectrum f32[1, 257, 1, 2] -> samples f32[256]: the frame of the spectrum, windowed again and added to what the
/// variable 'rest' keeps of the previous one. After build_analysis, the samples come back one hop later.
millrace::Result<millrace::Graph> build_synthesis();

}  // namespace denoise
