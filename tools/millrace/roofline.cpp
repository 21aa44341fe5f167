// SPDX-License-Identifier: Apache-2.0
// Measures what one thread of this machine can compute and move, as the limits for `explain --measure`.
#include "tools/millrace/roofline.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <immintrin.h>
#include <vector>

#include <fmt/format.h>

namespace millrace::tool {
namespace {

using Clock = std::chrono::steady_clock;

/// The shortest time of a call, out of calls that take about `seconds` in total. The shortest, because other programs
/// may slow some calls down.
template <class F>
double min_seconds(double seconds, F&& call) {
  double minimum = 1e9, sum = 0;
  for (int i = 0; i < 5 || sum < seconds; ++i) {
    const Clock::time_point begin = Clock::now();
    call();
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    minimum = std::min(minimum, took);
    sum += took;
  }
  return minimum;
}

constexpr int kIterations = 20000;
constexpr int kChains = 12;  // more than latency times throughput of any FMA unit

// One chain of FMAs per accumulator; the asm keeps the accumulators in registers and keeps the compiler from folding.
__attribute__((target("avx512f"))) void multiply_add_avx512() {
  __m512 sums[kChains];
  const __m512 factor = _mm512_set1_ps(0.5f), term = _mm512_set1_ps(1);
  for (__m512& sum : sums) sum = term;
  for (int i = 0; i < kIterations; ++i) {
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(sum, factor, term);
      asm volatile("" : "+v"(sum));
    }
  }
}
__attribute__((target("avx2,fma"))) void multiply_add_avx2() {
  __m256 sums[kChains];
  const __m256 factor = _mm256_set1_ps(0.5f), term = _mm256_set1_ps(1);
  for (__m256& sum : sums) sum = term;
  for (int i = 0; i < kIterations; ++i) {
    for (__m256& sum : sums) {
      sum = _mm256_fmadd_ps(sum, factor, term);
      asm volatile("" : "+x"(sum));
    }
  }
}
void multiply_add_baseline() {
  __m128 sums[kChains];
  const __m128 factor = _mm_set1_ps(0.5f), term = _mm_set1_ps(1);
  for (__m128& sum : sums) sum = term;
  for (int i = 0; i < kIterations; ++i) {
    for (__m128& sum : sums) {
      sum = _mm_add_ps(_mm_mul_ps(sum, factor), term);
      asm volatile("" : "+x"(sum));
    }
  }
}

// These read each cache line completely.
__attribute__((target("avx2"))) void read_all_avx2(const std::vector<std::byte>& bytes) {
  __m256i parts[4] = {};
  for (std::size_t at = 0; at + 128 <= bytes.size(); at += 128) {
    for (std::size_t i = 0; i < 4; ++i) {
      parts[i] =
          _mm256_xor_si256(parts[i], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.data() + at) + i));
    }
  }
  for (__m256i& part : parts) asm volatile("" : "+x"(part));
}
void read_all_baseline(const std::vector<std::byte>& bytes) {
  __m128i parts[4] = {};
  for (std::size_t at = 0; at + 64 <= bytes.size(); at += 64) {
    for (std::size_t i = 0; i < 4; ++i) {
      parts[i] = _mm_xor_si128(parts[i], _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data() + at) + i));
    }
  }
  for (__m128i& part : parts) asm volatile("" : "+x"(part));
}

}  // namespace

std::string share_text(const Rates& reached, const Rates& limits) {
  const double of_memory = reached.bytes_per_second / limits.bytes_per_second;
  const double of_peak = reached.flops_per_second / limits.flops_per_second;
  const std::string memory =
      fmt::format("the {:.3g} GB/s that memory reaches at this size", limits.bytes_per_second * 1e-9);
  const std::string peak = fmt::format("the peak, {:.3g} GFLOP/s", limits.flops_per_second * 1e-9);
  const double share = std::round(std::max(of_memory, of_peak) * 100);
  if (share <= 100) return fmt::format("{:.0f} % of {}", share, of_memory >= of_peak ? memory : peak);
  if (of_memory >= of_peak)
    return fmt::format("above {}: a faster cache holds some of it, or the machine was busy when that was measured",
                       memory);
  return fmt::format("above {}: the machine was busy when that was measured", peak);
}

double Roofline::peak_flops() {
  if (peak_flops_ > 0) return peak_flops_;
  constexpr double kSeconds = 0.02;
  const auto flops_of = [](int lanes, double seconds) { return 2.0 * kIterations * kChains * lanes / seconds; };
  switch (level_) {
    case IsaLevel::kAvx512:
      return peak_flops_ = flops_of(16, min_seconds(kSeconds, multiply_add_avx512));
    case IsaLevel::kAvx2:
      return peak_flops_ = flops_of(8, min_seconds(kSeconds, multiply_add_avx2));
    case IsaLevel::kBaseline:
      return peak_flops_ = flops_of(4, min_seconds(kSeconds, multiply_add_baseline));
  }
  return peak_flops_;
}

double Roofline::bytes_per_second(double bytes) {
  constexpr double kMinBytes = 4096, kMaxBytes = 256 << 20, kSeconds = 0.02;
  const std::size_t size = std::bit_ceil(static_cast<std::size_t>(std::clamp(bytes, kMinBytes, kMaxBytes)));
  double& known = bandwidths_[size];
  if (known > 0) return known;
  std::vector<std::byte> memory(size, std::byte{1});
  const std::size_t half = size / 2;
  // Small sizes are repeated, so that reading the clock costs little by comparison.
  const std::size_t iterations = std::max<std::size_t>(1, (std::size_t{1} << 20) / size);
  const auto read_all = level_ == IsaLevel::kBaseline ? read_all_baseline : read_all_avx2;
  const double reading = min_seconds(kSeconds, [&] {
    for (std::size_t i = 0; i < iterations; ++i) read_all(memory);
  });
  const double copying = min_seconds(kSeconds, [&] {
    for (std::size_t i = 0; i < iterations; ++i) {
      std::memcpy(memory.data(), memory.data() + half, half);
      asm volatile("" : : "r"(memory.data()) : "memory");
    }
  });
  return known = static_cast<double>(size * iterations) / std::min(reading, copying);
}

}  // namespace millrace::tool
