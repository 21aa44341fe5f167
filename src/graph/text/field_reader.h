// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/size_expr/reader.h"
#include "base/text/near_name.h"
#include "base/text/number.h"
#include "base/text/reader.h"
#include "graph/text/read_type.h"
#include "millrace/base/printable.h"
#include "millrace/base/shape.h"

namespace millrace {

/// "a, b, c".
template <class Names>
std::string list_text(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

/// The source of an operation's fields.
struct FieldSource {
  TextReader& text;
  std::string_view owner;         // the op or composite, for messages
  std::optional<DType> elements;  // the dtype of operand 0, if any
  std::map<std::string, Dim>& symbols;
};

/// Reads the value of the field called `name`. For an enum, `names_of` lists the words for its values.
struct FieldReader {
  const FieldSource& source;
  std::string_view name;
  Status& status;

  template <class T>
  void operator()(std::string_view field_name, T& field) const {
    if (field_name == name) status = read(field);
  }

 private:
  template <class T>
  static Status assign(T& field, Result<T> value) {
    if (!value.ok()) return value.status();
    field = *std::move(value);
    return {};
  }
  Status read(std::int64_t& field) const { return assign(field, read_number<std::int64_t>(source.text)); }
  Status read(double& field) const { return assign(field, read_number<double>(source.text)); }
  Status read(bool& field) const { return assign(field, read_number<bool>(source.text)); }
  Status read(Number& field) const {
    return assign(field, read_element(source.text, source.elements.value_or(DType::kF64)));
  }
  Status read(DType& field) const { return assign(field, read_dtype(source.text)); }
  Status read(SizeExpr& field) const { return assign(field, read_size_expr(source.text, source.symbols)); }
  Status read(std::string& field) const { return assign(field, source.text.read_string()); }
  Status read(Shape& field) const {
    std::vector<SizeExpr> dims;
    MILLRACE_TRY(read(dims));
    field = Shape(std::move(dims));
    return {};
  }
  template <class T>
  Status read(std::optional<T>& field) const {
    return read(field.emplace());
  }
  template <class T>
  Status read(std::vector<T>& field) const {
    TextReader& text = source.text;
    field.clear();
    if (!text.take("[")) return text.unexpected(fmt::format("expected '['; {} is a list", name));
    if (text.take("]")) return {};
    do {
      MILLRACE_TRY(read(field.emplace_back()));
    } while (text.take(","));
    if (!text.take("]")) return text.unexpected("expected ',' or ']'; close the list");
    return {};
  }
  template <class T>
    requires std::is_enum_v<T>
  Status read(T& field) const {
    std::vector<std::string_view> known;
    for (const auto& [word, value] : names_of(T{})) {
      known.push_back(word);
      if (!source.text.take_word(word)) continue;
      field = value;
      return {};
    }
    return source.text.unexpected(fmt::format("expected one of {}; choose one of them", list_text(known)));
  }
};

/// Reads "{name = value, ...}", or nothing, into the fields that Fields::visit() visits. Fields that the text does not
/// name keep their values.
template <class Fields>
class FieldsReader {
 public:
  FieldsReader(const FieldSource& source, Fields& fields) : source_(source), text_(source.text), fields_(fields) {
    const auto add = [&](std::string_view name, const auto&) { names_.push_back(name); };
    fields_.visit(add);
  }

  Status read() {
    if (!text_.take("{") || text_.take("}")) return {};
    do {
      MILLRACE_TRY(read_field());
    } while (text_.take(","));
    return text_.take("}") ? Status() : text_.unexpected("expected ',' or '}'; close the attributes");
  }
  bool is_given(std::string_view name) const { return std::ranges::find(given_, name) != given_.end(); }

 private:
  Status read_field() {
    const std::size_t begin = text_.position();
    const std::string_view name = text_.take_name();
    if (std::ranges::find(names_, name) == names_.end()) {
      text_.move_to(begin);
      return text_.unexpected(expected_name(name));
    }
    if (is_given(name)) {
      return text_.error(begin,
                         fmt::format("found '{}' again, expected each attribute once; remove one", printable(name)));
    }
    given_.push_back(name);
    if (!text_.take("=")) return text_.unexpected(fmt::format("expected '='; say what {} is", name));
    Status status;
    fields_.visit(FieldReader{source_, name, status});
    return status;
  }

  std::string expected_name(std::string_view found) const {
    if (names_.empty()) return fmt::format("expected '}}', as {} has no attributes; remove it", source_.owner);
    NearName near(found);
    for (const std::string_view name : names_) near.consider(name);
    return fmt::format("expected an attribute of {}: {}; {}", source_.owner, list_text(names_),
                       near.remedy("choose one of them"));
  }

  const FieldSource& source_;
  TextReader& text_;
  Fields& fields_;
  std::vector<std::string_view> names_, given_;
};

}  // namespace millrace
