// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace millrace::structure {

/// The files in the folders tests/**/golden, relative to the repository.
std::vector<std::string> find_golden_files(const std::filesystem::path& repository);

/// Every golden file is named, in quotes, by a test next to its folder.
Violations check_golden_files_are_used(const std::vector<std::string>& golden_files, const SourceTree&);

}  // namespace millrace::structure
