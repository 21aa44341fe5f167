// SPDX-License-Identifier: Apache-2.0
// Prints attributes, for texts, messages and the keys that identify equal nodes.
#include "millrace/ops/attributes.h"

#include <fmt/format.h>

#include "base/text/number.h"
#include "ops/attributes_text.h"

namespace millrace {
std::string FieldText::operator()(std::int64_t value) const { return fmt::format("{}", value); }
std::string FieldText::operator()(double value) const { return fmt::format("{}", value); }
std::string FieldText::operator()(bool value) const { return value ? "true" : "false"; }
std::string FieldText::operator()(const Number& value) const {
  return elements ? element_text(value, *elements) : value.to_text();
}
std::string FieldText::operator()(DType value) const { return std::string(to_text(value)); }
std::string FieldText::operator()(const SizeExpr& value) const {
  return printed_symbols ? value.to_text(*printed_symbols) : value.to_text();
}

std::string attributes_text(const Attributes& attributes, std::optional<DType> elements,
                            std::map<std::string, Dim>* printed_symbols) {
  const FieldText field_text{elements, printed_symbols};
  std::string text;
  const auto print = [&](std::string_view name, const auto& value) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, field_text(value));
  };
  // A copy: `visit` also serves writers, so it is not const.
  std::visit([&](auto copy) { copy.visit(print); }, attributes);
  return text.empty() ? "" : "{" + text + "}";
}

std::span<const std::string_view> required_attributes(const Attributes& attributes) {
  return std::visit(
      []<class A>(const A&) -> std::span<const std::string_view> {
        if constexpr (requires { A::kRequired; }) return A::kRequired;
        return {};
      },
      attributes);
}

std::string to_text(const Attributes& attributes) { return attributes_text(attributes, {}, nullptr); }

std::string to_text(const Attributes& attributes, std::map<std::string, Dim>& printed_symbols) {
  return attributes_text(attributes, {}, &printed_symbols);
}

}  // namespace millrace
