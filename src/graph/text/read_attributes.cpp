// SPDX-License-Identifier: Apache-2.0
#include "graph/text/read_attributes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/size_expr/reader.h"
#include "base/text/near_name.h"
#include "base/text/number.h"
#include "graph/text/read_type.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

struct FieldNames {
  std::vector<std::string_view>& names;
  template <class T>
  void operator()(std::string_view name, const T&) const {
    names.push_back(name);
  }
};

/// Reads the value of the field called `name`.
struct FieldReader {
  TextReader& text;
  std::map<std::string, Dim>& symbols;
  std::optional<DType> elements;
  std::string_view name;
  Status& status;

  template <class T>
  void operator()(std::string_view field_name, T& field) const {
    if (field_name == name) status = read(field);
  }

  template <class T>
  Status assign(T& field, Result<T> value) const {
    if (!value.ok()) return value.status();
    field = *std::move(value);
    return {};
  }
  Status read(std::int64_t& field) const { return assign(field, read_number<std::int64_t>(text)); }
  Status read(bool& field) const { return assign(field, read_number<bool>(text)); }
  Status read(Number& field) const { return assign(field, read_element(text, elements.value_or(DType::kF64))); }
  Status read(DType& field) const { return assign(field, read_dtype(text)); }
  Status read(SizeExpr& field) const { return assign(field, read_size_expr(text, symbols)); }
  template <class T>
  Status read(std::vector<T>& field) const {
    field.clear();
    if (!text.take("[")) return text.unexpected(fmt::format("expected '['; {} is a list", name));
    if (text.take("]")) return {};
    do {
      MILLRACE_TRY(read(field.emplace_back()));
    } while (text.take(","));
    if (!text.take("]")) return text.unexpected("expected ',' or ']'; close the list");
    return {};
  }
};

class AttributeReader {
 public:
  AttributeReader(TextReader& text, Op op, std::optional<DType> elements, std::map<std::string, Dim>& symbols)
      : text_(text), op_(op), elements_(elements), symbols_(symbols), attributes_(default_attributes(op)) {
    std::visit([&](auto& fields) { fields.visit(FieldNames{names_}); }, attributes_);
  }

  Result<Attributes> read() {
    if (!text_.take("{") || text_.take("}")) return attributes_;
    do {
      MILLRACE_TRY(read_attribute());
    } while (text_.take(","));
    if (!text_.take("}")) return text_.unexpected("expected ',' or '}'; close the attributes");
    return attributes_;
  }

 private:
  Status read_attribute() {
    const std::size_t begin = text_.position();
    const std::string_view name = text_.take_name();
    if (std::ranges::find(names_, name) == names_.end()) {
      text_.move_to(begin);
      return text_.unexpected(expected_name(name));
    }
    if (std::ranges::find(given_, name) != given_.end()) {
      return text_.error(begin, fmt::format("found '{}' again, expected each attribute once; remove one", name));
    }
    given_.push_back(name);
    if (!text_.take("=")) return text_.unexpected(fmt::format("expected '='; say what {} is", name));
    Status status;
    std::visit([&](auto& fields) { fields.visit(FieldReader{text_, symbols_, elements_, name, status}); }, attributes_);
    return status;
  }

  std::string expected_name(std::string_view found) const {
    if (names_.empty()) return fmt::format("expected '}}', as {} has no attributes; remove it", to_text(op_));
    NearName near(found);
    std::string known;
    for (const std::string_view name : names_) {
      known += (known.empty() ? "" : ", ") + std::string(name);
      near.consider(name);
    }
    return fmt::format("expected an attribute of {}: {}; {}", to_text(op_), known, near.remedy("choose one of them"));
  }

  TextReader& text_;
  Op op_;
  std::optional<DType> elements_;
  std::map<std::string, Dim>& symbols_;
  Attributes attributes_;
  std::vector<std::string_view> names_, given_;
};

}  // namespace

Result<Attributes> read_attributes(TextReader& text, Op op, std::optional<DType> elements,
                                   std::map<std::string, Dim>& symbols) {
  return AttributeReader(text, op, elements, symbols).read();
}

}  // namespace millrace
