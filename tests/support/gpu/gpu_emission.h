// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/ops/op_problems.h"

namespace millrace::test {

/// What is emitted for GPUs.
struct EmitCase {
  Op op;
  OpProblem problem;
  DType dtype;
  std::string algorithm = {};  // to force
};

/// Every op and algorithm with every dtype.
std::vector<EmitCase> every_emit_case();

/// Returns the mistake in a linked code object; empty: no mistake.
using CheckObject = std::function<std::string(std::span<const std::byte> object)>;

/// Emits the kernels of a case, and checks that the object of each matches its plan, spills no more than
/// allowed_spills.h permits and passes `check`. Returns the failure; empty if all succeeded, or if the algorithm
/// refuses according to the list of refusals.
std::string emit_case(const EmitCase&, std::string_view gfx, const CheckObject& check = {});

}  // namespace millrace::test
