// SPDX-License-Identifier: Apache-2.0
// Reads an op's attributes from text, by the same field lists that print and hash them.
#include "graph/text/read_attributes.h"

#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

/// Visits the fields of the op's attributes, whatever their type.
struct OpFields {
  Attributes& attributes;
  template <class V>
  void visit(V&& v) {
    std::visit([&](auto& fields) { fields.visit(v); }, attributes);
  }
};

}  // namespace

Result<Attributes> read_attributes(Op op, const FieldSource& source, const OperationPlace& place) {
  Attributes attributes = default_attributes(op);
  OpFields fields{attributes};
  FieldsReader reader(source, fields);
  MILLRACE_TRY(reader.read());
  for (const std::string_view name : required_attributes(attributes)) {
    if (!reader.is_given(name)) return place.refuse(fmt::format("expected {}; give it in braces", name));
  }
  return attributes;
}

}  // namespace millrace
