// SPDX-License-Identifier: Apache-2.0
// The tests of ONNX's backends that Debian's libonnx-testdata has. A table of them, by op or by test:
//   build/release/tests/test_onnx --no-skip -tc='table: ONNX tests by op'
//   MILLRACE_ONNX_FILTER=resize build/release/tests/test_onnx --no-skip -tc='table: ONNX tests'
#include "tests/graph/import/onnx/suite/suite.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/golden.h"

namespace millrace::test {
namespace {

const std::vector<std::string> kFolders = {"node", "pytorch-converted", "pytorch-operator", "simple"};

bool has_suite() {
  const bool is_there = std::filesystem::is_directory(suite_folder());
  if (!is_there) MESSAGE(suite_folder() << " is absent: no test of ONNX's backends runs; install libonnx-testdata");
  return is_there;
}

struct Tally {
  std::size_t tests = 0, passed = 0, given = 0, inexact = 0, random = 0, refused = 0, failed = 0;

  void add(const SuiteOutcome& outcome) {
    ++tests;
    passed += outcome.result == SuiteResult::kPassed;
    given += outcome.result == SuiteResult::kPassed && !outcome.given.empty();
    inexact += outcome.result == SuiteResult::kInexactRecord;
    random += outcome.result == SuiteResult::kOtherNumbers;
    refused += outcome.result == SuiteResult::kRefused;
    failed += outcome.result == SuiteResult::kFailed;
  }
  std::string to_text() const {
    std::string text = fmt::format("{} tests: {} passed ({} with values given)", tests, passed, given);
    if (inexact > 0) text += fmt::format(", {} as exact as their records", inexact);
    if (random > 0) text += fmt::format(", {} random", random);
    return text + fmt::format(", {} refused, {} failed", refused, failed);
  }
};

/// The tests whose names contain the text of MILLRACE_ONNX_FILTER.
std::vector<SuiteTest> filtered_tests() {
  std::vector<SuiteTest> tests = suite_tests(kFolders);
  const char* filter = std::getenv("MILLRACE_ONNX_FILTER");
  if (filter != nullptr) {
    std::erase_if(tests, [&](const SuiteTest& test) { return test.name.find(filter) == std::string::npos; });
  }
  return tests;
}

std::string line_of(const SuiteOutcome& outcome) {
  switch (outcome.result) {
    case SuiteResult::kPassed:
      return outcome.given.empty() ? "passed" : fmt::format("passed, given {}", fmt::join(outcome.given, ", "));
    case SuiteResult::kInexactRecord:
      return "inexact record: " + outcome.reason;
    case SuiteResult::kOtherNumbers:
      return "random: " + outcome.reason;
    case SuiteResult::kRefused:
      return "refused: " + outcome.reason;
    case SuiteResult::kFailed:
      return "FAILED: " + outcome.reason;
  }
  return "";
}

}  // namespace

TEST_CASE("each test of ONNX's backends passes, or is refused for a reason in the list") {
  if (!has_suite()) return;
  std::map<std::string, Tally> tallies;  // by folder
  std::string refusals;
  for (const SuiteTest& test : suite_tests(kFolders)) {
    if (cause_of(test.name) == Cause::kRandom) continue;
    CAPTURE(test.name);
    const SuiteOutcome outcome = run_suite_test(test, suite_options());
    tallies[test.name.substr(0, test.name.find('/'))].add(outcome);
    CHECK_MESSAGE(outcome.result != SuiteResult::kFailed, outcome.reason);
    if (outcome.result == SuiteResult::kRefused) refusals += fmt::format("{}: {}\n", test.name, outcome.reason);
  }
  for (const auto& [folder, tally] : tallies) MESSAGE(folder << ": " << tally.to_text());
  CHECK(golden_problem("refused_tests.txt", refusals) == "");
}

TEST_CASE("tests with strings, sequences and training are refused by name, and random numbers have the right type") {
  if (!has_suite()) return;
  // A reason has one of the words for its cause.
  const std::map<Cause, std::vector<std::string>> reasons = {
      {Cause::kStrings, {"STRING", "StringNormalizer", "TfIdfVectorizer"}},
      {Cause::kSequences, {"equence", "ptional"}},
      {Cause::kTraining, {"training"}}};
  std::map<Cause, std::size_t> counts;
  for (const SuiteTest& test : suite_tests(kFolders)) {
    const Cause cause = cause_of(test.name);
    if (cause == Cause::kNone) continue;
    CAPTURE(test.name);
    if (test.name.starts_with("node/")) ++counts[cause];
    const SuiteOutcome outcome = run_suite_test(test, suite_options());
    if (cause == Cause::kRandom) {  // other numbers than ONNX's: dtype and shape are equal, and elements differ
      CHECK_MESSAGE(outcome.result == SuiteResult::kOtherNumbers, outcome.reason);
      continue;
    }
    CHECK(outcome.result == SuiteResult::kRefused);
    const auto is_named = [&](const std::string& part) { return outcome.reason.find(part) != std::string::npos; };
    CHECK_MESSAGE(std::ranges::any_of(reasons.at(cause), is_named), outcome.reason);
  }
  CHECK(counts[Cause::kStrings] == 19);
  CHECK(counts[Cause::kSequences] == 24);
  CHECK(counts[Cause::kTraining] == 13);
  CHECK(counts[Cause::kRandom] == 6);
}

TEST_CASE("table: ONNX tests" * doctest::skip()) {
  Tally all;
  for (const SuiteTest& test : filtered_tests()) {
    fmt::print("{} ", test.name);
    std::fflush(stdout);
    const SuiteOutcome outcome = run_suite_test(test, suite_options());
    fmt::print("({}): {}\n", outcome.op, line_of(outcome));
    all.add(outcome);
  }
  fmt::print("{}\n", all.to_text());
}

TEST_CASE("table: ONNX tests by op" * doctest::skip()) {
  struct Row {
    Tally tally;
    std::map<std::string, std::size_t> reasons;
  };
  std::map<std::string, Row> rows;
  Tally all;
  for (const SuiteTest& test : filtered_tests()) {
    std::fprintf(stderr, "\r%-100s", test.name.c_str());
    const SuiteOutcome outcome = run_suite_test(test, suite_options());
    Row& row = rows[outcome.op];
    row.tally.add(outcome);
    all.add(outcome);
    if (outcome.result != SuiteResult::kPassed) ++row.reasons[line_of(outcome)];
  }
  std::fprintf(stderr, "\r%-100s\r", "");
  for (const auto& [op, row] : rows) {
    fmt::print("{}: {}\n", op, row.tally.to_text());
    for (const auto& [reason, count] : row.reasons) fmt::print("  {} x {}\n", count, reason);
  }
  fmt::print("{}\n", all.to_text());
}

}  // namespace millrace::test
