// SPDX-License-Identifier: Apache-2.0
// The tests of ONNX's backends, as Debian's libonnx-testdata installs them and scripts/onnx_report.py writes them: a
// folder per test with a model, inputs and outputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/graph/compile.h"
#include "millrace/graph/onnx.h"

namespace millrace::test {

/// Where libonnx-testdata installs the tests, or the folder that MILLRACE_ONNX_TESTS names.
std::string suite_folder();

struct SuiteTest {
  std::string name;    // "node/test_abs"
  std::string folder;  // of its model.onnx
};
/// The tests in some of the suite's folders, such as "node", in alphabetical order.
std::vector<SuiteTest> suite_tests(const std::vector<std::string>& folders);

/// Why a test is not expected to pass.
enum class Cause { kNone, kStrings, kSequences, kTraining, kRandom };
/// The cause in excluded_tests.inc; kNone for the other tests.
Cause cause_of(std::string_view test);

enum class SuiteResult {
  kPassed,         // the outputs of every data set agree with the expected ones
  kInexactRecord,  // they agree only within an ulp of the largest element, and the test is in inexact_records.inc
  kOtherNumbers,   // dtype and shape agree; the elements are drawn, and the test is excluded for that
  kRefused,        // the importer says why not
  kFailed,         // wrong outputs, or an error after the import
};

struct SuiteOutcome {
  SuiteResult result = SuiteResult::kPassed;
  std::string op;                  // of the model's node; "several" if it has more than one
  std::string reason = {};         // unless it passed
  std::vector<std::string> given;  // inputs whose values OnnxOptions::values had to hold, because shapes need them
};

/// Imports the test's model, compiles and runs it, and compares the outputs (see difference_of). The values of inputs
/// are given to the importer only where it refuses the model without them, or makes dims of them.
SuiteOutcome run_suite_test(const SuiteTest&, const CompileOptions&);

/// What to compile with: the host's best level, no cache on disk, one thread.
CompileOptions suite_options();

}  // namespace millrace::test
