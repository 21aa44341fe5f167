// SPDX-License-Identifier: Apache-2.0
#include "base/text/reader.h"

#include <doctest/doctest.h>

#include "base/text/near_name.h"

namespace millrace {
namespace {

TEST_CASE("spaces, line ends and comments only separate tokens") {
  TextReader reader("t", " graph//of one\r\n\t( %x.1 // the end");
  CHECK_FALSE(reader.take_word("gr"));
  CHECK(reader.take_word("graph"));
  CHECK(reader.take("("));
  CHECK(reader.take_name().empty());
  CHECK(reader.take("%"));
  CHECK(reader.take_name() == "x.1");
  CHECK(reader.at_end());
  CHECK_FALSE(reader.take("("));
  CHECK(reader.next_token() == "the end of the text");
}

TEST_CASE("names that are not plain are quoted, and come back whatever they are") {
  for (const std::string name : {"a", "_b.2", "2b", "", "a b", "\"\\", "\n\t\r\x01\x7f", "\xc3\xa4", "a//b"}) {
    const std::string text = name_text(name);
    CAPTURE(text);
    CHECK(TextReader("t", text).read_name("expected a name").value() == name);
    CHECK(text.find('\n') == std::string::npos);
  }
  CHECK(name_text("a.b") == "a.b");
  CHECK(name_text("2\n") == "\"2\\n\"");
  CHECK(name_text("\x01") == "\"\\x01\"");
}

TEST_CASE("a mistake in a string is reported with its place") {
  const auto error = [](std::string_view text) {
    TextReader reader("t", text);
    return reader.read_string().status().message();
  };
  CHECK(error("x") == "t:1:1: found 'x', expected a string; put it in double quotes\nx\n^");
  CHECK(error(" \"ab\n\"") ==
        "t:1:2: found a string without an end, expected '\"' on the same line; close it\n \"ab\n ^");
  const std::string unknown =
      "found an unknown escape, expected \\\", \\\\, \\n, \\t or \\x and two of 0-9 and a-f; write a backslash as "
      "\\\\\n";
  CHECK(error(R"("a\q")") == "t:1:3: " + unknown + "\"a\\q\"\n  ^");
  CHECK(error(R"("\x1G")") == "t:1:2: " + unknown + "\"\\x1G\"\n ^");
  CHECK(error("\"\\") == "t:1:2: " + unknown + "\"\\\n ^");
}

TEST_CASE("an error shows its line and counts characters, not bytes") {
  TextReader reader("dir/g.mr", "a\n\t\xc3\xa4\xc3\xb6 = %foo;\nb");
  reader.move_to(10);
  CHECK(reader.unexpected("expected a number; write one").message() ==
        "dir/g.mr:2:7: found '%foo', expected a number; write one\n\t\xc3\xa4\xc3\xb6 = %foo;\n\t     ^");
}

TEST_CASE("an error shows a part of a long line, whole characters of it, and no control characters") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\xc3\xa4";
  text += "!\r" + std::string(200, 'b');
  TextReader reader("t", text);
  std::string shown = "...";
  for (int i = 0; i < 35; ++i) shown += "\xc3\xa4";
  CHECK(reader.error(200, "found '!'").message() ==
        "t:1:101: found '!'\n" + shown + "! " + std::string(38, 'b') + "...\n" + std::string(38, ' ') + "^");
}

TEST_CASE("an error shows a space for each control character and each byte that is not UTF-8") {
  TextReader reader("t", "\xc2\x9b\x9b\xff!\xc3");
  CHECK(reader.error(4, "found '!'").message() == "t:1:3: found '!'\n   ! \n   ^");
}

TEST_CASE("a token is named whole, in part when it is long, and by number when it cannot be shown") {
  const auto token = [](std::string_view text) { return TextReader("t", text).next_token(); };
  CHECK(token("%a.1 b") == "'%a.1'");
  CHECK(token("12ab+") == "'12ab'");
  CHECK(token("+1") == "'+'");
  CHECK(token("\xc3\xa4\xc3\xa4") == "'\xc3\xa4'");
  CHECK(token("\x01") == "byte 0x01");
  CHECK(token("\x9b") == "byte 0x9b");
  CHECK(token("\xc2\x9b") == "'\\xc2\\x9b'");
  CHECK(token(std::string(100, 'a')) == "'" + std::string(40, 'a') + "...'");
}

TEST_CASE("a mistyped name is near one that differs in few letters") {
  const auto remedy = [](std::string_view wanted) {
    NearName near(wanted);
    for (const char* name : {"topk", "reduce_sum", "reduce_max", "exp"}) near.consider(name);
    return near.remedy("see the list");
  };
  CHECK(remedy("topq") == "did you mean 'topk'?");
  CHECK(remedy("reducesum") == "did you mean 'reduce_sum'?");
  CHECK(remedy("exp2") == "did you mean 'exp'?");
  CHECK(remedy("sin") == "see the list");
  CHECK(remedy("") == "see the list");
  CHECK(remedy(std::string(1000, 'x')) == "see the list");
}

}  // namespace
}  // namespace millrace
