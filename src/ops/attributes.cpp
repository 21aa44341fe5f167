// SPDX-License-Identifier: Apache-2.0
#include "millrace/ops/attributes.h"

#include <fmt/format.h>

#include "base/text/number.h"
#include "ops/attributes_text.h"

namespace millrace {
namespace {

/// Prints the fields one after the other.
struct FieldPrinter {
  std::optional<DType> elements;
  std::map<std::string, Dim>* stated;
  std::string text = {};

  std::string field_text(std::int64_t value) const { return fmt::format("{}", value); }
  std::string field_text(bool value) const { return value ? "true" : "false"; }
  std::string field_text(const Number& value) const {
    return elements ? element_text(value, *elements) : value.to_text();
  }
  std::string field_text(DType value) const { return std::string(to_text(value)); }
  std::string field_text(const SizeExpr& value) const { return stated ? value.to_text(*stated) : value.to_text(); }
  template <class T>
  std::string field_text(const std::vector<T>& values) const {
    std::string list;
    for (const T& value : values) list += (list.empty() ? "" : ", ") + field_text(value);
    return "[" + list + "]";
  }

  template <class T>
  void operator()(std::string_view name, const T& value) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, field_text(value));
  }
};

}  // namespace

std::string attributes_text(const Attributes& attributes, std::optional<DType> elements,
                            std::map<std::string, Dim>* stated) {
  FieldPrinter printer{elements, stated};
  // A copy: `visit` also serves writers, so it is not const.
  std::visit([&](auto copy) { copy.visit(printer); }, attributes);
  return printer.text.empty() ? "" : "{" + printer.text + "}";
}

std::string to_text(const Attributes& attributes) { return attributes_text(attributes, {}, nullptr); }

std::string to_text(const Attributes& attributes, std::map<std::string, Dim>& stated) {
  return attributes_text(attributes, {}, &stated);
}

}  // namespace millrace
