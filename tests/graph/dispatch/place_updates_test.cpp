// SPDX-License-Identifier: Apache-2.0
// The places of new values of variables and of scatter results, and the reasons for copies.
#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "tests/graph/dispatch/formed.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

DispatchGraph formed(const std::string& text) { return formed(parse_graph(text, {.name = "g"}).value()); }

/// "%y for %v": each value that is stored in the place of another.
std::vector<std::string> places(const DispatchGraph& dispatch) {
  std::vector<std::string> found;
  for (const auto& [value, old] : dispatch.in_place) {
    found.push_back(value_text(dispatch.graph, value) + " for " + value_text(dispatch.graph, old));
  }
  return found;
}

/// The reason for each copy to a variable, then for each scatter that copies its operand.
std::vector<std::string> reasons(const DispatchGraph& dispatch) {
  std::vector<std::string> found;
  for (const CopiedUpdate& copy : dispatch.copied_updates) found.push_back(copy.reason);
  for (const Region& region : dispatch.regions) {
    if (!region.copy_reason.empty()) found.push_back(region.copy_reason);
  }
  return found;
}

using Texts = std::vector<std::string>;

TEST_CASE("elementwise work on a variable changes it in place, an iota and views of other values included") {
  const DispatchGraph dispatch = formed(R"(graph g(%x: f32[6,4], %at: i64[]) {
  %v = variable(0) : f32[4,6]
  %places = iota() {dtype = i64, shape = [4, 6], axis = 1}
  %spread = broadcast(%at) {shape = [4, 6], dims = []}
  %is_new = equal(%places, %spread)
  %transposed = transpose(%x) {permutation = [1, 0]}
  %y = select(%is_new, %transposed, %v)
  update %v = %y
  return
})");
  CHECK(places(dispatch) == Texts{"%y for %v"});
  CHECK(reasons(dispatch) == Texts{});
}

TEST_CASE("a chain of scatters through reshapes changes the variable in place, with readers between them") {
  const DispatchGraph dispatch = formed(R"(graph g(%i: i64[1], %a: f32[1,3], %b: f32[1,3]) {
  %v = variable(0) : f32[2,4,3]
  %flat = reshape(%v) {shape = [8, 3]}
  %one = scatter(%flat, %i, %a) {axis = 0}
  %sum = reduce_sum(%one) {axes = [0]}
  %more = reshape(%sum) {shape = [1, 3]}
  %update = add(%b, %more)
  %two = scatter_add(%one, %i, %update) {axis = 0}
  %new = reshape(%two) {shape = [2, 4, 3]}
  update %v = %new
  return sum = %sum, last = %new
})");
  CHECK(places(dispatch) == Texts{"%one for %v", "%two for %one"});
  CHECK(reasons(dispatch) == Texts{});
}

TEST_CASE("a new value that does not read the variable is stored there after the last reader") {
  const DispatchGraph dispatch = formed(R"(graph g(%x: f32[3,3]) {
  %v = variable(0) : f32[3,3]
  %old = dot(%v, %x) {x_contract = [1], y_contract = [0]}
  %new = dot(%old, %x) {x_contract = [1], y_contract = [0]}
  update %v = %new
  return y = %old
})");
  CHECK(places(dispatch) == Texts{"%new for %v"});
  CHECK(reasons(dispatch) == Texts{});
}

