// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "millrace/ops/op_def.h"

namespace millrace {

/// The only axis along which the pad adds elements, if it is one; the others surely add none.
std::optional<std::size_t> padded_axis(const PadAttrs&);

/// Requests that store what the pad adds before and behind its operand, which are in the result already. They read
/// nothing. Precondition: padded_axis().
Result<std::vector<KernelRequest>> build_pad_borders(const OpInstance&);

}  // namespace millrace
