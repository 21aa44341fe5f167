// SPDX-License-Identifier: Apache-2.0
// Turns the steps of a schedule into a command list, with one binding per argument and one per kind of memory.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "millrace/graph/schedule.h"

namespace millrace {
namespace {

/// The binding of a resource, and the resource's offset in that binding.
struct Place {
  BindingIndex binding{};
  SizeExpr offset_bytes;
};

class Recorder {
 public:
  explicit Recorder(const Schedule& schedule) : schedule_(schedule), outermost_{schedule, {}, nullptr} {
    outermost_.places.resize(schedule.resources.size());
  }

  CommandList run() {
    bind_arguments(BindingKind::kInput);
    bind_arguments(BindingKind::kOutput);
    bind_packed("constants", BindingKind::kConstant, Lifetime::kConstant, schedule_.constant_bytes);
    const auto is_variable = [](const Resource& each) { return each.lifetime == Lifetime::kVariable; };
    if (std::ranges::any_of(schedule_.resources, is_variable)) {
      bind_packed("variables", BindingKind::kVariable, Lifetime::kVariable, schedule_.variable_bytes);
    }
    if (schedule_.is_placed_by_runs()) {
      bind_each_transient();
    } else {
      bind_packed("slab", BindingKind::kTransient, Lifetime::kTransient, schedule_.slab_bytes);
    }
    for (const PlannedKernel& kernel : schedule_.kernels) list_.kernels.push_back(kernel.info);
    list_.commands = commands_of(outermost_);
    return std::move(list_);
  }

 private:
  /// The outermost schedule, or the schedule of a body, which belongs to a step of an outer schedule.
  struct Scope {
    const Schedule& schedule;
    IdVector<ResourceId, Place> places;
    const StepBody* body;
    const Scope* outer = nullptr;

    KernelIndex kernel(KernelIndex own) const { return body == nullptr ? own : outer->kernel(body->kernels[own]); }
  };

  std::vector<Command> commands_of(const Scope& scope) {
    std::vector<Command> commands;
    commands.reserve(scope.schedule.steps.size());
    std::uint32_t timepoint = 0;
    for (const Step& step : scope.schedule.steps) {
      if (step.timepoint != timepoint) commands.emplace_back(BarrierCommand{});
      timepoint = step.timepoint;
      commands.push_back(command_of(scope, step));
    }
    return commands;
  }

  /// Like CommandList::add_size, but finds an equal size in a map instead of comparing all sizes.
  SizeIndex add_size(const SizeExpr& size) {
    return size.is_constant() ? add_size(constants_, size.constant(), size) : add_size(symbolic_, size, size);
  }

  template <class Map>
  SizeIndex add_size(Map& indices, const typename Map::key_type& key, const SizeExpr& size) {
    const auto [place, is_new] = indices.try_emplace(key, SizeIndex{});
    if (is_new) place->second = list_.sizes.push_back(size);
    return place->second;
  }

  BindingIndex add_binding(std::string name, BindingKind kind, const SizeExpr& bytes) {
    return list_.bindings.push_back({std::move(name), kind, add_size(bytes)});
  }

  /// Adds the bindings in the order of the caller's arguments.
  void bind_arguments(BindingKind kind) {
    std::map<std::uint32_t, ResourceId> ordered;
    for (std::uint32_t i = 0; i < schedule_.resources.size(); ++i) {
      const Resource& resource = schedule_.resources[ResourceId{i}];
      const auto& number = kind == BindingKind::kInput ? resource.input : resource.output;
      if (number) ordered[*number] = ResourceId{i};
    }
    for (const auto& [number, id] : ordered) {
      const Resource& resource = schedule_.resources[id];
      outermost_.places[id] = {add_binding(resource.name, kind, resource.size_bytes), 0};
    }
  }

  /// Puts all resources of one lifetime into one binding.
  void bind_packed(std::string name, BindingKind kind, Lifetime lifetime, const SizeExpr& bytes) {
    const BindingIndex binding = add_binding(std::move(name), kind, bytes);
    for (std::uint32_t i = 0; i < schedule_.resources.size(); ++i) {
      const Resource& resource = schedule_.resources[ResourceId{i}];
      if (resource.lifetime != lifetime) continue;
      outermost_.places[ResourceId{i}] = {binding, resource.offset_bytes};
    }
  }

