// SPDX-License-Identifier: Apache-2.0
// Maps the memory of loop and branch bodies into the schedule around them.
#include "graph/stream/body_places.h"

namespace millrace {
namespace {

/// Numbers the slots of a body's slab: slot 0 has all transients of constant size.
class BodySlots {
 public:
  std::size_t number(const Resource& transient) {
    if (transient.size_bytes.is_constant()) return 0;
    return numbers_.try_emplace(transient.offset_bytes, numbers_.size() + 1).first->second;
  }

 private:
  std::map<SizeExpr, std::size_t, decltype(&form_less)> numbers_{&form_less};
};

}  // namespace

std::uint32_t add_use(Step& step, ResourceUse use, bool is_written) {
  use.is_written = is_written;
  step.uses.push_back(std::move(use));
  return static_cast<std::uint32_t>(step.uses.size() - 1);
}

std::vector<SizeExpr> slot_bytes(Bodies bodies) {
  std::vector<SizeExpr> bytes;
  for (const auto& body : bodies) {
    BodySlots slots;
    for (const Resource& resource : body->resources) {
      if (resource.lifetime != Lifetime::kTransient) continue;
      const std::size_t slot = slots.number(resource);
      if (bytes.size() <= slot) bytes.resize(slot + 1, 0);
      bytes[slot] =
          max(bytes[slot], slot == 0 ? resource.offset_bytes + resource.reserved_bytes : resource.reserved_bytes);
    }
  }
  return bytes;
}

IdVector<ResourceId, BodyPlace> place_body(const Schedule& body, const ControlUses& uses, Step& step,
                                           const ConstantPlaces& constants) {
  IdVector<ResourceId, BodyPlace> places;
  std::size_t num_states = 0;
  BodySlots slots;
  for (const Resource& resource : body.resources) {
    BodyPlace place;
    if (resource.lifetime == Lifetime::kTransient) {
      const std::size_t slot = slots.number(resource);
      place = {uses.slots[slot], slot == 0 ? resource.offset_bytes : SizeExpr(0)};
    }
    if (resource.lifetime == Lifetime::kVariable) place = {uses.results[num_states++]};
    if (resource.lifetime == Lifetime::kConstant) {
      place = {add_use(step, {constants.at({resource.constant.data(), resource.constant.size()})}, false)};
    }
    if (resource.input) place = {uses.inputs[*resource.input]};
    if (resource.output) place = {uses.next_condition ? *uses.next_condition : uses.results[*resource.output]};
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace millrace
