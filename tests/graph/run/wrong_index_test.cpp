// SPDX-License-Identifier: Apache-2.0
// The message of a run about a gather or a scatter whose index is outside its axis.
#include <array>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

Program compiled(std::string_view text) {
  CompileOptions options;
  options.context = test::test_context();
  return compile(parse_graph(text).value(), options).value();
}

TEST_CASE("the index, its place and both operands are named, even if the indices had another shape before") {
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
        "run: %y = gather: index 1099511627776 at [1, 1] of operand 1, %i of i64[2x3], is outside axis 0 of operand "
        "0, %x of f32[5x2]; give -5 to 4");
}

TEST_CASE("an index into an empty axis is reported as such") {
  const Program program =
      compiled("graph g(%x: f32[n], %i: i32[]) {\n  %y = gather(%x, %i) {axis = 0}\n  return y = %y\n}\n");
  Session session = Session::create(program).value();
  std::array<float, 1> x{}, y{};
  std::int32_t i = 0;
  const auto none = std::span(x).first(0);
  CHECK(session.run(std::array{bind(none, {0}), bind(std::span(&i, 1))}, std::array{bind(y)}).message() ==
        "run: %y = gather: index 0 at [] of operand 1, %i of i32[], is outside axis 0 of operand 0, %x of f32[0]; "
        "the axis is empty, so no index is valid");
}

TEST_CASE("a wrong index among constants or outputs is found, too") {
  const Program constant = compiled(
      "graph g(%x: f32[n]) {\n  %i = constant(0, -7) : i32[2]\n  %y = gather(%x, %i) {axis = 0}\n"
      "  return y = %y\n}\n");
  Session session = Session::create(constant).value();
  std::array<float, 6> x{};
  std::array<float, 2> y{};
  CHECK(session.run(std::array{bind(x, {6})}, std::array{bind(y)}).message() ==
        "run: %y = gather: index -7 at [1] of operand 1, %i of i32[2], is outside axis 0 of operand 0, %x of f32[6]; "
        "give -6 to 5");
  const Program computed = compiled(
      "graph g(%x: f32[6], %j: i32[2]) {\n  %i = cumulative_sum(%j) {axis = 0}\n  %y = gather(%x, %i) {axis = 0}\n"
      "  return y = %y, i = %i\n}\n");
  Session other = Session::create(computed).value();
  std::array<std::int32_t, 2> j{3, 3}, i{};
  CHECK(other.run(std::array{bind(x), bind(j)}, std::array{bind(y), bind(i)}).message() ==
        "run: %y = gather: index 6 at [1] of operand 1, %i of i32[2], is outside axis 0 of operand 0, %x of f32[6]; "
        "give -6 to 5");
}

TEST_CASE("a wrong index of take_along_axis is reported like a gather's") {
  const Program program = compiled(
      "graph g(%x: f32[2, n], %i: i32[2, 3]) {\n  %y = take_along_axis(%x, %i) {axis = -1}\n  return y = %y\n}\n");
  Session session = Session::create(program).value();
  const std::array<float, 8> x{0, 1, 2, 3, 4, 5, 6, 7};
  std::array<std::int32_t, 6> i{3, -4, 0, -1, 1, 2};
  std::array<float, 6> y{};
  REQUIRE(session.run(std::array{bind(x, {2, 4}), bind(i)}, std::array{bind(y)}).message() == "");
  CHECK(y == std::array<float, 6>{3, 0, 0, 7, 5, 6});
  i[4] = -5;
  CHECK(session.run(std::array{bind(x, {2, 4}), bind(i)}, std::array{bind(y)}).message() ==
        "run: %y = take_along_axis: index -5 at [1, 1] of operand 1, %i of i32[2x3], is outside axis 1 of operand 0, "
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
        "run: %y = scatter: an index of operand 1, %i of i32[2], is outside axis 0 of operand 0, %x of f32[6]; give "
        "-6 to 5");
}

