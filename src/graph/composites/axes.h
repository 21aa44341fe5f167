// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/composites/composite.h"

namespace millrace {

/// The dim that a composite's axis names, which may count from the end. If there is no such dim, reports the mistake.
std::optional<std::size_t> find_axis(const Composite&, Tensor x, std::int64_t axis);

/// Marks the dims that the axes name. If an axis is out of range or named twice, reports the mistake.
std::optional<std::vector<bool>> find_axes(const Composite&, Tensor x, std::span<const std::int64_t> axes,
                                           std::size_t rank);

}  // namespace millrace
