// SPDX-License-Identifier: Apache-2.0
// Reads the names of values in a text and remembers which value each one means.
#include "graph/text/value_names.h"

#include <fmt/format.h>

#include "base/text/near_name.h"
#include "millrace/base/printable.h"

namespace millrace {

/// Reads a name up to the next "/".
static Status read_part(TextReader& text, ValueName& value) {
  if (text.rest().starts_with('"')) {
    MILLRACE_TRY_ASSIGN(value.name, text.read_string());
    value.spelling += name_text(value.name);
    return {};
  }
  value.name = text.take_name_characters();
  if (value.name.empty()) {
    return text.unexpected(fmt::format("expected a value's name after '{}'; write it", value.spelling.back()));
  }
  value.spelling += value.name;
  value.is_number = !is_plain_name(value.name);
  return {};
}

Result<ValueName> read_value_name(TextReader& text) {
  ValueName value{text.position(), {}, {}, "%", false};
  if (!text.take("%")) return text.unexpected("expected a value; write '%' and its name");
  MILLRACE_TRY(read_part(text, value));
  while (!value.is_number && text.take("/")) {
    value.scopes.push_back(std::move(value.name));
    value.spelling += '/';
    MILLRACE_TRY(read_part(text, value));
  }
  return value;
}

Status expect_no_scope(const TextReader& text, const ValueName& name, std::string_view what) {
  if (name.scopes.empty()) return {};
  std::string whole;
  for (const std::string& scope : name.scopes) whole += scope + '/';
  whole += name.name;
  return text.error(name.begin, fmt::format("found '{}', expected no scope, because {} has none; write '%{}'",
                                            name.spelling, what, name_text(whole)));
}

Status ValueNames::define(const TextReader& text, const ValueName& name, Value value) {
  if (values_.emplace(name.spelling, value).second) return {};
  return text.error(name.begin, fmt::format("found '{}' again, expected a name that is not taken; rename it",
                                            printable(name.spelling)));
}

Result<Value> ValueNames::read(TextReader& text) const {
  MILLRACE_TRY_ASSIGN(const ValueName name, read_value_name(text));
  const auto found = values_.find(name.spelling);
  if (found != values_.end()) return found->second;
  NearName near(name.spelling);
  for (const auto& [known, value] : values_) near.consider(known);
  return text.error(name.begin, fmt::format("found '{}', expected a value that is defined above; {}",
                                            printable(name.spelling), near.remedy("define it first")));
}

}  // namespace millrace
