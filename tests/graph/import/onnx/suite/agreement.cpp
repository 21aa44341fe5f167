// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/import/onnx/suite/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "tests/reference/evaluate.h"

namespace millrace::test {
namespace {

bool are_close(double found, double expected, double rtol) {
  constexpr double kAtol = 1e-7;
  if (std::isnan(found) || std::isnan(expected)) return std::isnan(found) && std::isnan(expected);
  if (std::isinf(found) || std::isinf(expected)) return found == expected;
  return std::fabs(found - expected) <= kAtol + rtol * std::fabs(expected);
}

}  // namespace

std::string difference_of(const reference::Tensor& found, const reference::Tensor& expected) {
  if (found.type != expected.type) {
    return fmt::format("is {}, expected {}", found.type.to_text(), expected.type.to_text());
  }
  const DType dtype = found.type.dtype;
  const double rtol = dtype == DType::kBF16 ? 0x1p-6 : 1e-3;
  std::int64_t count = 0;
  std::string first;
  for (std::int64_t i = 0; i < found.num_elements(); ++i) {
    const std::byte *one = found.element(i), *other = expected.element(i);
    const double value = reference::read_element<double>(dtype, one);
    const double wanted = reference::read_element<double>(dtype, other);
    const bool agrees =
        is_float(dtype) ? are_close(value, wanted, rtol) : std::memcmp(one, other, size_bytes(dtype)) == 0;
    if (agrees) continue;
    if (++count == 1) first = fmt::format("element {} is {:.9g}, expected {:.9g}", i, value, wanted);
  }
  return count == 0 ? "" : fmt::format("{}; {} of {} elements differ", first, count, found.num_elements());
}

double share_of_largest(const reference::Tensor& found, const reference::Tensor& expected, double ignored) {
  const auto values = reference::read_all<double>(found), wanted = reference::read_all<double>(expected);
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (values[i] == wanted[i] || (std::isnan(values[i]) && std::isnan(wanted[i]))) continue;
    const double difference = std::fabs(values[i] - wanted[i]);
    if (difference <= ignored) continue;
    error = std::isfinite(difference) ? std::max(error, difference) : std::numeric_limits<double>::infinity();
  }
  for (const double value : wanted) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  return error == 0 ? 0 : error / largest;
}

bool is_within_ulp(const reference::Tensor& found, const reference::Tensor& expected) {
  if (found.type != expected.type || !is_float(found.type.dtype)) return false;
  return share_of_largest(found, expected) <= static_cast<double>(reference::ulp_at(found.type.dtype, 1));
}

}  // namespace millrace::test
