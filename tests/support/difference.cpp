// SPDX-License-Identifier: Apache-2.0
#include "tests/support/difference.h"

#include <cstring>

#include <fmt/format.h>

#include "tests/reference/evaluate.h"

namespace millrace::test {
namespace {

std::string bits_text(const reference::Tensor& tensor, std::int64_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.element(i), size_bytes(tensor.type.dtype));
  return fmt::format("0x{:x}", bits);
}

std::string compare_float(const reference::Tensor& found, const reference::Tensor& expected, std::int64_t i,
                          const Tolerance& tolerance) {
  const DType dtype = found.type.dtype;
  const auto a = reference::read_element<long double>(dtype, found.element(i));
  const auto b = reference::read_element<long double>(dtype, expected.element(i));
  if (std::isnan(a) && std::isnan(b) && !tolerance.same_nan_bits) return "";
  const auto text = [&](std::string_view limit) {
    return fmt::format("element {}: found {} ({}), expected {} ({}): {}", i, static_cast<double>(a),
                       bits_text(found, i), static_cast<double>(b), bits_text(expected, i), limit);
  };
  if (!tolerance.bounds.empty()) {
    const long double bound = tolerance.bounds[static_cast<std::size_t>(i)];
    if (a == b || std::isinf(bound) || std::fabs(a - b) <= bound) return "";
    return text(fmt::format("at most {} away", static_cast<double>(bound)));
  }
  if (tolerance.max_ulp == 0) return text("not the same bits");
  const long double ulp = reference::ulp_distance(dtype, a, b);
  if (ulp <= tolerance.max_ulp) return "";
  return text(fmt::format("{} ulp, at most {}", static_cast<double>(ulp), tolerance.max_ulp));
}

}  // namespace

std::string find_difference(const reference::Tensor& found, const reference::Tensor& expected,
                            const Tolerance& tolerance) {
  if (found.bytes.size() != expected.bytes.size()) {
    return fmt::format("found {} bytes, expected {}", found.bytes.size(), expected.bytes.size());
  }
  const std::size_t bytes = size_bytes(expected.type.dtype);
  for (std::int64_t i = 0; i < expected.num_elements(); ++i) {
    if (std::memcmp(found.element(i), expected.element(i), bytes) == 0) continue;
    if (!is_float(expected.type.dtype)) {
      return fmt::format("element {}: found {}, expected {}", i, bits_text(found, i), bits_text(expected, i));
    }
    if (std::string text = compare_float(found, expected, i, tolerance); !text.empty()) return text;
  }
  return "";
}

std::string find_outside(const reference::Tensor& found, const reference::Range& expected) {
  const DType dtype = expected.low.type.dtype;
  if (found.bytes.size() != expected.low.bytes.size()) {
    return fmt::format("found {} bytes, expected {}", found.bytes.size(), expected.low.bytes.size());
  }
  const auto value_of = [&](const reference::Tensor& tensor, std::int64_t i) {
    return reference::read_element<long double>(dtype, tensor.element(i));
  };
  for (std::int64_t i = 0; i < found.num_elements(); ++i) {
    if (expected.is_open(i) || std::memcmp(found.element(i), expected.low.element(i), size_bytes(dtype)) == 0) continue;
    const long double value = value_of(found, i), low = value_of(expected.low, i), high = value_of(expected.high, i);
    const bool is_known = expected.is_known(i);
    if (is_known ? std::isnan(value) && std::isnan(low) : low <= value && value <= high) continue;
    const std::string limit = is_known ? fmt::format("{} ({})", static_cast<double>(low), bits_text(expected.low, i))
                                       : fmt::format("{} to {}", static_cast<double>(low), static_cast<double>(high));
    return fmt::format("element {}: found {} ({}), expected {}", i, static_cast<double>(value), bits_text(found, i),
                       limit);
  }
  return "";
}

}  // namespace millrace::test
