// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/structure/source_tree.h"

namespace millrace::structure {

constexpr int kMaxLines = 400;
constexpr int kMaxFolderFiles = 40;
constexpr int kMaxFunctionLines = 60;
constexpr std::size_t kMaxEqualLines = 11;

/// A file is one concept; a longer one has a second concept in it.
Violations check_file_lengths(const SourceTree&);

/// A folder is a room that one can look around in. Counted are the sources that are not in a folder of it.
Violations check_folder_sizes(const SourceTree&);

/// A function of src/, include/ or tools/ fits on a screen. Counted are the lines between its braces. A function is
/// what clang-format lays out like one: a line that ends with ") {" and is no statement, up to the brace below its
/// start.
Violations check_function_lengths(const SourceTree&);

/// No two files of src/ and include/ have more than kMaxEqualLines lines in common that follow each other. Empty lines,
/// comments and includes do not count.
Violations check_equal_lines(const SourceTree&);

}  // namespace millrace::structure
