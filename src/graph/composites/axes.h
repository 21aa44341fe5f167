// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/graph/builder.h"

namespace millrace {

/// The dim that a composite's axis names, which may count from the end. If there is no such dim, reports the mistake to
/// the builder.
std::optional<std::size_t> find_axis(std::string_view composite, Tensor x, std::int64_t axis);

/// Marks the dims that the axes name; each may be named once. Otherwise, reports the mistake to the builder of x.
std::optional<std::vector<bool>> find_axes(std::string_view composite, Tensor x, std::span<const std::int64_t> axes,
                                           std::size_t rank);

}  // namespace millrace
