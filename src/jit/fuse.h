// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "jit/affine.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

/// The number of `load` in `loads`; appended when it is not there.
inline std::uint32_t find_or_add_load(std::vector<Access>& loads, Access load) {
  const auto found = std::find(loads.begin(), loads.end(), load);
  if (found != loads.end()) return static_cast<std::uint32_t>(found - loads.begin());
  loads.push_back(std::move(load));
  return static_cast<std::uint32_t>(loads.size() - 1);
}

/// The load instruction again, of another access. Its dynamic index, if any, is already one of `builder`'s values.
inline BodyValue load_copy(BodyBuilder& builder, const BodyInstruction& load, std::uint32_t access) {
  if (load.num_operands == 0) return builder.load(access, load.dtype);
  return builder.load(access, load.dtype, BodyValue{load.operands[0], DType::kI64});
}

/// The index as an i64 value; nothing when a coefficient or the offset is not constant, which no body can say.
std::optional<BodyValue> affine_value(BodyBuilder& builder, const AffineIndex& index);

/// `body`'s value number `yield` as it is after a store to and a load from a tensor of `stored`: 16-bit floats round,
/// unless the value was just loaded from such a tensor.
BodyValue as_stored(BodyBuilder& builder, BodyValue value, const LoopKernel& made_by, std::size_t yield, DType stored);

}  // namespace millrace
