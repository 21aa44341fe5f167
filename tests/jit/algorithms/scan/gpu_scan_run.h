// SPDX-License-Identifier: Apache-2.0
// Scans for GPUs, run while the simulator observes them and compared with plain code.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "tests/jit/algorithms/observed_sequence.h"
#include "tests/jit/algorithms/run_sequence.h"

namespace millrace::test {

struct ScanCase {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> extents;
  std::uint32_t axis = 0;
  ReductionKind kind = ReductionKind::kSum;
  bool exclusive = false;
  bool reverse = false;
};

inline ScanDescriptor descriptor_of(const ScanCase& test, const Shape& shape) {
  ScanDescriptor scan;
  scan.name = "scan";
  scan.input = {"x", {test.dtype, shape}, Layout::row_major(shape)};
  scan.result = {"y", {test.dtype, shape}, Layout::row_major(shape)};
  scan.axis = test.axis;
  scan.kind = test.kind;
  scan.exclusive = test.exclusive;
  scan.reverse = test.reverse;
  return scan;
}
inline ScanDescriptor descriptor_of(const ScanCase& test) {
  return descriptor_of(test, Shape(std::vector<SizeExpr>(test.extents.begin(), test.extents.end())));
}

inline KernelSequence lowered_scan(const ScanDescriptor& scan, std::string_view gfx,
                                   const std::string& algorithm = "") {
  Result<KernelSequence> sequence = lower_request(scan, gpu_target(gfx), forced(algorithm));
  REQUIRE_MESSAGE(sequence.ok(), sequence.status().message());
  return *std::move(sequence);
}

template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, T, std::conditional_t<sizeof(T) == 8, long double, double>>;

/// Integers of any bits; floats of either sign, near 1 for products.
template <class T>
std::vector<T> make_input(const ScanCase& test, std::size_t count) {
  std::mt19937_64 random(5);
  std::vector<T> values(count);
  for (T& value : values) {
    const std::uint64_t draw = random();
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(test.kind == ReductionKind::kProd ? draw | 1 : draw);
    } else {
      const float number = static_cast<float>(static_cast<std::int64_t>(draw % 2001) - 1000) / 1000;
      const float factor = draw % 2 == 0 ? 1.0009765625f : 0.9990234375f;
      value = static_cast<T>(test.kind == ReductionKind::kProd ? factor : number);
    }
  }
  return values;
}

template <class W>
W combined(ReductionKind kind, W a, W b) {
  using Unsigned = std::conditional_t<std::is_integral_v<W>, std::make_unsigned<W>, std::type_identity<W>>::type;
  switch (kind) {
    case ReductionKind::kProd:
      if constexpr (sizeof(W) < 4) return static_cast<W>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
      return static_cast<W>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
    case ReductionKind::kMin:
      return std::min(a, b);
    case ReductionKind::kMax:
      return std::max(a, b);
    default:
      return static_cast<W>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  }
}

template <class W>
W nothing(ReductionKind kind) {
  using Limits = std::numeric_limits<W>;
  const W highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const W lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return kind == ReductionKind::kMin ? highest : kind == ReductionKind::kMax ? lowest : W(kind == ReductionKind::kProd);
}

/// The unit of an accumulator's rounding, and of the stored dtype's.
template <class T>
double unit_of_sum() {
  return sizeof(T) == 8 ? 0x1p-53 : 0x1p-24;
}
template <class T>
double unit_of_store() {
  if (std::is_same_v<T, Half>) return 0x1p-11;
  return std::is_same_v<T, BFloat16> ? 0x1p-8 : 0;
}

/// Exact for integers, minima and maxima; floats' sums within n * eps * sum |x|, products likewise of their size.
template <class T>
std::size_t count_wrong(const ScanCase& test, const std::vector<T>& input, const std::vector<T>& results) {
  const std::int64_t n = test.extents[test.axis];
  std::int64_t inner = 1;
  for (std::size_t d = test.axis + 1; d < test.extents.size(); ++d) inner *= test.extents[d];
  const std::int64_t num_rows = n == 0 ? 0 : static_cast<std::int64_t>(input.size()) / n;
  std::size_t num_wrong = 0;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const std::int64_t start = row / inner * n * inner + row % inner;
    Wide<T> so_far = nothing<Wide<T>>(test.kind);
    double size = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(start + (test.reverse ? n - 1 - i : i) * inner);
      Wide<T> x;
      if constexpr (std::is_integral_v<T> || sizeof(T) >= 4) {
        x = input[at];
      } else {
        x = static_cast<float>(input[at]);
      }
      const Wide<T> next = combined(test.kind, so_far, x);
      const Wide<T> expected = test.exclusive ? so_far : next;
      so_far = next;
      if constexpr (std::is_integral_v<T>) {
        num_wrong += results[at] != expected;
      } else {
        const auto found = static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(results[at]));
        const auto wanted = static_cast<double>(expected);
        size = test.kind == ReductionKind::kSum ? size + std::fabs(static_cast<double>(x)) : std::fabs(wanted);
        const bool is_exact = test.kind == ReductionKind::kMin || test.kind == ReductionKind::kMax;
        const double bound = (is_exact ? 0 : static_cast<double>(n) * unit_of_sum<T>() * size) +
                             (is_exact ? 0 : unit_of_store<T>() * (std::fabs(wanted) + 1e-6));
        num_wrong += !(found == wanted || std::fabs(found - wanted) <= bound);
      }
    }
  }
  return num_wrong;
}

template <class T>
std::string complaint_of(const KernelSequence& sequence, const ScanCase& test, const SymbolValues& symbols = {},
                         std::uint64_t order_seed = 0) {
  std::size_t count = 1;
  for (const std::int64_t extent : test.extents) count *= static_cast<std::size_t>(extent);
  std::vector<T> input = make_input<T>(test, count), results(count);
  const SequenceRun run{.operands = {{input.data(), count * sizeof(T)}},
                        .results = {{results.data(), count * sizeof(T)}},
                        .symbols = symbols,
                        .order_seed = order_seed};
  const std::string finding = finding_in(sequence, run);
  if (!finding.empty()) return finding;
  const std::size_t num_wrong = count_wrong(test, input, results);
  return num_wrong == 0 ? "" : std::to_string(num_wrong) + " results are wrong";
}

inline void check_scan(const ScanCase& test, std::string_view gfx, const std::string& algorithm) {
  CAPTURE(to_text(test.dtype));
  CAPTURE(test.extents);
  CAPTURE(to_text(test.kind));
  CAPTURE(algorithm);
  const KernelSequence sequence = lowered_scan(descriptor_of(test), gfx, algorithm);
  visit_dtype(test.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) CHECK(complaint_of<T>(sequence, test) == "");
  });
}

}  // namespace millrace::test
