// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/status.h"
#include "millrace/jit/arg_descriptor.h"

namespace millrace {

/// Whether the nest computes the index of an extreme.
bool finds_index(const LoopKernel&);

/// The argmax or argmin that a nest computes. Refuses nests that compute anything else, or that read something else
/// than one operand's contiguous rows. The result has the dims that collapse_dims() leaves.
Result<ArgDescriptor> match_arg(const LoopKernel&);

}  // namespace millrace
