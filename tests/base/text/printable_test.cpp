// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/printable.h"

#include <doctest/doctest.h>

#include "millrace/base/status.h"

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

TEST_CASE("a byte that is not UTF-8 is escaped, because a terminal may take it for a control character") {
  CHECK(printable("a\x9b"
                  "2J\xff") == "a\\x9b2J\\xff");
  // The first and the last character of each length, and the ones just beyond.
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

TEST_CASE("long text is cut between characters, and shows both ends") {
  const std::string a(160, 'a'), b(32, 'b'), c(64, 'c');
  CHECK(printable(a + b + c) == a + b + c);
  CHECK(printable(a + b + "b" + c) == a + "..." + c);
  // "\xc3\xa4" over each of the two places.
  const std::string front = a.substr(1) + "\xc3\xa4", back = "\xc3\xa4" + c.substr(1);
  CHECK(printable(front + b + back) == a.substr(1) + "..." + c.substr(1));
  CHECK(printable(a + b + std::string(1000, '\n')) == a + "..." + [] {
    std::string escapes;
    for (int i = 0; i < 64; ++i) escapes += "\\n";
    return escapes;
  }());
}

TEST_CASE("a long message loses its middle, and says how much") {
  const std::string x(7 << 10, 'x'), y(2 << 10, 'y');
  CHECK(printable_message(x + y + x) == x + y + x);
  CHECK(printable_message(x + y + "y" + x) == x + "... (2049 bytes are left out) ..." + x);
  CHECK(Status(StatusCode::kInternal, x + y + "y" + x).message() == x + "... (2049 bytes are left out) ..." + x);
}

TEST_CASE("a message shows some of many names, and the number of the rest") {
  PrintableNames names;
  CHECK(names.text() == "none");
  std::string twenty;
  for (int i = 0; i < 20; ++i) {
    names.add("n" + std::to_string(i) + "\n");
    twenty += (i == 0 ? "n" : ", n") + std::to_string(i) + "\\n";
  }
  CHECK(names.text() == twenty);
  names.add("z");
  CHECK(names.text() == twenty + " and 1 more");
}

}  // namespace
}  // namespace millrace
