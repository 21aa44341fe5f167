// SPDX-License-Identifier: Apache-2.0
// What a graph's text refuses of an application's loop nest, with the whole message.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/text.h"

namespace millrace {
namespace {

/// A text whose nest has these lines of accesses and this end.
std::string text_of(const std::string& accesses, const std::string& end = "}", const std::string& operands = "%x") {
  return "graph g(%x: f32[n], %y: f32[4]) {\n  %z = kernel(" + operands +
         ") {\n"
         "    loop_kernel \"own\" map {\n"
         "      symbol n\n"
         "      d0 i parallel n\n"
         "      operand 0 %x f32[n] offset 0 strides [1]\n"
         "      result 0 %z f32[n] offset 0 strides [1]\n" +
         accesses +
         "      epilogue\n"
         "        %0 = load 0 : f32\n"
         "        yield %0\n"
         "    }\n"
         "  " +
         end + "\n  return z = %z\n}\n";
}

constexpr const char* kPlain = "      load 0 operand 0 [d0]\n      store 0 result 0 [d0]\n";

std::string message_of(const std::string& text) { return parse_graph(text, {.name = "g.mr"}).status().message(); }

TEST_CASE("a nest in a text is read, and proven again") {
  CHECK(message_of(text_of(kPlain)) == "");
  CHECK(message_of(text_of("      load 0 operand 0 [d0 + 1]\n      store 0 result 0 [d0]\n")) ==
        "g.mr:2:8: kernel own: loop kernel 'own': load 0 of 'x': index d0 + 1 of dim 0 is not known to stay inside [0, "
        "n); "
        "give the load a fill, or promise facts of its symbols, such as at_least()\n"
        "  %z = kernel(%x) {\n"
        "       ^");
  CHECK(message_of(text_of("      load 0 operand 0 [d0]\n      store 0 result 0 [2*d0]\n")) ==
        "g.mr:2:8: kernel own: loop kernel 'own': store 0 of 'z': index 2*d0 of dim 0 is not known to count through "
        "an extent of n, each number once; index the result by each dim once, as in [m, n] or [m * 4 + n] with n below "
        "4\n"
        "  %z = kernel(%x) {\n"
        "       ^");
}

TEST_CASE("a nest in a text has the types of its operands") {
  CHECK(message_of(text_of(kPlain, "}", "%y")) ==
        "g.mr:2:8: kernel own: operand 0 is f32[4], expected f32[n] as in its loop nest; pass that type\n"
        "  %z = kernel(%y) {\n"
        "       ^");
  CHECK(message_of(text_of(kPlain, "}", "%x, %y")) ==
        "g.mr:2:8: kernel own: 2 operands, expected 1 as in its loop nest; pass one per operand, and "
        "add none to the nest\n"
        "  %z = kernel(%x, %y) {\n"
        "       ^");
  CHECK(message_of(text_of(kPlain, "} : f32[4]")) ==
        "g.mr:14:7: found f32[4], expected f32[n], the result of kernel own; correct the type or leave it out\n"
        "  } : f32[4]\n"
        "      ^");
}

TEST_CASE("braces and words of a nest in a text") {
  CHECK(message_of("graph g(%x: f32[4]) {\n  %z = kernel(%x)\n  return z = %z\n}\n") ==
        "g.mr:3:3: found 'return', expected '{'; write the loop nest of the kernel in braces\n"
        "  return z = %z\n"
        "  ^");
  CHECK(message_of("graph g(%x: f32[4]) {\n  %z = kernel(%x) {\n  }\n  return z = %z\n}\n") ==
        "g.mr:3:3: found '}', expected 'loop_kernel'\n"
        "  }\n"
        "  ^");
  CHECK(message_of(text_of(kPlain, "")) ==
        "g.mr:15:3: found 'return', expected '}'; close the kernel\n"
        "  return z = %z\n"
        "  ^");
}

TEST_CASE("facts of a symbol in a nest must be those of the graph") {
  std::string text = text_of(kPlain);
  text.replace(text.find("f32[n]"), 6, "f32[n in 1..9]");
  CHECK(message_of(text) ==
        "g.mr:2:8: kernel own: dim 'n': promised n in 1..9, expected n in 0.. as elsewhere; state the same facts "
        "everywhere\n"
        "  %z = kernel(%x) {\n"
        "       ^");
}

}  // namespace
}  // namespace millrace