TEST_CASE("the failing one of two gathers in one kernel is named") {
  const Program program = compiled(
      "graph g(%x: f32[6], %i: i32[2], %j: i32[2]) {\n  %a = gather(%x, %i) {axis = 0}\n"
      "  %b = gather(%x, %j) {axis = 0}\n  return a = %a, b = %b\n}\n");
  Session session = Session::create(program).value();
  std::array<float, 6> x{};
  std::array<std::int32_t, 2> i{0, 1}, j{6, 0};
  std::array<float, 2> a{}, b{};
  CHECK(session.run(std::array{bind(x), bind(i), bind(j)}, std::array{bind(a), bind(b)}).message() ==
        "run: %b = gather: index 6 at [0] of operand 1, %j of i32[2], is outside axis 0 of operand 0, %x of f32[6]; "
        "give -6 to 5");
}

TEST_CASE("of two scatters in one kernel whose indices are gone, the one that ran is named") {
  const Program program = compiled(
      "graph g(%x: f32[6], %u: f32[2], %j: i32[2], %k: i32[2]) {\n  %i = cumulative_sum(%j) {axis = 0}\n"
      "  %a = scatter(%x, %i, %u) {axis = 0}\n  %l = cumulative_sum(%k) {axis = 0}\n"
      "  %b = scatter(%x, %l, %u) {axis = 0}\n  return a = %a, b = %b\n}\n");
  Session session = Session::create(program).value();
  std::array<float, 6> x{}, a{}, b{};
  std::array<float, 2> u{};
  std::array<std::int32_t, 2> good{1, 1}, bad{3, 3};
  const auto run = [&](std::array<std::int32_t, 2>& j, std::array<std::int32_t, 2>& k) {
    return session.run(std::array{bind(x), bind(u), bind(j), bind(k)}, std::array{bind(a), bind(b)}).message();
  };
  CHECK(run(good, good) == "");
  CHECK(run(bad, good) ==
        "run: %a = scatter: an index of operand 1, %i of i32[2], is outside axis 0 of operand 0, %x of f32[6]; give "
        "-6 to 5");
  CHECK(run(good, bad) ==
        "run: %b = scatter: an index of operand 1, %l of i32[2], is outside axis 0 of operand 0, %x of f32[6]; give "
        "-6 to 5");
}

TEST_CASE("two programs of equal kernels that fail at the same time each name their own nodes") {
  const auto program_of = [](const std::string& name) {
    return compiled("graph g(%x_" + name + ": f32[6], %i_" + name + ": i32[2]) {\n  %y_" + name + " = gather(%x_" +
                    name + ", %i_" + name + ") {axis = 0}\n  return y = %y_" + name + "\n}\n");
  };
  const auto fails_as_expected = [&](const Program& program, const std::string& name, std::int32_t index) {
    Session session = Session::create(program).value();
    std::array<float, 6> x{};
    std::array<std::int32_t, 2> i{0, index};
    std::array<float, 2> y{};
    const std::string expected = "run: %y_" + name + " = gather: index " + std::to_string(index) +
                                 " at [1] of operand 1, %i_" + name +
                                 " of i32[2], is outside axis 0 of operand 0, %x_" + name + " of f32[6]; give -6 to 5";
    int num_wrong = 0;
    for (int k = 0; k < 1000; ++k) {
      num_wrong += session.run(std::array{bind(x), bind(i)}, std::array{bind(y)}).message() == expected ? 0 : 1;
    }
    return num_wrong == 0;
  };
  const Program one = program_of("one"), two = program_of("two");
  bool one_is_right = false, two_is_right = false;
  std::thread first([&] { one_is_right = fails_as_expected(one, "one", 6); });
  std::thread second([&] { two_is_right = fails_as_expected(two, "two", -7); });
  first.join();
  second.join();
  CHECK(one_is_right);
  CHECK(two_is_right);
}

}  // namespace
}  // namespace millrace
