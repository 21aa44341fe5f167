// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/structure/source_tree.h"

namespace millrace::structure {

/// Functions that include/ declares and src/ defines, return a Status or a Result, and do not run in
/// guard_allocations(): an exception would reach the caller when memory runs out. A body may instead return what
/// another overload returns.
Violations check_public_functions_are_guarded(const SourceTree&);

}  // namespace millrace::structure
