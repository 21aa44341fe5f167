// SPDX-License-Identifier: Apache-2.0
#include "graph/text/value_names.h"

#include <fmt/format.h>

#include "base/text/near_name.h"
#include "millrace/base/printable.h"

namespace millrace {

Result<ValueName> read_value_name(TextReader& text) {
  ValueName value{text.position(), {}, "%", false};
  if (!text.take("%")) return text.unexpected("expected a value; write '%' and its name");
  if (text.rest().starts_with('"')) {
    MILLRACE_TRY_ASSIGN(value.name, text.read_string());
    value.spelling += name_text(value.name);
    return value;
  }
  value.name = text.take_name_characters();
  if (value.name.empty()) return text.unexpected("expected a value's name after '%'; write it");
  value.spelling += value.name;
  value.is_number = !is_plain_name(value.name);
  return value;
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
