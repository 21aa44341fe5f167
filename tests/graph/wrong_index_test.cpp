// SPDX-License-Identifier: Apache-2.0
// What a run says of a gather or a scatter whose index is outside its axis.
#include <array>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/run_graph.h"

namespace millrace {
namespace {

Program compiled(std::string_view text) {
  CompileOptions options;
  options.context = test::test_context();
  return compile(parse_graph(text).value(), options).value();
}

TEST_CASE("the index, its place and both operands are named, though the shape of the indices was another before") {
  const Program program = compiled(
      "graph g(%x: f32[n, 2], %flat: i64[6]) {\n"
      "  %i = reshape(%flat) {shape = [2, 3]}\n"
      "  %y = gather(%x, %i) {axis = 0}\n"
      "  return y = %y\n}\n");
  Session session = Session::create(program).value();
  std::array<float, 10> x{};
  std::array<std::int64_t, 6> i{0, 1, 2, 3, std::int64_t{1} << 40, 9};
  std::array<float, 12> y{};
  CHECK(session.run(std::array{bind(x, {5, 2}), bind(i)}, std::array{bind(y)}).message() ==
        "run: %y = gather: index 1099511627776 at [1, 1] of operand 1, %i of i64[2x3], is outside of axis 0 of operand "
        "0, %x of f32[5x2]; give -5 to 4");
}

TEST_CASE("an index into an empty axis is told so") {
  const Program program =
      compiled("graph g(%x: f32[n], %i: i32[]) {\n  %y = gather(%x, %i) {axis = 0}\n  return y = %y\n}\n");
  Session session = Session::create(program).value();
  std::array<float, 1> x{}, y{};
  std::int32_t i = 0;
  const auto none = std::span(x).first(0);
  CHECK(session.run(std::array{bind(none, {0}), bind(std::span(&i, 1))}, std::array{bind(y)}).message() ==
        "run: %y = gather: index 0 at [] of operand 1, %i of i32[], is outside of axis 0 of operand 0, %x of f32[0]; "
        "the axis is empty, so no index is valid");
}

TEST_CASE("a wrong index among constants or outputs is found, too") {
  const Program constant = compiled(
      "graph g(%x: f32[n]) {\n  %i = constant(0, -7) : i32[2]\n  %y = gather(%x, %i) {axis = 0}\n"
      "  return y = %y\n}\n");
  Session session = Session::create(constant).value();
  std::array<float, 6> x{};
  std::array<float, 2> y{};
  CHECK(
      session.run(std::array{bind(x, {6})}, std::array{bind(y)}).message() ==
      "run: %y = gather: index -7 at [1] of operand 1, %i of i32[2], is outside of axis 0 of operand 0, %x of f32[6]; "
      "give -6 to 5");
  const Program computed = compiled(
      "graph g(%x: f32[6], %j: i32[2]) {\n  %i = cumulative_sum(%j) {axis = 0}\n  %y = gather(%x, %i) {axis = 0}\n"
      "  return y = %y, i = %i\n}\n");
  Session other = Session::create(computed).value();
  std::array<std::int32_t, 2> j{3, 3}, i{};
  CHECK(other.run(std::array{bind(x), bind(j)}, std::array{bind(y), bind(i)}).message() ==
        "run: %y = gather: index 6 at [1] of operand 1, %i of i32[2], is outside of axis 0 of operand 0, %x of f32[6]; "
        "give -6 to 5");
}

TEST_CASE("what take_along_axis cannot take is told like a gather's") {
  const Program program = compiled(
      "graph g(%x: f32[2, n], %i: i32[2, 3]) {\n  %y = take_along_axis(%x, %i) {axis = -1}\n  return y = %y\n}\n");
  Session session = Session::create(program).value();
  const std::array<float, 8> x{0, 1, 2, 3, 4, 5, 6, 7};
  std::array<std::int32_t, 6> i{3, -4, 0, -1, 1, 2};
  std::array<float, 6> y{};
  REQUIRE(session.run(std::array{bind(x, {2, 4}), bind(i)}, std::array{bind(y)}).message() == "");
  CHECK(y == std::array<float, 6>{3, 0, 0, 7, 5, 6});
  i[4] = -5;
  CHECK(
      session.run(std::array{bind(x, {2, 4}), bind(i)}, std::array{bind(y)}).message() ==
      "run: %y = take_along_axis: index -5 at [1, 1] of operand 1, %i of i32[2x3], is outside of axis 1 of operand 0, "
      "%x of f32[2x4]; give -4 to 3");
}

TEST_CASE("indices that are gone after the run are named without the index") {
  const Program program = compiled(
      "graph g(%x: f32[6], %u: f32[2], %j: i32[2]) {\n  %i = cumulative_sum(%j) {axis = 0}\n"
      "  %y = scatter(%x, %i, %u) {axis = 0}\n  return y = %y\n}\n");
  Session session = Session::create(program).value();
  std::array<float, 6> x{}, y{};
  std::array<float, 2> u{};
  std::array<std::int32_t, 2> j{3, 3};
  CHECK(session.run(std::array{bind(x), bind(u), bind(j)}, std::array{bind(y)}).message() ==
        "run: %y = scatter: an index of operand 1, %i of i32[2], is outside of axis 0 of operand 0, %x of f32[6]; give "
        "-6 to 5");
}

TEST_CASE("of two gathers that are one kernel the wrong one is named") {
  const Program program = compiled(
      "graph g(%x: f32[6], %i: i32[2], %j: i32[2]) {\n  %a = gather(%x, %i) {axis = 0}\n"
      "  %b = gather(%x, %j) {axis = 0}\n  return a = %a, b = %b\n}\n");
  Session session = Session::create(program).value();
  std::array<float, 6> x{};
  std::array<std::int32_t, 2> i{0, 1}, j{6, 0};
  std::array<float, 2> a{}, b{};
  CHECK(session.run(std::array{bind(x), bind(i), bind(j)}, std::array{bind(a), bind(b)}).message() ==
        "run: %b = gather: index 6 at [0] of operand 1, %j of i32[2], is outside of axis 0 of operand 0, %x of f32[6]; "
        "give -6 to 5");
}

}  // namespace
}  // namespace millrace
