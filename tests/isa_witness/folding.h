// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/base/status.h"

namespace millrace::test {

struct FoldingReport {
  std::string instruction;
  int num_folded = 0;  // of the constants that were tried
  std::vector<std::string> mistakes = {};
};

/// What LLVM's folding of the intrinsics of AMD GPUs says of the rows of their instructions. Needs the target's
/// initialization.
Result<std::vector<FoldingReport>> check_foldings(std::uint64_t seed);

}  // namespace millrace::test
