// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/structure/source_tree.h"

namespace millrace::structure {

constexpr int kMaxLines = 500;

/// A file is one concept; a longer file contains a second one.
Violations check_file_lengths(const SourceTree&);

/// Every source file begins with its one SPDX line.
Violations check_licence_lines(const SourceTree&);

}  // namespace millrace::structure