  void bind_each_transient() {
    for (std::uint32_t i = 0; i < schedule_.resources.size(); ++i) {
      const Resource& resource = schedule_.resources[ResourceId{i}];
      if (resource.lifetime != Lifetime::kTransient) continue;
      outermost_.places[ResourceId{i}] = {add_binding(resource.name, BindingKind::kTransient, resource.size_bytes), 0};
    }
  }

  BufferRange range(const Scope& scope, const ResourceUse& use) {
    const Place& place = scope.places[use.resource];
    const ByteRange given = scope.schedule.kernel_buffer_bytes(use);
    return {place.binding, add_size(place.offset_bytes + given.offset_bytes), add_size(given.length_bytes)};
  }

  Command command_of(const Scope& scope, const Step& step) {
    if (step.kernel) return dispatch_of(scope, step);
    if (step.control != nullptr) return control_of(scope, step);
    const BufferRange to = range(scope, step.uses[1]);
    BufferRange from = range(scope, step.uses[0]);
    from.length_bytes = to.length_bytes;  // after a reshape, the same size may be another expression
    return CopyCommand{from, to};
  }

  DispatchCommand dispatch_of(const Scope& scope, const Step& step) {
    DispatchCommand dispatch{scope.kernel(*step.kernel), add_size(step.num_groups)};
    dispatch.label = step.label;
    dispatch.buffers.reserve(step.uses.size());
    dispatch.sizes.reserve(step.sizes.size());
    for (const ResourceUse& use : step.uses) dispatch.buffers.push_back(range(scope, use));
    for (const SizeExpr& size : step.sizes) dispatch.sizes.push_back(add_size(size));
    for (std::size_t i = 0; i < step.uses.size(); ++i) {
      const ByteRange bytes = scope.schedule.touched_bytes(step.uses[i]);
      if (!step.uses[i].touched && !bytes.has_rows()) continue;
      if (dispatch.touched.empty()) dispatch.touched.assign(dispatch.buffers.begin(), dispatch.buffers.end());
      const Place& place = scope.places[step.uses[i].resource];
      TouchedRange& touched = dispatch.touched[i];
      touched =
          BufferRange{place.binding, add_size(place.offset_bytes + bytes.offset_bytes), add_size(bytes.length_bytes)};
      for (const auto& [pitch, row] : bytes.rows) touched.rows.push_back({add_size(pitch), add_size(row)});
    }
    return dispatch;
  }

  Command control_of(const Scope& scope, const Step& step) {
    std::vector<std::shared_ptr<const CommandBlock>> blocks;
    for (const StepBody& body : step.control->bodies) {
      Scope inner{*body.schedule, {}, &body, &scope};
      for (const BodyPlace& place : body.places) {
        const ResourceUse& use = step.uses[place.use];
        const Place& outer = scope.places[use.resource];
        inner.places.push_back(
            {outer.binding,
             outer.offset_bytes + scope.schedule.kernel_buffer_bytes(use).offset_bytes + place.offset_bytes});
      }
      blocks.push_back(std::make_shared<const CommandBlock>(CommandBlock{commands_of(inner)}));
    }
    const BufferRange condition = range(scope, step.uses[0]);
    if (step.control->is_loop) return LoopCommand{condition, blocks[0]};
    return CondCommand{condition, blocks[0], blocks[1]};
  }

  const Schedule& schedule_;
  CommandList list_;
  Scope outermost_;
  std::unordered_map<std::int64_t, SizeIndex> constants_;
  std::map<SizeExpr, SizeIndex, decltype(&form_less)> symbolic_{&form_less};
};

}  // namespace

Result<CommandList> record_commands(const Schedule& schedule) {
  return guard_allocations([&]() -> Result<CommandList> {
    CommandList list = Recorder(schedule).run();
    if constexpr (kVerifiesSteps) MILLRACE_TRY(validate(list));
    return list;
  });
}

}  // namespace millrace
