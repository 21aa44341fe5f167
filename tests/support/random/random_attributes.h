// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tests/support/random/random_choice.h"

namespace millrace::test {

/// Random attributes of the op that may be right for operands of these types. Its type rule may refuse them.
Attributes random_attributes(RandomChoice&, Op, std::span<const TensorType> operands);

}  // namespace millrace::test
