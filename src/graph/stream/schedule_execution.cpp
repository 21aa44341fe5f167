// SPDX-License-Identifier: Apache-2.0
// Turns kernel sequences into steps and resources. Nothing here depends on what a kernel computes.
#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/stream/body_places.h"
#include "graph/stream/part_bytes.h"
#include "millrace/base/printable.h"
#include "millrace/graph/schedule.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

std::size_t count_kernels(const std::vector<std::vector<KernelSequence>>& sequences) {
  std::size_t count = 0;
  for (const std::vector<KernelSequence>& region : sequences) {
    for (const KernelSequence& sequence : region) count += sequence.kernels.size();
  }
  return count;
}

struct HashValue {
  std::size_t operator()(const Value& value) const {
    return std::hash<std::uint64_t>{}(std::uint64_t{index_of(value.node)} << 32 | value.result);
  }
};

using KernelKey = std::pair<std::string_view, std::string_view>;  // generator and key text

struct HashKernelKey {
  std::size_t operator()(const KernelKey& key) const { return std::hash<std::string_view>{}(key.second); }
};

class Scheduler {
 public:
  Scheduler(const DispatchGraph& dispatch, const ScheduledBodies& bodies)
      : dispatch_(dispatch), graph_(dispatch.graph), bodies_(bodies) {
    schedule_.is_body = graph_.is_body;
  }

