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

// Places the resources of the bodies of a loop or a condition in the memory of the step that holds the bodies.

namespace millrace {

/// The buffers that the step uses, by index in Step::uses.
struct ControlUses {
  std::uint32_t condition = 0;
  std::optional<std::uint32_t> next_condition = {};  // for a loop
  std::vector<std::uint32_t> results, inputs;
  std::vector<std::uint32_t> slots;  // in the order of slot_bytes()
};

/// Appends a use. Returns its index.
std::uint32_t add_use(Step&, ResourceUse, bool is_written);

using Bodies = std::span<const std::shared_ptr<const Schedule>>;
/// The sizes of the buffers that hold the bodies' transients. Bodies share the buffers, because only one body runs at a
/// time. The first buffer is for the transients of constant size; then there is one per slot of symbolic size. Separate
/// buffers need no proof that the slots are disjoint.
std::vector<SizeExpr> slot_bytes(Bodies);

/// The constants of the outer schedule, keyed by the address and size of their bytes.
using ConstantPlaces = std::map<std::pair<const std::byte*, std::size_t>, ResourceId>;
/// Returns a place for each of the body's resources. Adds a use for each of its constants.
IdVector<ResourceId, BodyPlace> place_body(const Schedule& body, const ControlUses&, Step&, const ConstantPlaces&);

}  // namespace millrace
