// SPDX-License-Identifier: Apache-2.0
// Prints the outputs of `millrace run`: elements of small arrays, a summary of large ones.
#include "tools/millrace/print_array.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/jit/scalar.h"

namespace millrace::tool {
namespace {

constexpr std::size_t kMaxElements = 32;  // shown in full
constexpr std::size_t kEnds = 3;          // shown at each end of longer arrays

Scalar element(const NpyArray& array, std::size_t position) {
  const DType dtype = array.type.dtype;
  return load_scalar(dtype, array.bytes.data() + position * size_bytes(dtype));
}

/// NaN is printed without its bits, because a person reads it.
std::string element_text(const NpyArray& array, std::size_t position) {
  const Scalar value = element(array, position);
  return is_float(array.type.dtype) && std::isnan(value.to_double()) ? "nan" : to_text(value);
}

/// Prints the rows below `axis` that begin at `position`, and advances `position` past them.
std::string rows_text(const NpyArray& array, std::size_t axis, std::size_t& position) {
  const Shape& shape = array.type.shape;
  if (axis == shape.rank()) return element_text(array, position++);
  const bool is_innermost = axis + 1 == shape.rank();
  const std::string separator = is_innermost ? ", " : ",\n  " + std::string(axis + 1, ' ');
  std::string text = "[";
  for (std::int64_t i = 0; i < shape[axis].constant(); ++i) {
    text += (i == 0 ? "" : separator) + rows_text(array, axis + 1, position);
  }
  return text + "]";
}

std::string summary(const NpyArray& array, std::size_t count) {
  double minimum = std::numeric_limits<double>::infinity(), maximum = -minimum, sum = 0;
  std::size_t nans = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = element(array, i).to_double();
    if (std::isnan(value)) {
      ++nans;
      continue;
    }
    minimum = std::min(minimum, value);
    maximum = std::max(maximum, value);
    sum += value;
  }
  std::string text = "  [";
  for (std::size_t i = 0; i < kEnds; ++i) text += element_text(array, i) + ", ";
  text += "...";
  for (std::size_t i = count - kEnds; i < count; ++i) text += ", " + element_text(array, i);
  text += "]\n";
  if (nans == count) return text + "  all nan\n";
  text +=
      fmt::format("  minimum {:g}, maximum {:g}, mean {:g}", minimum, maximum, sum / static_cast<double>(count - nans));
  return text + (nans == 0 ? "\n" : fmt::format(", {} nan\n", nans));
}

}  // namespace

std::string describe_array(std::string_view name, const NpyArray& array) {
  const std::string head = fmt::format("{}: {}", printable(name), array.type.to_text());
  const std::size_t count = array.bytes.size() / size_bytes(array.type.dtype);
  if (count == 0) return head + ", no elements\n";
  if (count > kMaxElements) return head + "\n" + summary(array, count);
  std::size_t position = 0;
  return head + "\n  " + rows_text(array, 0, position) + "\n";
}

}  // namespace millrace::tool
