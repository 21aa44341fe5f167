// SPDX-License-Identifier: Apache-2.0
#include "millrace/ops/attributes.h"

#include <fmt/format.h>

namespace millrace {
namespace {

std::string field_text(std::int64_t value) { return fmt::format("{}", value); }
std::string field_text(bool value) { return value ? "true" : "false"; }
std::string field_text(double value) { return fmt::format("{}", value); }
std::string field_text(DType value) { return std::string(to_text(value)); }
std::string field_text(const SizeExpr& value) { return value.to_text(); }

template <class T>
std::string field_text(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) {
    if (text.size() > 1) text += ", ";
    text += field_text(value);
  }
  return text + "]";
}

}  // namespace

std::string to_text(const Attributes& attributes) {
  std::string fields;
  // A copy, because one `visit` serves readers and writers.
  std::visit(
      [&](auto copy) {
        copy.visit([&](std::string_view name, const auto& value) {
          fields += fmt::format("{}{} = {}", fields.empty() ? "" : ", ", name, field_text(value));
        });
      },
      attributes);
  return fields.empty() ? "" : "{" + fields + "}";
}

}  // namespace millrace
