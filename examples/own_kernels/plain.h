// SPDX-License-Identifier: Apache-2.0
// The same computations as plain loops, for the comparison of values and speed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace own {

struct PlainLoops {
  void (*rms_norm)(const float* x, const float* scale, float* y, std::size_t rows, std::size_t columns);
  void (*median_filter)(const float* x, float* y, std::size_t height, std::size_t width);
  void (*diffuse)(const float* x, float* y, std::size_t height, std::size_t width, float rate);
  void (*quantise)(const float* x, std::int8_t* q, float* scales, std::size_t rows, std::size_t columns);
  void (*centroid)(const float* x, float* rows, float* columns, std::size_t batch, std::size_t height,
                   std::size_t width);
  void (*embedding_bag)(const float* table, const std::int64_t* ids, float* y, std::size_t bags, std::size_t per_bag,
                        std::size_t width);
  void (*nearest_centre)(const float* points, const float* centres, std::int64_t* nearest, std::size_t num_points,
                         std::size_t num_centres);
};

/// plain.cpp defines one of these each time that it is compiled: MILLRACE_PLAIN_LOOPS is its name.
extern const PlainLoops kPlainLoops;   // as the rest of the program
extern const PlainLoops kNativeLoops;  // with -O3 -march=native
extern const PlainLoops kAvx2Loops;    // with -O3 -march=x86-64-v3

}  // namespace own
