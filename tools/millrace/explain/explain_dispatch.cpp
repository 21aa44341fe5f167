// SPDX-License-Identifier: Apache-2.0
// Describes one dispatch for `millrace explain`: nodes, reasons, kernels, cost and occupancy.
#include "tools/millrace/explain/explain_dispatch.h"

#include <algorithm>
#include <map>

#include "millrace/base/indent.h"
#include "millrace/graph/code_object.h"
#include "millrace/graph/text.h"
#include "millrace/jit/occupancy.h"
#include "tools/millrace/dims.h"
#include "tools/millrace/explain/explain_text.h"

namespace millrace::tool {
namespace {

/// The metadata of the kernels' GPU code, read back from the object.
Result<CodeObjectInfo> emit_code(const LoweredGraph& lowered, const Target& target) {
  MILLRACE_TRY_ASSIGN(const std::vector<std::byte> object, make_code_object(lowered, target));
  return read_code_object(object);
}

std::string refusals(int indent, const std::vector<Refusal>& refusals) {
  std::string text;
  for (const Refusal& refusal : refusals) text += line(indent, "refused", refusal.who + ": " + refusal.reason);
  return text;
}

/// The name without digits, which the passes of one algorithm share.
std::string pass_name(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

/// The steps of each region, in the graph's order, which is the order of the region's kernels.
std::vector<std::vector<StepId>> steps_by_region(const LoweredGraph& lowered) {
  std::vector<std::vector<StepId>> steps(lowered.dispatch.regions.size());
  for (std::uint32_t i = 0; i < lowered.schedule.steps.size(); ++i) {
    const Step& step = lowered.schedule.steps[StepId{i}];
    if (step.region) steps[index_of(*step.region)].push_back(StepId{i});
  }
  for (std::vector<StepId>& of_region : steps) {
    std::ranges::sort(of_region, {}, [&](StepId id) { return lowered.schedule.steps[id].number; });
  }
  return steps;
}

/// The separations, grouped by the region of the reader. They are left out if the reader is a concat that other regions
/// store, because it is in no region. Only views that are not stored can be in several regions, and they are never
/// readers.
std::vector<std::vector<const Separation*>> separations_by_region(const DispatchGraph& dispatch) {
  std::map<NodeId, RegionId> regions;
  for (std::uint32_t i = 0; i < dispatch.regions.size(); ++i) {
    for (const NodeId node : dispatch.regions[RegionId{i}].nodes) regions[node] = RegionId{i};
  }
  std::vector<std::vector<const Separation*>> separations(dispatch.regions.size());
  for (const Separation& edge : dispatch.separations) {
    const auto region = regions.find(edge.reader);
    if (region != regions.end()) separations[index_of(region->second)].push_back(&edge);
  }
  return separations;
}

}  // namespace

DispatchText::DispatchText(const LoweredGraph& lowered, const SymbolValues& symbols, const Target& target,
                           MeasuredSteps* measured)
    : lowered_(lowered),
      symbols_(symbols),
      target_(target),
      measured_(measured),
      steps_(steps_by_region(lowered)),
      separations_(separations_by_region(lowered.dispatch)) {
  if (has_code()) code_ = emit_code(lowered, target);
}

std::string DispatchText::number(const SizeExpr& size) const { return size_text(size, symbols_); }

bool DispatchText::has_code() const { return target_.spec().is_gpu() && !target_.spec().is_simulated(); }

std::string DispatchText::dispatch(RegionId id) const {
  const Graph& graph = lowered_.dispatch.graph;
  const Region& region = lowered_.dispatch.regions[id];
  std::string nodes;
  for (const NodeId node : region.nodes) nodes += (nodes.empty() ? "" : ", ") + node_text(graph, node);
  std::string text =
      fmt::format("dispatch {}: {}\n", index_of(id), labelled(region.name, region.label)) + line(2, "nodes", nodes);
  for (const std::string& reason : region.reasons) text += line(2, "because", reason);
  for (const Separation* edge : separations_[index_of(id)]) text += line(2, "apart", to_text(graph, *edge));
  text += places(region);
  std::size_t kernel = 0;
  for (const KernelSequence& sequence : lowered_.sequences[index_of(id)]) {
    text += describe(id, sequence, kernel);
    kernel += sequence.kernels.size();
  }
  return text + bodies(id);
}

/// The dispatches of a loop's body, or of both branches.
std::string DispatchText::bodies(RegionId id) const {
  const auto found = lowered_.bodies.find(id);
  if (found == lowered_.bodies.end()) return "";
  std::string text;
  for (const std::shared_ptr<LoweredGraph>& body : found->second) {
    text += line(2, "body", body->dispatch.graph.name);
    const DispatchText inner(*body, symbols_, target_, nullptr);
    for (std::uint32_t i = 0; i < body->dispatch.regions.size(); ++i) {
      text += indented(inner.dispatch(RegionId{i}), "    ");
    }
  }
  return text;
}

/// Lists the values that the region stores or reads in the memory of a concat or pad, and the results that overwrite
/// another value in its memory.
std::string DispatchText::places(const Region& region) const {
  std::string text;
  for (const std::vector<Value>* values : {&region.inputs, &region.outputs}) {
    for (const Value& value : *values) {
      const auto part = lowered_.dispatch.parts.find(lowered_.dispatch.storage_of(value));
      if (part == lowered_.dispatch.parts.end()) continue;
      std::string place =
          fmt::format("{} is in the memory of {}, from element {}", value_text(lowered_.dispatch.graph, value),
                      value_text(lowered_.dispatch.graph, part->second.whole), number(part->second.offset_elements));
      for (const StoragePart::Rows& rows : part->second.rows) place += ", a row every " + number(rows.pitch_elements);
      text += line(2, "place", place);
    }
  }
  for (const Value& value : region.outputs) {
    const auto old = lowered_.dispatch.in_place.find(value);
    if (old == lowered_.dispatch.in_place.end()) continue;
    text += line(2, "place",
                 fmt::format("{} replaces {} in its memory", value_text(lowered_.dispatch.graph, value),
                             value_text(lowered_.dispatch.graph, old->second)));
  }
  return text;
}

/// A pass that equals an earlier one is described in one line.
std::string DispatchText::describe(RegionId id, const KernelSequence& sequence, std::size_t first_kernel) const {
  std::string text = line(2, "algorithm", sequence.algorithm) + refusals(4, sequence.refusals);
  for (const SequenceScratch& scratch : sequence.scratch) {
    text += line(4, "scratch", fmt::format("{}: {} bytes", scratch.name, number(scratch.size_bytes)));
  }
  std::map<std::string, std::pair<std::string, std::string>> passes;  // pass_name -> kernel, details
  for (std::size_t i = 0; i < sequence.kernels.size(); ++i) {
    const SequenceKernel& entry = sequence.kernels[i];
    const StepId step_id = steps_[index_of(id)][first_kernel + i];
    const Step& step = lowered_.schedule.steps[step_id];
    const std::string& name = entry.kernel.name;
    const std::string head = fmt::format(" by {}, groups: {}", entry.kernel.generator, number(step.num_groups));
    const std::string lines = details(entry, step), symbol = has_code() ? kernel_symbol(entry.kernel) : "";
    auto& [known, known_details] = passes[pass_name(name)];
    if (known_details == head + lines) {
      text += line(2, "kernel", fmt::format("{}, as {}{}", name, known, symbol.empty() ? "" : ", symbol " + symbol));
    } else {
      text += line(2, "kernel", name + head) + (symbol.empty() ? "" : line(4, "symbol", symbol)) + lines;
    }
    if (measured_ != nullptr) text += line(4, "measured", measured_->text(index_of(step_id), step));
    known = name;
    known_details = head + lines;
  }
  return text;
}

std::string DispatchText::details(const SequenceKernel& entry, const Step& step) const {
  const PlannedKernel& kernel = entry.kernel;
  std::string text = refusals(4, entry.refusals);
  if (!kernel.mapping.empty()) text += line(4, "mapping", kernel.mapping);
  text += cost(cost_of(step, symbols_));
  if (has_code()) text += occupancy(kernel);
  if (kernel.info.workgroup_bytes + kernel.info.private_bytes == 0) return text;
  return text + line(4, "memory",
                     fmt::format("{} bytes per workgroup, {} bytes private", kernel.info.workgroup_bytes,
                                 kernel.info.private_bytes));
}

std::string DispatchText::cost(const StepCost& cost) const {
  std::string flops = "n/a, because it only compares";
  if (cost.flops) {
    flops = number(*cost.flops);
    const Result<std::int64_t> count = cost.flops->evaluate(symbols_);
    const Result<std::int64_t> bytes = (cost.bytes_read + cost.bytes_written).evaluate(symbols_);
    if (count.ok() && bytes.ok() && *count > 0 && *bytes > 0) {
      flops += fmt::format(", {:.3g} per byte", static_cast<double>(*count) / static_cast<double>(*bytes));
    }
  }
  return line(4, "reads", number(cost.bytes_read) + " bytes") +
         line(4, "writes", number(cost.bytes_written) + " bytes") + line(4, "flops", flops);
}

std::string DispatchText::totals() const {
  StepCost sum;
  for (const Step& step : lowered_.schedule.steps) {
    const StepCost one = cost_of(step, symbols_);
    sum.bytes_read = sum.bytes_read + one.bytes_read;
    sum.bytes_written = sum.bytes_written + one.bytes_written;
    sum.flops = *sum.flops + one.flops.value_or(0);
  }
  const bool has_control = !lowered_.bodies.empty();
  return fmt::format("total: of all dispatches and copies{}\n", has_control ? " outside loops and branches" : "") +
         cost(sum) + (measured_ != nullptr ? line(4, "measured", measured_->total_text()) : "");
}

/// The registers and memory that the emitted code needs, and how many workgroups can therefore run at once.
std::string DispatchText::occupancy(const PlannedKernel& kernel) const {
  if (!code_.ok()) return line(4, "occupancy", "not known: " + code_.status().message());
  const auto code = std::ranges::find(code_->kernels, kernel_symbol(kernel), &CodeObjectKernel::symbol);
  if (code == code_->kernels.end()) return line(4, "occupancy", "not known: its code was not found");
  const GfxTarget& gfx = *target_.spec().gfx_target();
  const Occupancy found = occupancy_of(*code, gfx);
  std::string text = fmt::format("{} of {} subgroups per SIMD", found.subgroups_per_simd, gfx.max_waves);
  if (found.limit != OccupancyLimit::kNothing) text += fmt::format(", limited by {}", to_text(found.limit));
  text += fmt::format("; {} workgroup{} per compute unit", found.workgroups_per_unit,
                      found.workgroups_per_unit == 1 ? "" : "s");
  std::string registers = fmt::format("{} vector, {} scalar", code->num_vector_registers, code->num_scalar_registers);
  if (code->num_scalar_spills > 0) registers += fmt::format(", {} more in lanes of vectors", code->num_scalar_spills);
  return line(4, "registers", registers) + line(4, "occupancy", text);
}

}  // namespace millrace::tool