TEST_CASE("each copy that remains has its reason") {
  const auto reasons_of = [](const std::string& body) {
    return reasons(
        formed("graph g(%x: f32[4,4], %i: i64[1], %row: f32[1,4]) { %v = variable(0) : f32[4,4] " + body + "}"));
  };
  CHECK(reasons_of("update %v = %x return") == Texts{"%x is an input"});
  CHECK(reasons_of("%c = constant(1) : f32[1,1] %s = broadcast(%c) {shape = [4, 4], dims = [0, 1]} "
                   "%w = variable(0) : f32[4,4] update %v = %w update %w = %v return") ==
        Texts{"%w is a variable", "%v is a variable"});
  CHECK(reasons_of("%y = neg(%x) %w = variable(0) : f32[4,4] update %v = %y update %w = %y return") ==
        Texts{"%y is in the memory of %v"});
  CHECK(reasons_of("%y = dot(%v, %x) {x_contract = [1], y_contract = [0]} update %v = %y return") ==
        Texts{"dot_0 reads %v while it stores"});
  CHECK(reasons_of("%t = transpose(%v) {permutation = [1, 0]} %y = add(%t, %v) update %v = %y return") ==
        Texts{"add_0 reads %v while it stores"});
  CHECK(reasons_of("%y = scatter(%v, %i, %row) {axis = 0} %z = dot(%v, %y) {x_contract = [1], y_contract = [0]} "
                   "update %v = %y return z = %z") == Texts{"%v is read later by dot_1", "%v is read later by dot_1"});
  CHECK(reasons_of("%y = scatter(%v, %i, %row) {axis = 0} return y = %y") ==
        Texts{"%v is a variable, which this scatter does not update"});
  CHECK(reasons_of("%w = variable(0) : f32[4,4] %y = scatter(%w, %i, %row) {axis = 0} update %v = %y return") ==
        Texts{"%w is a variable, which this scatter does not update"});
  CHECK(reasons_of("%y = scatter(%x, %i, %row) {axis = 0} return y = %y") == Texts{"%x is an input"});
  CHECK(reasons_of("%e = exp(%x) %y = scatter(%e, %i, %row) {axis = 0} return y = %y, e = %e") ==
        Texts{"%e is an output, too"});
  CHECK(reasons_of("%y = scatter(%v, %i, %row) {axis = 0} %z = scatter(%y, %i, %row) {axis = 0} "
                   "update %v = %z return y = %y") ==
        Texts{"%v is a variable, which this scatter does not update", "%y is an output, too"});
}

TEST_CASE("a scatter of a value that nothing else needs changes it in place without a variable, too") {
  const DispatchGraph dispatch = formed(R"(graph g(%x: f32[4,4], %i: i64[1], %row: f32[1,4]) {
  %e = exp(%x)
  %y = scatter(%e, %i, %row) {axis = 0}
  return y = %y
})");
  CHECK(places(dispatch) == Texts{"%y for %e"});
  CHECK(reasons(dispatch) == Texts{});
}

TEST_CASE("elementwise work stores its result in its operand's place if nothing else reads the operand") {
  const auto places_of = [](const std::string& body) {
    return places(formed("graph g(%x: f32[4,4], %w: f32[4]) { %c = cumulative_sum(%x) {axis = 0} " + body + "}"));
  };
  CHECK(places_of("%y = exp(%c) return y = %y") == Texts{"%y for %c"});
  CHECK(places_of("%b = broadcast(%w) {shape = [4, 4], dims = [1]} %y = add(%c, %b) %z = neg(%y) return z = %z") ==
        Texts{"%z for %c"});
  CHECK(places_of("%y = mul(%c, %c) return y = %y") == Texts{"%y for %c"});
  CHECK(
      places_of("%y = exp(%c) %i = constant(2) : i64[1] %r = slice(%x) {start = [0, 0], stop = [1, 4], step = [1, 1]} "
                "%z = scatter(%y, %i, %r) {axis = 0} return z = %z") == Texts{"%y for %c", "%z for %y"});
  // Others read it, but only for what the last one needs.
  CHECK(places_of("%s = cumulative_sum(%c) {axis = 1} %y = add(%c, %s) return y = %y") == Texts{"%y for %c"});
  CHECK(places_of("%s = cumulative_sum(%c) {axis = 1} %t = cumulative_sum(%s) {axis = 0} %u = cumulative_sum(%c) "
                  "{axis = 0} %v = mul(%t, %u) %y = sub(%v, %c) return y = %y") == Texts{"%y for %t"});
  // What others read, in another order, as another type, or as an output.
  CHECK(places_of("%y = exp(%c) %z = cumulative_sum(%c) {axis = 1} return y = %y, z = %z") == Texts{});
  CHECK(places_of("%t = transpose(%c) {permutation = [1, 0]} %y = exp(%t) return y = %y") == Texts{});
  CHECK(places_of("%t = transpose(%c) {permutation = [1, 0]} %y = add(%c, %t) return y = %y") == Texts{});
  CHECK(places_of("%y = cast(%c) {dtype = i32} return y = %y") == Texts{});
  CHECK(places_of("%y = exp(%c) return y = %y, c = %c") == Texts{});
  CHECK(places_of("%y = exp(%c) %z = neg(%c) return y = %y, z = %z") == Texts{});
}

