// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/shape.h"
#include "millrace/base/status.h"

namespace millrace {

/// The label of one dim of a tensor in an einsum: a letter, or kEllipsis + i for the dim of "..." that is followed by i
/// more dims of "...".
using EinsumLabel = int;
inline constexpr EinsumLabel kEllipsis = 256;
using EinsumLabels = std::vector<EinsumLabel>;

/// A parsed equation in which "..." is expanded to the dims that the given operands have there.
struct EinsumEquation {
  std::vector<EinsumLabels> operands;  // one label per dim
  EinsumLabels result;
};

/// Reads "ij,jk->ik" as NumPy does. "..." in a term stands for all dims without a letter, which are broadcast; an
/// explicit result must contain it too. A letter may be repeated in an operand, and then names its diagonal. Without
/// "->", the result has the dims of "..." and the letters that occur once, in alphabetical order (capitals first).
/// Fails if the equation is malformed or does not fit the types.
Result<EinsumEquation> read_einsum(std::string_view equation, std::span<const TensorType> types);

}  // namespace millrace
