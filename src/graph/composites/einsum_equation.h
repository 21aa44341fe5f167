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

/// What stands for one dim of a tensor in an einsum: a letter, or kEllipsis + i for the dim of "..." that has i dims of
/// "..." behind it.
using EinsumLabel = int;
inline constexpr EinsumLabel kEllipsis = 256;
using EinsumLabels = std::vector<EinsumLabel>;

/// An equation whose "..." stand for the dims of certain operands.
struct EinsumEquation {
  std::vector<EinsumLabels> operands;  // one label per dim
  EinsumLabels result;
};

/// Reads "ij,jk->ik" as NumPy does. "..." in a term stands for all dims without a letter, which are broadcast; it also
/// stands in a result that is given. A letter may be repeated in an operand, whose diagonal it then names. Without
/// "->", the result has the dims of "..." and the letters that are there once, in the order of the alphabet (capitals
/// first). Fails if the equation is wrong, or wrong for these types.
Result<EinsumEquation> read_einsum(std::string_view equation, std::span<const TensorType> types);

}  // namespace millrace
