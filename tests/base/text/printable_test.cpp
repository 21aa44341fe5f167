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
                  "2J\xc2\x80\xc2\xa0") == "\\xc2\\x9b2J\\xc2\\x80\xc2\xa0");
}

TEST_CASE("a byte that is no UTF-8 is escaped, as a terminal may take it for a control character") {
  CHECK(printable("a\x9b"
                  "2J\xff") == "a\\x9b2J\\xff");
  // The first and the last of each length, and what is just beyond.
  CHECK(printable("\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf") ==
        "\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
  CHECK(printable("\xc1\xbf") == "\\xc1\\xbf");                                        // overlong
  CHECK(printable("\xe0\x9f\xbf") == "\\xe0\\x9f\\xbf");                               // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");                               // a surrogate
  CHECK(printable("\xf0\x8f\xbf\xbf") == "\\xf0\\x8f\\xbf\\xbf");                      // overlong
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");                      // beyond U+10FFFF
  CHECK(printable("\xe2\x82|\xe2\xc3\xa4|\xc2") == "\\xe2\\x82|\\xe2\xc3\xa4|\\xc2");  // cut short
}

TEST_CASE("text of several lines keeps its line ends and tabs") {
  CHECK(printable_lines("a\n\tb\r\x1b") == "a\n\tb\\x0d\\x1b");
}

}  // namespace
}  // namespace millrace
