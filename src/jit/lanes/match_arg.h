// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "millrace/base/status.h"
#include "millrace/jit/arg_descriptor.h"

namespace millrace {

/// Whether the nest computes the index of a minimum or maximum.
bool finds_index(const LoopKernel&);

/// The argmax or argmin that a nest computes. Refuses other nests. The nest must read the rows of one operand and
/// nothing else; its rows are contiguous, or they are a few long rows that interleave. The result has the dims that
/// collapse_dims() leaves.
Result<ArgDescriptor> match_arg(const LoopKernel&);

/// The dim along which rows interleave, like the columns of a row-major matrix; none if rows are contiguous.
std::optional<std::size_t> columns_dim(const ArgDescriptor&);
/// How many rows interleave; 1 if rows are contiguous.
std::int64_t num_columns(const ArgDescriptor&);

}  // namespace millrace
