// SPDX-License-Identifier: Apache-2.0
// The tests of ONNX's backends with symbols in place of the sizes of inputs: one symbol per distinct extent above 1.
#pragma once

#include <string>
#include <vector>

#include "tests/graph/import/onnx/suite/suite.h"

namespace millrace::test {

enum class SymbolicResult {
  kEqual,    // the outputs of every data set agree with the expected ones, from one import
  kRefused,  // the importer says why not
  kDiffers,  // wrong outputs, or an error after the import
};

struct SymbolicOutcome {
  SymbolicResult result = SymbolicResult::kEqual;
  std::string op;                  // of the model's node; "several" if it has more than one
  std::string reason = {};         // unless they are equal
  std::vector<std::string> given;  // inputs whose values the import needs
  std::vector<std::string> dims;   // inputs that decide shapes, and became dims
};

/// Imports the test's model with a symbol d5 for each extent 5 of its inputs, and so on; extents of 1 stay, and so do
/// initializers. Then runs it with every data set, of whatever sizes. The values of inputs are given only if the
/// importer refuses the model without them; their extents, and those of inputs that become dims, stay too.
SymbolicOutcome run_symbolic_test(const SuiteTest&, const CompileOptions&);

}  // namespace millrace::test
