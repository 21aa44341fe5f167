// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/body.h"
#include "millrace/ops/op.h"

namespace millrace {

/// The element of an iota at an index (an i64) along its axis, in body_dtype of its dtype; the caller rounds it to the
/// dtype.
BodyValue iota_value(BodyBuilder&, const IotaAttrs&, BodyValue index);
/// The axis, counted from the front.
std::size_t iota_axis(const IotaAttrs&);

}  // namespace millrace
