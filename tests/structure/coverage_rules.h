// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tests/structure/source_tree.h"

namespace millrace::structure {

/// A table of rows `macro(name, ...)`, and the files in which each row has its test: as `enumeration::name`, or in a
/// text of kernels by the row's second argument.
struct TestedTable {
  std::string_view path;
  std::string_view macro;
  std::string_view enumeration;
  std::string_view tests;  // how the path of a file with tests begins
};

/// Every row of the table has a row among the tests.
Violations check_rows_are_tested(const SourceTree&, const TestedTable&);

}  // namespace millrace::structure