  Result<Schedule> run(const std::vector<std::vector<KernelSequence>>& sequences, const std::set<Value>& constants) {
    MILLRACE_CHECK(sequences.size() == dispatch_.regions.size());
    const std::size_t num_values = graph_.inputs.size() + graph_.outputs.size() + constants.size() + sequences.size();
    schedule_.resources.reserve(num_values);
    resources_.reserve(num_values);
    add_inputs();
    add_variables();
    const std::vector<OutputCopy> copied = add_outputs();
    for (const Value& constant : constants) note_constant(resource_of(constant));
    for (const auto& [region, schedules] : bodies_) add_constants(schedules);
    schedule_.steps.reserve(copied.size() + dispatch_.copied_updates.size() + count_kernels(sequences));
    for (const OutputCopy& copy : copied) {
      if (copy.is_first) add_copy(copy.output);
    }
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const auto region = RegionId(i);
      for (const Value& output : dispatch_.regions[region].outputs) use_of(output);
      // A concat has one sequence per operand that is copied.
      const std::vector<CopiedOperand>& copies = dispatch_.regions[region].copies;
      for (std::size_t k = 0; k < sequences[i].size(); ++k) {
        add_sequence(region, sequences[i][k], k < copies.size() ? copies[k].reason : "");
      }
      if (!dispatch_.regions[region].bodies.empty()) add_control(region);
    }
    for (const OutputCopy& copy : copied) {
      if (!copy.is_first) add_copy(copy.output);
    }
    add_updates();
    std::uint32_t number = 0;
    for (Step& step : schedule_.steps) step.number = number++;
    return std::move(schedule_);
  }

 private:
  struct OutputCopy {
    std::size_t output = 0;
    bool is_first = false;  // whether this copy comes first, because it reads a variable's old value
  };
  struct Move {
    ResourceId from{}, to{};
    std::optional<PartId> part;  // the part of `from` that moves; absent: all of it
    std::string name, reason;
    SizeExpr bytes;
  };

  void add_inputs() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Node& node = graph_.nodes[graph_.inputs[i]];
      Resource resource{printable(std::get<InputNode>(node.what).name), Lifetime::kExternal,
                        size_bytes(node.results[0])};
      resource.input = static_cast<std::uint32_t>(i);
      resources_[{graph_.inputs[i], 0}] = schedule_.resources.push_back(std::move(resource));
    }
  }

  void add_variables() {
    for (const NodeId id : variables_of(graph_)) {
      const Node& node = graph_.nodes[id];
      resources_[{id, 0}] = schedule_.resources.push_back(
          {printable(*source_name(node)), Lifetime::kVariable, size_bytes(node.results[0])});
    }
  }

  /// If a value that a region stores is an output, the region writes directly to the first such output, unless the
  /// value is stored in a variable. Returns the outputs that need a copy: values stored in variables, inputs, constants
  /// and variables themselves, and further outputs of the same value.
  std::vector<OutputCopy> add_outputs() {
    std::vector<OutputCopy> copied;
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const GraphOutput& output = graph_.outputs[i];
      Resource resource{printable(output.name), Lifetime::kExternal, size_bytes(graph_.type(output.value))};
      resource.output = static_cast<std::uint32_t>(i);
      const ResourceId id = schedule_.resources.push_back(std::move(resource));
      output_resources_.push_back(id);
      const Value memory = dispatch_.memory_of(output.value);
      if (is_source(graph_.nodes[memory.node]) || !resources_.emplace(memory, id).second) {
        const Node& stored = graph_.nodes[dispatch_.storage_of(output.value).node];
        copied.push_back({i, std::holds_alternative<VariableNode>(stored.what)});
      }
    }
    return copied;
  }

  ResourceId resource_of(Value value) {
    const Value storage = dispatch_.memory_of(value);
    const auto it = resources_.find(storage);
    if (it != resources_.end()) return it->second;
    const Node& node = graph_.nodes[storage.node];
    Resource resource{value_text(graph_, storage), Lifetime::kTransient, size_bytes(graph_.type(storage))};
    if (const auto* constant = std::get_if<ConstantNode>(&node.what)) {
      resource.lifetime = Lifetime::kConstant;
      resource.constant = constant->data;
      resource.prepared = constant->prepared;
    }
    return resources_[storage] = schedule_.resources.push_back(std::move(resource));
  }

  /// The resource that holds the value, and the part of the resource that is the value.
  ResourceUse use_of(Value value) {
    std::vector<Value> chain = {dispatch_.memory_of(value)};  // from the part to the whole
    for (auto part = dispatch_.parts.find(chain[0]); part != dispatch_.parts.end();
         part = dispatch_.parts.find(chain.back())) {
      chain.push_back(part->second.whole);
    }
    ResourceUse use{resource_of(chain.back())};
    for (std::size_t i = chain.size() - 1; i-- > 0;) use.part = part_of(chain[i], use.resource, use.part);
    return use;
  }

  PartId part_of(Value value, ResourceId resource, std::optional<PartId> inside) {
    const auto [known, is_new] = parts_.try_emplace(value, PartId{});
    if (!is_new) return known->second;
    return known->second = schedule_.parts.push_back(
               {value_text(graph_, value), resource, inside, bytes_of(dispatch_.parts.at(value), graph_.type(value))});
  }

  void add_sequence(RegionId id, const KernelSequence& sequence, const std::string& copy_reason) {
    const Region& region = dispatch_.regions[id];
    std::vector<ResourceId> scratch;
    for (const SequenceScratch& needed : sequence.scratch) {
      scratch.push_back(schedule_.resources.push_back(
          {fmt::format("{}.{}", region.name, needed.name), Lifetime::kTransient, needed.size_bytes}));
    }
    for (const SequenceKernel& part : sequence.kernels) {
      Step step;
      step.name = part.kernel.name;
      step.label = region.label;
      step.kernel = kernel_index(part.kernel);
      step.region = id;
      step.num_groups = part.kernel.num_groups;
      step.sizes = part.kernel.sizes;
      step.flops = part.kernel.flops;
      step.copy_reason = copy_reason;
      step.uses.reserve(part.buffers.size());
      for (std::size_t i = 0; i < part.buffers.size(); ++i) {
        const SequenceOperand& buffer = part.buffers[i];
        ResourceUse use = buffer.kind == SequenceOperand::Kind::kScratch   ? ResourceUse{scratch[buffer.index]}
                          : buffer.kind == SequenceOperand::Kind::kOperand ? use_of(region.inputs[buffer.index])
                                                                           : use_of(region.outputs[buffer.index]);
        use.is_written = part.kernel.info.buffer_is_written[i];
        const bool is_known = i < part.touched.size() && part.touched[i];
        const ByteRange given = schedule_.kernel_buffer_bytes(use);
        if (is_known && is_part_of(given.length_bytes, *part.touched[i])) use.touched = part.touched[i];
        add_traffic(step, i < part.traffic.size() ? part.traffic[i] : BufferTraffic(), given.length_bytes);
        step.uses.push_back(std::move(use));
      }
      schedule_.steps.push_back(std::move(step));
    }
  }

  static void add_traffic(Step& step, const BufferTraffic& traffic, const SizeExpr& buffer_bytes) {
    step.bytes_read = step.bytes_read + traffic.read_bytes.value_or(buffer_bytes);
    step.bytes_written = step.bytes_written + traffic.written_bytes.value_or(buffer_bytes);
  }

  KernelIndex kernel_index(const PlannedKernel& kernel) {
    const auto [it, is_new] = kernels_.try_emplace({kernel.generator, kernel.key_text}, KernelIndex{});
    if (is_new) {
      it->second = schedule_.kernels.push_back(kernel);
      return it->second;
    }
    // The same code may need more memory for longer rows; the largest plan serves all.
    PlannedKernel& known = schedule_.kernels[it->second];
    if (known.info.workgroup_bytes < kernel.info.workgroup_bytes) {
      known.info.workgroup_bytes = kernel.info.workgroup_bytes;
      known.memory = kernel.memory;
    }
    return it->second;
  }

  // Loops and conditions.

  void note_constant(ResourceId id) {
    const SharedBytes& bytes = schedule_.resources[id].constant;
    if (!schedule_.resources[id].prepared) constants_.emplace(std::pair(bytes.data(), bytes.size()), id);
  }

  /// Adds the constants of bodies, which share memory with all other constants.
  void add_constants(const std::vector<std::shared_ptr<const Schedule>>& bodies) {
    for (const auto& body : bodies) {
      for (const Resource& resource : body->resources) {
        const bool is_new = resource.lifetime == Lifetime::kConstant &&
                            !constants_.contains({resource.constant.data(), resource.constant.size()});
        if (!is_new) continue;
        Resource constant{resource.name, Lifetime::kConstant, resource.size_bytes};
        constant.constant = resource.constant;
        note_constant(schedule_.resources.push_back(std::move(constant)));
      }
    }
  }

  void add_control(RegionId id) {
    const Region& region = dispatch_.regions[id];
    const Node& node = graph_.nodes[region.nodes[0]];
    const bool is_loop = std::holds_alternative<LoopNode>(node.what);
    Step step;
    step.name = region.name;
    step.label = region.label;
    step.region = id;
    ControlUses uses;
    uses.condition = add_use(step, is_loop ? add_first_values(id) : use_of(node.operands[0]), false);
    if (is_loop) uses.next_condition = add_use(step, step.uses[uses.condition], true);
    for (const Value& output : region.outputs) {
      if (is_loop) add_use(step, use_of(output), false);
      uses.results.push_back(add_use(step, use_of(output), true));
    }
    for (std::size_t i = 1 + (is_loop ? region.outputs.size() : 0); i < node.operands.size(); ++i) {
      uses.inputs.push_back(add_use(step, use_of(node.operands[i]), false));
    }
    StepControl control{.is_loop = is_loop, .bodies = {}};
    const std::vector<std::shared_ptr<const Schedule>>& bodies = bodies_.at(id);
    for (const SizeExpr& bytes : slot_bytes(bodies)) {
      std::string name = fmt::format("{}.slab{}", region.name, uses.slots.size());
      uses.slots.push_back(
          add_use(step, {schedule_.resources.push_back({std::move(name), Lifetime::kTransient, bytes})}, true));
    }
    for (const auto& body : bodies) {
      StepBody placed{.schedule = body, .places = place_body(*body, uses, step, constants_), .kernels = {}};
      for (const PlannedKernel& kernel : body->kernels) placed.kernels.push_back(kernel_index(kernel));
      control.bodies.push_back(std::move(placed));
    }
    step.control = std::make_shared<const StepControl>(std::move(control));
    schedule_.steps.push_back(std::move(step));
  }

  /// Copies the first states and the condition of a loop, unless they are in place. Returns the condition's memory.
  ResourceUse add_first_values(RegionId id) {
    const Region& region = dispatch_.regions[id];
    const Node& node = graph_.nodes[region.nodes[0]];
    ResourceUse condition = use_of(node.operands[0]);
    for (const CopiedOperand& copy : region.copies) {
      const Value operand = node.operands[copy.operand];
      ResourceUse to;
      std::string name;
      if (copy.operand == 0) {
        name = region.name + ".condition";
        to = condition = {schedule_.resources.push_back({name, Lifetime::kTransient, 1})};
      } else {
        to = use_of(region.outputs[copy.operand - 1]);
        name = value_text(graph_, region.outputs[copy.operand - 1]);
      }
      add_move(use_of(operand), std::move(to), name, copy.reason, size_bytes(graph_.type(operand)));
    }
    return condition;
  }

  void add_copy(std::size_t output) {
    const auto& [name, value] = graph_.outputs[output];
    const ResourceId from = resource_of(value);
    const Resource& source = schedule_.resources[from];
    const std::string text = value_text(graph_, value);
    std::string reason = fmt::format("{} is output {}, too", text, source.name);
    if (source.input) reason = text + " is an input";
    if (source.lifetime == Lifetime::kConstant) reason = text + " is a constant";
    if (source.lifetime == Lifetime::kVariable) {
      const Node& stored = graph_.nodes[dispatch_.storage_of(value).node];
      reason = std::holds_alternative<VariableNode>(stored.what)
                   ? text + " is a variable"
                   : fmt::format("{} is in the memory of variable {}", text, source.name);
    }
    add_move({from}, {output_resources_[output]}, printable(name), std::move(reason), size_bytes(graph_.type(value)));
  }

  void add_move(ResourceUse from, ResourceUse to, const std::string& name, std::string reason, const SizeExpr& bytes) {
    Step step;
    step.name = fmt::format("copy to {}", name);
    from.is_written = false;
    to.is_written = true;
    step.uses.push_back(std::move(from));
    step.uses.push_back(std::move(to));
    step.bytes_read = step.bytes_written = bytes;
    step.copy_reason = std::move(reason);
    schedule_.steps.push_back(std::move(step));
  }

  /// Copies new values to their variables, each as soon as nothing needs the variable's old value. If variables
  /// exchange their values, first copies one old value to temporary memory.
  void add_updates() {
    std::vector<Move> moves;
    for (const auto& [update, reason] : dispatch_.copied_updates) {
      const ResourceId to = resource_of({update.variable, 0});
      const ResourceUse from = use_of(update.value);
      moves.push_back(
          {from.resource, to, from.part, schedule_.resources[to].name, reason, size_bytes(graph_.type(update.value))});
    }
    while (!moves.empty()) {
      const auto is_needed = [&](const Move& move) {
        return std::ranges::any_of(moves, [&](const Move& other) { return other.from == move.to; });
      };
      auto next = std::ranges::find_if_not(moves, is_needed);
      if (next == moves.end()) {
        next = moves.begin();
        set_aside(*next, moves);
      }
      ResourceUse from{next->from};
      from.part = next->part;
      add_move(std::move(from), {next->to}, next->name, next->reason, next->bytes);
      moves.erase(next);
    }
  }

  /// Copies the value that the move overwrites, and makes the other moves read the copy.
  void set_aside(const Move& move, std::vector<Move>& moves) {
    const std::string name = move.name + ".old";
    const ResourceId aside = schedule_.resources.push_back({name, Lifetime::kTransient, move.bytes});
    add_move({move.to}, {aside}, name, "variables exchange their values", move.bytes);
    for (Move& other : moves) {
      if (other.from != move.to) continue;
      other.from = aside;
      other.part.reset();
    }
  }

  const DispatchGraph& dispatch_;
  const Graph& graph_;
  Schedule schedule_;
  std::unordered_map<Value, ResourceId, HashValue> resources_;
  std::unordered_map<Value, PartId, HashValue> parts_;
  std::vector<ResourceId> output_resources_;
  std::unordered_map<KernelKey, KernelIndex, HashKernelKey> kernels_;  // the keys point into the sequences
  const ScheduledBodies& bodies_;
  ConstantPlaces constants_;
};

}  // namespace

Result<Schedule> schedule_execution(const DispatchGraph& dispatch,
                                    const std::vector<std::vector<KernelSequence>>& sequences,
                                    const std::set<Value>& constants, const ScheduledBodies& bodies) {
  return guard_allocations([&] { return Scheduler(dispatch, bodies).run(sequences, constants); });
}

}  // namespace millrace
