// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

namespace {

unsigned num_run = 0;

/// Learns how many test cases matched the filters.
class RunCounter final : public doctest::IReporter {
 public:
  explicit RunCounter(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& stats) override { num_run = stats.numTestCasesPassingFilters; }
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("run_counter", 1, RunCounter);

}  // namespace

/// Runs the tests like doctest's own main, except that a run whose filters match no test case fails: a child process
/// whose case was renamed, or a call with a typing mistake, has tested nothing.
int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (context.shouldExit() || num_run > 0) return result;  // asked for a list, say
  std::fputs("no test case matches the filters\n", stderr);
  return EXIT_FAILURE;
}
