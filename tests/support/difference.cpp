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
    if (a == b || std::fabs(a - b) <= bound) return "";
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

}  // namespace millrace::test
