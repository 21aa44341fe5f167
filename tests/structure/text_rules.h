// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/structure/source_tree.h"

namespace millrace::structure {

/// Every source file begins with its one SPDX line.
Violations check_licence_lines(const SourceTree&);

}  // namespace millrace::structure
