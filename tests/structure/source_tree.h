// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace millrace::structure {

/// One `#include` as written: `<vector>` gives {"vector", false}.
struct Include {
  std::string path;
  bool quoted;
  int line;
};

/// A C++ source file; `path` is relative to the repository, with forward slashes.
struct SourceFile {
  std::string path;
  std::string text;
};

using SourceTree = std::vector<SourceFile>;

/// Broken rules, each as "path:line: the mistake; what to do".
using Violations = std::vector<std::string>;

/// Reads every .h, .cpp and .inc under the repository's source folders.
SourceTree load_source_tree(const std::filesystem::path& repository);

std::vector<Include> includes_of(const SourceFile&);

/// The file of the tree that a quoted include means, or nullptr.
const SourceFile* resolve_include(const SourceTree&, const SourceFile& from, const Include&);

std::string join_lines(const Violations&);

}  // namespace millrace::structure
