// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "tests/structure/source_tree.h"

namespace millrace::structure {

/// A phrase that a native engineer reads twice, and where it is right.
struct TellTale {
  std::string_view phrase;
  std::string_view instead;
  std::vector<std::string_view> allowed = {};  // parts of lines that may have it
};

std::span<const TellTale> tell_tales();

/// No line of the tree has a tell-tale. Tests, which quote mistakes, are left out.
Violations check_tell_tales(const SourceTree&, std::span<const TellTale>);

/// Every .cpp of src/ and tools/ says in its first lines what it is for, or its header does.
Violations check_opening_sentences(const SourceTree&);

}  // namespace millrace::structure
