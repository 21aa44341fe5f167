// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/op.h"

namespace millrace::test {

/// How many scalar registers a kernel of the op may spill to lanes of vector registers, on any GPU: what
/// tests/ops/scalar_spills.txt lists with the reason, else none.
std::uint32_t allowed_scalar_spills(Op, DType);

}  // namespace millrace::test
