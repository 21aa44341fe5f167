// SPDX-License-Identifier: Apache-2.0
#include "graph/text/read_attributes.h"

#include "graph/text/field_reader.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

/// The fields of whichever attributes the op has.
struct OpFields {
  Attributes& attributes;
  template <class V>
  void visit(V&& v) {
    std::visit([&](auto& fields) { fields.visit(v); }, attributes);
  }
};

}  // namespace

Result<Attributes> read_attributes(TextReader& text, Op op, std::optional<DType> elements,
                                   std::map<std::string, Dim>& symbols) {
  Attributes attributes = default_attributes(op);
  OpFields fields{attributes};
  const FieldSource source{text, to_text(op), elements, symbols};
  MILLRACE_TRY(FieldsReader(source, fields).read());
  return attributes;
}

}  // namespace millrace
