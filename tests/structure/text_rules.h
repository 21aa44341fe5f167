// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/structure/source_tree.h"

namespace millrace::structure {

constexpr int kMaxLines = 500;

/// A file is one concept; a longer one has a second concept in it.
Violations check_file_lengths(const SourceTree&);

/// Every source file begins with its one SPDX line.
Violations check_licence_lines(const SourceTree&);

/// README.md shows examples/first_program.cpp word for word, so that what a reader copies is what the tests run.
Violations check_readme_program(const std::string& readme, const SourceTree&);

}  // namespace millrace::structure
