// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/op.h"

namespace millrace::test {

/// How many scalar registers a kernel of the op may spill to lanes of vector registers, on any GPU: the number in
/// tests/ops/scalar_spills.txt, which also gives the reason, else 0.
std::uint32_t allowed_scalar_spills(Op, DType);

}  // namespace millrace::test
