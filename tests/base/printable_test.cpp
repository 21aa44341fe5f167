// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/printable.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("control characters are escaped, and other characters stay, UTF-8 too") {
  CHECK(printable("") == "");
  CHECK(printable("x \"\\\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") == "x \"\\\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(printable("a\nb\tc\rd\x1b[31m\x7f") == "a\\nb\\tc\\x0dd\\x1b[31m\\x7f");
  CHECK(printable(std::string("\0", 1)) == "\\x00");
  CHECK(printable("\xc2\x9b"
                  "2J\xc2\x80\xc2\xa0\xc2") == "\\xc2\\x9b2J\\xc2\\x80\xc2\xa0\xc2");
}

TEST_CASE("text of several lines keeps its line ends and tabs") {
  CHECK(printable_lines("a\n\tb\r\x1b") == "a\n\tb\\x0d\\x1b");
}

}  // namespace
}  // namespace millrace
