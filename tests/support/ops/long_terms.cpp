// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/long_terms.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "millrace/base/check.h"
#include "tests/reference/evaluate.h"

namespace millrace::test {
namespace {

/// Uniform in [0, 1).
double unit(std::uint64_t draw) { return static_cast<double>(draw >> 11) * 0x1p-53; }

using Index = std::int64_t;
using Bits = std::uint64_t;

double halves(Index i, Index, Bits) { return std::ldexp(1.0, -static_cast<int>(i % 30)); }
double one_large(Index i, Index n, Bits draw) { return i == n / 3 ? 1e4 : 1e-2 * (1 + unit(draw)); }

constexpr Terms kTerms[] = {
    {"ones", [](Index, Index, Bits) { return 1.0; }, true, true},
    {"integers", [](Index i, Index, Bits) { return static_cast<double>(i % 7 - 3); }, false, true},
    {"alternating", [](Index i, Index, Bits draw) { return (i % 2 == 0 ? 1 : -1) * (1 + unit(draw)); }, false},
    {"geometric", halves},
    {.name = "shuffled geometric", .at = halves, .is_shuffled = true},
    {"hundreds", [](Index, Index, Bits draw) { return 100 + unit(draw); }},
    {"tenths", [](Index, Index, Bits) { return 0.1; }},
    {"sevenths", [](Index, Index, Bits) { return 5.0 / 7; }},
    {"one large", one_large},
    {.name = "shuffled large", .at = one_large, .is_shuffled = true},
    {"all scales", [](Index, Index, Bits draw) { return std::exp2(30 * unit(draw) - 20); }},
};

long double rounded_to(DType dtype, long double value) {
  std::byte element[8];
  reference::write_element(dtype, value, element);
  return reference::read_element<long double>(dtype, element);
}

/// Each order of the elements is as likely as any other.
void shuffle(reference::Tensor& tensor, std::mt19937_64& random) {
  const std::size_t bytes = size_bytes(tensor.type.dtype);
  for (std::int64_t i = tensor.num_elements() - 1; i > 0; --i) {
    const auto other = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(i + 1));
    std::swap_ranges(tensor.element(i), tensor.element(i) + bytes, tensor.element(other));
  }
}

}  // namespace

std::span<const Terms> all_terms() { return kTerms; }

const Terms& terms_called(std::string_view name) {
  const auto found = std::ranges::find_if(kTerms, [&](const Terms& terms) { return terms.name == name; });
  MILLRACE_CHECK(found != std::end(kTerms));
  return *found;
}

reference::Tensor make_terms(const Terms& terms, DType dtype, const reference::Extents& extents, std::uint64_t seed) {
  reference::Tensor tensor(dtype, extents);
  std::mt19937_64 random(seed);
  const std::int64_t n = tensor.num_elements();
  for (std::int64_t i = 0; i < n; ++i) reference::write_element(dtype, terms.at(i, n, random()), tensor.element(i));
  if (terms.is_shuffled) shuffle(tensor, random);
  return tensor;
}

std::string check_sum(DType dtype, long double found, const ExactSum& exact, const Terms& terms,
                      const SumLimits& limits, long double factor) {
  const long double expected = exact.sum * factor;
  if (terms.is_exact && factor == 1) {
    if (found == rounded_to(dtype, expected)) return "";
    return fmt::format("{} {}: found {}, expected {} exactly", exact.count, terms.name, static_cast<double>(found),
                       static_cast<double>(expected));
  }
  const long double unit_roundoff = dtype == DType::kF64 ? 0x1p-53L : 0x1p-24L;
  const long double roundings = reference::roundings_of_sum(exact.count, limits.block);
  long double tolerance = roundings * unit_roundoff * exact.magnitude * factor;
  if (terms.is_positive) tolerance = std::min(tolerance, limits.relative * (unit_roundoff / 0x1p-24L) * expected);
  if (size_bytes(dtype) == 2) tolerance += reference::ulp_at(dtype, expected) / 2;
  if (std::fabs(found - expected) <= tolerance) return "";
  return fmt::format("{} {}: found {}, expected {} within {}: {} of it away", exact.count, terms.name,
                     static_cast<double>(found), static_cast<double>(expected), static_cast<double>(tolerance),
                     static_cast<double>(std::fabs(found - expected) / tolerance));
}

}  // namespace millrace::test
