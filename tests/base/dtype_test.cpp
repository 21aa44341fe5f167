// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/dtype.h"

#include <set>
#include <string>

#include <doctest/doctest.h>

namespace millrace {

TEST_CASE("every dtype has its own name, which parses back") {
  std::set<std::string_view> names;
  for (const DType dtype : kAllDTypes) {
    CAPTURE(std::string(to_text(dtype)));
    CHECK(names.insert(to_text(dtype)).second);
    CHECK(parse_dtype(to_text(dtype)) == dtype);
  }
  CHECK(names.size() == 13);
}

TEST_CASE("an unknown dtype name does not parse") {
  for (const char* text : {"", "f", "f128", "F32", "f32 ", "i4", "float"}) CHECK(!parse_dtype(text).has_value());
}

TEST_CASE("a dtype's size, host type and visitor agree") {
  for (const DType dtype : kAllDTypes) {
    CAPTURE(std::string(to_text(dtype)));
    visit_dtype(dtype, [dtype]<class Host>() {
      CHECK(dtype_of<Host> == dtype);
      CHECK(sizeof(Host) == size_bytes(dtype));
    });
  }
}

TEST_CASE("a dtype belongs to one class") {
  for (const DType dtype : kAllDTypes) {
    const std::string text(to_text(dtype));
    CAPTURE(text);
    CHECK(is_signed(dtype) == (text[0] == 'i'));
    CHECK(is_unsigned(dtype) == (text[0] == 'u'));
    CHECK(is_float(dtype) == (text[0] == 'f' || text == "bf16"));
    CHECK(is_integer(dtype) == (is_signed(dtype) || is_unsigned(dtype)));
  }
  CHECK(dtype_class(DType::kBool) == DTypeClass::kPredicate);
}

}  // namespace millrace