TEST_CASE("a concat and a pad are changed in place unless another node still needs an operand that is stored in them") {
  const auto made = [](const std::string& body) {
    const DispatchGraph dispatch = formed(
        "graph g(%x: f32[2,4], %i: i64[1], %row: f32[1,4]) { %v = variable(0) : f32[4,4] %a = exp(%x) %b = neg(%x) "
        "%c = concat(%a, %b) {axis = 0} " +
        body + "}");
    Texts texts = places(dispatch);
    for (const std::string& reason : reasons(dispatch)) texts.push_back(reason);
    return texts;
  };
  CHECK(made("%y = scatter(%c, %i, %row) {axis = 0} return y = %y") == Texts{"%y for %c"});
  CHECK(made("%p = pad(%a) {low = [1, 0], high = [1, 0]} %y = scatter(%p, %i, %row) {axis = 0} return y = %y") ==
        Texts{"%y for %p"});
  CHECK(made("%y = scatter(%c, %i, %row) {axis = 0} %z = cumulative_sum(%a) {axis = 0} return y = %y, z = %z") ==
        Texts{"%a is read later by cumulative_sum_4"});
  CHECK(made("%j = constant(0, 1) : i64[2] %y = scatter(%c, %j, %b) {axis = 0} return y = %y") ==
        Texts{"%b is used as another operand too"});
  CHECK(made("update %v = %c return") == Texts{"operands of %c are stored in its memory at other times"});
}

TEST_CASE("update_slice changes an otherwise unused operand or a variable in place, from a constant or a run's start") {
  const DispatchGraph dispatch = formed(R"(graph g(%x: f32[4,4], %at: i64[], %rows: f32[2,4]) {
  %v = variable(0) : f32[4,6,4]
  %part = reshape(%rows) {shape = [2, 1, 4]}
  %four = concat(%part, %part) {axis = 0}
  %new = update_slice(%v, %four, %at) {axis = 1}
  update %v = %new
  %e = exp(%x)
  %y = update_slice(%e, %rows) {axis = 0, start = -2}
  return y = %y
})");
  CHECK(places(dispatch) == Texts{"%new for %v", "%y for %e"});
  CHECK(reasons(dispatch) == Texts{});
}

TEST_CASE("variables that exchange values are copied through one transient, and no output is copied too late") {
  const LoweredGraph lowered = lower_graph(parse_graph(R"(graph g() {
  %a = variable(1) : f32[4]
  %b = variable(2) : f32[4]
  %c = variable(3) : f32[4]
  %d = variable(4) : f32[4]
  update %a = %b
  update %b = %c
  update %c = %a
  update %d = %a
  return was = %a
})")
                                               .value(),
                                           test::test_context()->target("cpu:baseline").value())
                                   .value();
  std::vector<std::string> steps;
  for (const Step& step : lowered.schedule.steps) steps.push_back(step.name + ", as " + step.copy_reason);
  CHECK(steps == Texts{"copy to was, as %a is a variable", "copy to d, as %a is a variable",
                       "copy to a.old, as variables exchange their values", "copy to a, as %b is a variable",
                       "copy to b, as %c is a variable", "copy to c, as %a is a variable"});
}

}  // namespace
}  // namespace millrace
