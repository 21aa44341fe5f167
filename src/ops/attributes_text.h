// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "millrace/ops/attributes.h"

namespace millrace {

/// Prints the value of an attribute in the syntax of graph texts.
struct FieldText {
  std::optional<DType> elements = {};  // operand 0's dtype: numbers print as its values, "true" for bool
  std::map<std::string, Dim>* printed_symbols =
      nullptr;  // symbols whose facts are printed already; null: print no facts

  std::string operator()(std::int64_t value) const;
  std::string operator()(double value) const;
  std::string operator()(bool value) const;
  std::string operator()(const Number& value) const;
  std::string operator()(DType value) const;
  std::string operator()(const SizeExpr& value) const;
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::string list;
    for (const T& value : values) list += (list.empty() ? "" : ", ") + (*this)(value);
    return "[" + list + "]";
  }
};

/// Like to_text(attributes, printed_symbols), but prints numbers as values of operand 0, whose dtype is `elements`:
/// "{value = true}" for bool. If `printed_symbols` is null, symbols are printed without facts.
std::string attributes_text(const Attributes&, std::optional<DType> elements,
                            std::map<std::string, Dim>* printed_symbols);

}  // namespace millrace
