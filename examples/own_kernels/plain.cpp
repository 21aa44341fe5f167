// SPDX-License-Identifier: Apache-2.0
// What a C++ programmer would write without a library.
#include "examples/own_kernels/plain.h"

#include <algorithm>
#include <cmath>

#ifndef MILLRACE_PLAIN_LOOPS
#define MILLRACE_PLAIN_LOOPS kPlainLoops
#endif

namespace own {
namespace {

void rms_norm(const float* x, const float* scale, float* y, std::size_t rows, std::size_t columns) {
  for (std::size_t m = 0; m < rows; ++m) {
    float sum = 0;
    for (std::size_t n = 0; n < columns; ++n) sum += x[m * columns + n] * x[m * columns + n];
    const float factor = 1 / std::sqrt(sum / static_cast<float>(columns) + 1e-5f);
    for (std::size_t n = 0; n < columns; ++n) y[m * columns + n] = x[m * columns + n] * factor * scale[n];
  }
}

void exchange(float& low, float& high) {
  const float smaller = low < high ? low : high;
  high = low < high ? high : low;
  low = smaller;
}

void median_filter(const float* x, float* y, std::size_t height, std::size_t width) {
  for (std::size_t h = 0; h + 2 < height; ++h) {
    for (std::size_t w = 0; w + 2 < width; ++w) {
      float v[9];
      for (std::size_t i = 0; i < 9; ++i) v[i] = x[(h + i / 3) * width + w + i % 3];
      exchange(v[1], v[2]), exchange(v[4], v[5]), exchange(v[7], v[8]), exchange(v[0], v[1]), exchange(v[3], v[4]);
      exchange(v[6], v[7]), exchange(v[1], v[2]), exchange(v[4], v[5]), exchange(v[7], v[8]), exchange(v[0], v[3]);
      exchange(v[5], v[8]), exchange(v[4], v[7]), exchange(v[3], v[6]), exchange(v[1], v[4]), exchange(v[2], v[5]);
      exchange(v[4], v[7]), exchange(v[4], v[2]), exchange(v[6], v[4]), exchange(v[4], v[2]);
      y[h * (width - 2) + w] = v[4];
    }
  }
}

void diffuse(const float* x, float* y, std::size_t height, std::size_t width, float rate) {
  for (std::size_t h = 0; h < height; ++h) {
    for (std::size_t w = 0; w < width; ++w) {
      const std::size_t at = h * width + w;
      const float up = h > 0 ? x[at - width] : 0, down = h + 1 < height ? x[at + width] : 0;
      const float left = w > 0 ? x[at - 1] : 0, right = w + 1 < width ? x[at + 1] : 0;
      y[at] = x[at] + rate * (up + down + left + right - 4 * x[at]);
    }
  }
}

void quantise(const float* x, std::int8_t* q, float* scales, std::size_t rows, std::size_t columns) {
  for (std::size_t block = 0; block < rows * columns / 32; ++block) {
    const float* from = x + block * 32;
    float largest = 0;
    for (std::size_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(from[i]));
    const float inverse = largest > 0 ? 127 / largest : 0;
    for (std::size_t i = 0; i < 32; ++i) {
      q[block * 32 + i] = static_cast<std::int8_t>(std::nearbyint(from[i] * inverse));
    }
    scales[block] = largest * (1.0f / 127);
  }
}

void centroid(const float* x, float* rows, float* columns, std::size_t batch, std::size_t height, std::size_t width) {
  for (std::size_t picture = 0; picture < batch; ++picture) {
    float total = 0, down = 0, across = 0;
    for (std::size_t h = 0; h < height; ++h) {
      for (std::size_t w = 0; w < width; ++w) {
        const float weight = x[(picture * height + h) * width + w];
        total += weight;
        down += weight * static_cast<float>(h);
        across += weight * static_cast<float>(w);
      }
    }
    rows[picture] = down / total;
    columns[picture] = across / total;
  }
}

void embedding_bag(const float* table, const std::int64_t* ids, float* y, std::size_t bags, std::size_t per_bag,
                   std::size_t width) {
  for (std::size_t bag = 0; bag < bags; ++bag) {
    float* to = y + bag * width;
    std::fill_n(to, width, 0.0f);
    for (std::size_t i = 0; i < per_bag; ++i) {
      const float* row = table + static_cast<std::size_t>(ids[bag * per_bag + i]) * width;
      for (std::size_t column = 0; column < width; ++column) to[column] += row[column];
    }
    for (std::size_t column = 0; column < width; ++column) to[column] /= static_cast<float>(per_bag);
  }
}

void nearest_centre(const float* points, const float* centres, std::int64_t* nearest, std::size_t num_points,
                    std::size_t num_centres) {
  for (std::size_t point = 0; point < num_points; ++point) {
    float least = INFINITY;
    nearest[point] = 0;
    for (std::size_t centre = 0; centre < num_centres; ++centre) {
      float distance = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const float apart = points[point * 3 + axis] - centres[centre * 3 + axis];
        distance += apart * apart;
      }
      if (distance < least) {
        least = distance;
        nearest[point] = static_cast<std::int64_t>(centre);
      }
    }
  }
}

}  // namespace

const PlainLoops MILLRACE_PLAIN_LOOPS = {rms_norm, median_filter, diffuse,       quantise,
                                         centroid, embedding_bag, nearest_centre};

}  // namespace own
