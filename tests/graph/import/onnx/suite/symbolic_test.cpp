// SPDX-License-Identifier: Apache-2.0
// The tests of ONNX's backends with symbols in place of sizes. A table of them, with data sets of any sizes:
//   build/release/tests/test_onnx --no-skip -tc='table: symbolic ONNX tests'
#include "tests/graph/import/onnx/suite/symbolic.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/golden.h"

namespace millrace::test {
namespace {

struct Reason {
  std::string_view what, part;
};
constexpr Reason kReasons[] = {
#define MILLRACE_SYMBOLIC_REASON(what, part) {what, part},
#include "tests/graph/import/onnx/suite/symbolic_reasons.inc"
};

/// The reason in the list; empty if it has none for the message.
std::string_view reason_of(std::string_view message) {
  for (const auto& [what, part] : kReasons) {
    if (message.find(part) != message.npos) return what;
  }
  return "";
}

std::vector<SuiteTest> node_tests() {
  std::vector<SuiteTest> tests = suite_tests({"node"});
  std::erase_if(tests, [](const SuiteTest& test) { return cause_of(test.name) != Cause::kNone; });
  return tests;
}

/// "equal; given axes; dims k", "refused: ...".
std::string line_of(const SymbolicOutcome& outcome) {
  if (outcome.result == SymbolicResult::kRefused) return "refused: " + outcome.reason;
  std::string line = outcome.result == SymbolicResult::kEqual ? "equal" : "DIFFERS";
  if (!outcome.given.empty()) line += fmt::format("; given {}", fmt::join(outcome.given, ", "));
  if (!outcome.dims.empty()) line += fmt::format("; dims {}", fmt::join(outcome.dims, ", "));
  return outcome.result == SymbolicResult::kEqual ? line : line + ": " + outcome.reason;
}

}  // namespace

TEST_CASE("each test of ONNX's backends is equal with symbols in place of sizes, or refused for a reason in the list") {
  const std::vector<SuiteTest> tests = node_tests();
  if (tests.empty()) {
    MESSAGE(suite_folder() << " is absent: no test of ONNX's backends runs; install libonnx-testdata");
    return;
  }
  std::map<std::string_view, std::size_t> counts;  // by reason
  std::size_t num_equal = 0, num_given = 0;
  std::string refusals;
  for (const SuiteTest& test : tests) {
    CAPTURE(test.name);
    const SymbolicOutcome outcome = run_symbolic_test(test, suite_options());
    CHECK_MESSAGE(outcome.result != SymbolicResult::kDiffers, outcome.reason);
    num_equal += outcome.result == SymbolicResult::kEqual;
    num_given += outcome.result == SymbolicResult::kEqual && !outcome.given.empty();
    if (outcome.result != SymbolicResult::kRefused) continue;
    const std::string_view reason = reason_of(outcome.reason);
    CHECK_MESSAGE(!reason.empty(), outcome.reason);
    ++counts[reason];
    refusals += fmt::format("{}: {}: {}\n", test.name, reason, outcome.reason);
  }
  MESSAGE(tests.size() << " tests: " << num_equal << " equal (" << num_given << " with values given)");
  for (const auto& [reason, count] : counts) MESSAGE(count << " refused: " << reason);
  CHECK(num_equal >= 650);
  CHECK(golden_problem("symbolic_refusals.txt", refusals) == "");
}

TEST_CASE("table: symbolic ONNX tests" * doctest::skip()) {
  const char* filter = std::getenv("MILLRACE_ONNX_FILTER");
  for (const SuiteTest& test : node_tests()) {
    if (filter != nullptr && test.name.find(filter) == std::string::npos) continue;
    fmt::print("{} ", test.name);
    std::fflush(stdout);
    const SymbolicOutcome outcome = run_symbolic_test(test, suite_options());
    fmt::print("({}): {}\n", outcome.op, line_of(outcome));
  }
}

}  // namespace millrace::test
