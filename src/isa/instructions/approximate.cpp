// SPDX-License-Identifier: Apache-2.0
// The approximate instructions: correctly rounded with seed 0, otherwise with errors that the manuals allow.
#include "isa/instructions/approximate.h"

#include <numbers>

#include "isa/instructions/float_math.h"

namespace millrace::isa {
namespace {

/// The pseudorandom errors depend on the operation.
enum class Operation : std::uint64_t { kExp = 1, kLog, kReciprocal, kReciprocalRoot, kRoot, kSine, kCosine };

/// Bits that look random. Source: Steele et al., "Fast splittable pseudorandom number generators" (SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
std::uint64_t mix(std::uint64_t seed, Operation operation, std::uint64_t bits) {
  return mix(mix(seed + static_cast<std::uint64_t>(operation)) + bits);
}

/// Rounds to nearest or, with a seed, to one of the two floats next to the double. Unless the double is exact, its
/// error is far below a float's last place.
float round(double exact, float source, Operation operation, std::uint64_t seed) {
  const auto nearest = static_cast<float>(exact);
  if (is_nan(nearest)) return nan_of(source);
  const bool is_exact = exact == nearest || is_infinite(nearest) || nearest == 0;
  if (seed == 0 || is_exact || (mix(seed, operation, std::bit_cast<std::uint32_t>(source)) & 1) == 0) {
    return without_subnormal(nearest);
  }
  const bool is_above = exact > nearest;
  const float other = std::nextafter(
      nearest, is_above ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity());
  return without_subnormal(is_infinite(other) ? nearest : other);
}

/// With a seed, changes the value by up to 2^29 units in the last place.
double perturb(double nearest, bool is_exact, double source, Operation operation, std::uint64_t seed) {
  if (is_nan(nearest)) return nan_of(source);
  if (seed == 0 || is_exact || is_infinite(nearest) || nearest == 0) return nearest;
  const std::uint64_t random = mix(seed, operation, std::bit_cast<std::uint64_t>(source)) >> 34;
  const auto units = static_cast<double>(static_cast<std::int64_t>(random) - (std::int64_t{1} << 29));
  const double other = nearest + nearest * (units * 0x1p-53);
  return is_infinite(other) ? nearest : other;
}

/// Whether all bits of the mantissa are set. Newton's iteration never reaches the reciprocals of these numbers unless
/// it starts there, so hardware whose division is correctly rounded, as AMD's is, must compute them exactly. Source:
/// Markstein, "IA-64 and Elementary Functions", 2000, 8.2.
template <class T>
bool has_full_mantissa(T x) {
  constexpr auto kMask = FloatBits<T>::kMinNormal - 1;
  return (magnitude_bits(x) & kMask) == kMask;
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::fabs(std::frexp(x, &exponent)) == 0.5;
}

}  // namespace

float approximate_exp2(float x, std::uint64_t seed) {
  x = without_subnormal(x);
  return round(std::exp2(static_cast<double>(x)), x, Operation::kExp, seed);
}

float approximate_log2(float x, std::uint64_t seed) {
  x = without_subnormal(x);
  return round(std::log2(static_cast<double>(x)), x, Operation::kLog, seed);
}

float approximate_reciprocal(float x, std::uint64_t seed) {
  x = without_subnormal(x);
  return round(1 / static_cast<double>(x), x, Operation::kReciprocal, has_full_mantissa(x) ? 0 : seed);
}

float approximate_reciprocal_root(float x, std::uint64_t seed) {
  x = without_subnormal(x);
  return round(1 / std::sqrt(static_cast<double>(x)), x, Operation::kReciprocalRoot, seed);
}

float approximate_root(float x, std::uint64_t seed) {
  x = without_subnormal(x);
  return round(std::sqrt(static_cast<double>(x)), x, Operation::kRoot, seed);
}

float approximate_sine(float turns, std::uint64_t seed) {
  turns = without_subnormal(turns);
  if (is_infinite(turns)) return default_nan<float>();
  if (std::fabs(turns) > 256) return 0;
  const double part = turns - std::round(static_cast<double>(turns));  // exact, from -1/2 to 1/2
  if (part == 0 || std::fabs(part) == 0.5) return 0;                   // like LLVM's constant folding
  return round(std::sin(2 * std::numbers::pi * part), turns, Operation::kSine, seed);
}

float approximate_cosine(float turns, std::uint64_t seed) {
  turns = without_subnormal(turns);
  if (is_infinite(turns)) return default_nan<float>();
  if (std::fabs(turns) > 256) return 1;
  const double part = turns - std::round(static_cast<double>(turns));
  if (std::fabs(part) == 0.25) return 0;
  return round(std::cos(2 * std::numbers::pi * part), turns, Operation::kCosine, seed);
}

double approximate_reciprocal(double x, std::uint64_t seed) {
  return perturb(1 / x, is_power_of_two(x) || has_full_mantissa(x), x, Operation::kReciprocal, seed);
}
double approximate_reciprocal_root(double x, std::uint64_t seed) {
  const double root = std::sqrt(x);
  return perturb(1 / root, is_power_of_two(root) && root * root == x, x, Operation::kReciprocalRoot, seed);
}
double approximate_root(double x, std::uint64_t seed) {
  const double root = std::sqrt(x);
  return perturb(root, std::fma(root, root, -x) == 0, x, Operation::kRoot, seed);
}

}  // namespace millrace::isa
