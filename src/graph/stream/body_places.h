// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "millrace/graph/schedule.h"

// Where the resources of the bodies of a loop or a condition are, in the memory of the step that holds them.

namespace millrace {

/// What the step uses, by numbers in Step::uses.
struct ControlUses {
  std::uint32_t condition = 0;
  std::optional<std::uint32_t> next_condition = {};  // of a loop
  std::vector<std::uint32_t> results, inputs;
  std::vector<std::uint32_t> slots;  // as slot_bytes() has them
};

/// Appends a use. Returns its number.
std::uint32_t add_use(Step&, ResourceUse, bool is_written);

using Bodies = std::span<const std::shared_ptr<const Schedule>>;
/// The slabs of the bodies, of which one runs at a time: first what holds the transients of constant size, then the
/// slots of the others, each of which is memory of its own, so that no two need a proof that they are apart.
std::vector<SizeExpr> slot_bytes(Bodies);

/// The constants of the schedule around, by where their bytes are.
using ConstantPlaces = std::map<std::pair<const std::byte*, std::size_t>, ResourceId>;
/// A place for each of the body's resources. Adds a use for each of its constants.
IdVector<ResourceId, BodyPlace> place_body(const Schedule& body, const ControlUses&, Step&, const ConstantPlaces&);

}  // namespace millrace
