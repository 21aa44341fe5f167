// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/code_object.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/schedule_statistics.h"
#include "millrace/graph/text.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/occupancy.h"
#include "tools/millrace/command.h"
#include "tools/millrace/dims.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/tool_context.h"

namespace millrace::tool {
namespace {

struct Arguments {
  GraphArguments graph;
  std::optional<std::uint32_t> dispatch;
  std::vector<std::string> dims;
  std::string json;
};

/// The kernels' code for a GPU, read back.
Result<CodeObjectInfo> emit_code(const LoweredGraph& lowered, const Target& target) {
  MILLRACE_TRY_ASSIGN(const std::vector<std::byte> object, make_code_object(lowered, target));
  return read_code_object(object);
}

/// Writes about one lowered graph, with numbers where symbols have values.
class Explainer {
 public:
  Explainer(const LoweredGraph& lowered, const SymbolValues& symbols, const Target& target)
      : lowered_(lowered), symbols_(symbols), target_(target) {
    if (has_code()) code_ = emit_code(lowered, target);
  }

  std::string dispatch(RegionId id) const {
    const Graph& graph = lowered_.dispatch.graph;
    const Region& region = lowered_.dispatch.regions[id];
    std::string nodes;
    for (const NodeId node : region.nodes) {
      nodes += (nodes.empty() ? "" : ", ") + node_text(graph, node);
    }
    std::string text = fmt::format("dispatch {}: {}\n", index_of(id), region.name) + line(2, "nodes", nodes);
    for (const std::string& reason : region.reasons) text += line(2, "because", reason);
    text += places(region);
    for (const KernelSequence& sequence : lowered_.sequences[index_of(id)]) text += describe(region, sequence);
    return text;
  }

  /// How a program launches the kernels of a code object; nothing where there is none.
  std::string launch_rules() const {
    if (!has_code()) return {};
    return "launch: the kernels in this order, each after those before it, in groups along x alone. An argument has 8\n"
           "  bytes; T* is the address of elements of T. *status is 0 before the first kernel, and after the last one\n"
           "  unless an index was out of range. What scratch holds at first does not matter.\n";
  }

  /// In which order the steps run, and each copy that remains, with its reason.
  std::string schedule() const {
    const ScheduleStatistics found = measure_schedule(lowered_.schedule, symbols_);
    std::string text =
        fmt::format("schedule: {}, dispatches {}, copies {}, barriers {}, waits {}\n", to_text(found.order),
                    found.num_dispatches, found.num_copies, found.num_barriers, found.num_waits);
    for (const Step& step : lowered_.schedule.steps) {
      if (!step.copy_reason.empty()) text += line(2, "copy", fmt::format("{}, as {}", step.name, step.copy_reason));
    }
    return text;
  }

  std::string memory_plan() const {
    const Schedule& schedule = lowered_.schedule;
    const ScheduleStatistics found = measure_schedule(schedule, symbols_);
    std::string text =
        fmt::format("memory: slab of {} bytes, constants of {} bytes\n",
                    found.peak_bytes ? fmt::to_string(*found.peak_bytes) : "at most " + number(schedule.slab_bytes),
                    schedule.constant_bytes);
    if (found.lower_bound_bytes) text += line(2, "alive", fmt::format("{} bytes at most", *found.lower_bound_bytes));
    for (const Resource& resource : schedule.resources) {
      if (resource.lifetime != Lifetime::kTransient) continue;
      // Where runs place transients, each has the place that its sizes give it.
      const std::string place = schedule.is_placed_by_runs() ? "" : " at " + number(resource.offset_bytes);
      text += line(2, resource.name,
                   fmt::format("{} bytes{}, alive from @{} to @{}", number(resource.size_bytes), place,
                               resource.first_timepoint, resource.last_timepoint));
    }
    return text;
  }

 private:
  std::string number(const SizeExpr& size) const { return size_text(size, symbols_); }

  static std::string line(int indent, std::string_view what, std::string_view text) {
    return fmt::format("{:{}}{:<10} {}\n", "", indent, what, text);
  }

  /// Values that the region stores in the memory of a concat, or reads there.
  std::string places(const Region& region) const {
    std::string text;
    for (const std::vector<Value>* values : {&region.inputs, &region.outputs}) {
      for (const Value& value : *values) {
        const auto part = lowered_.dispatch.parts.find(lowered_.dispatch.storage_of(value));
        if (part == lowered_.dispatch.parts.end()) continue;
        text += line(
            2, "place",
            fmt::format("{} is in the memory of {}, from element {}", value_text(lowered_.dispatch.graph, value),
                        value_text(lowered_.dispatch.graph, part->second.whole), number(part->second.offset_elements)));
      }
    }
    return text;
  }

  static std::string refusals(int indent, const std::vector<Refusal>& refusals) {
    std::string text;
    for (const Refusal& refusal : refusals) text += line(indent, "refused", refusal.who + ": " + refusal.reason);
    return text;
  }

  std::string describe(const Region& region, const KernelSequence& sequence) const {
    std::string text = line(2, "algorithm", sequence.algorithm) + refusals(4, sequence.refusals);
    for (const SequenceScratch& scratch : sequence.scratch) {
      text += line(4, "scratch", fmt::format("{}: {} bytes", scratch.name, number(scratch.size_bytes)));
    }
    for (const SequenceKernel& kernel : sequence.kernels) text += describe(region, sequence, kernel);
    return text;
  }

  std::string describe(const Region& region, const KernelSequence& sequence, const SequenceKernel& entry) const {
    const PlannedKernel& kernel = entry.kernel;
    SizeExpr read = 0, written = 0;
    for (std::size_t i = 0; i < entry.buffers.size(); ++i) {
      SizeExpr& bytes = kernel.info.buffer_is_written[i] ? written : read;
      bytes = bytes + buffer_bytes(region, sequence, entry.buffers[i]);
    }
    std::string text = line(
        2, "kernel", fmt::format("{} by {}, groups: {}", kernel.name, kernel.generator, number(kernel.num_groups)));
    text += refusals(4, entry.refusals);
    text += line(4, "reads", number(read) + " bytes");
    text += line(4, "writes", number(written) + " bytes");
    text += line(4, "flops", kernel.flops ? number(*kernel.flops) : "n/a, as it only compares");
    if (target_.spec().is_gpu()) text += launch(region, sequence, entry);
    if (has_code()) text += occupancy(kernel);
    if (kernel.info.workgroup_bytes + kernel.info.private_bytes == 0) return text;
    return text + line(4, "memory",
                       fmt::format("{} bytes a workgroup, {} bytes private", kernel.info.workgroup_bytes,
                                   kernel.info.private_bytes));
  }

  /// What a program needs that launches the kernel from a code object.
  std::string launch(const Region& region, const KernelSequence& sequence, const SequenceKernel& entry) const {
    const auto& kernel = std::get<MachineKernel>(entry.kernel.mapped);
    const std::size_t count = 1 + entry.buffers.size() + entry.kernel.sizes.size();
    std::string arguments = fmt::format("{} bytes: u32* status", count * sizeof(std::int64_t));
    for (std::size_t i = 0; i < entry.buffers.size(); ++i) {
      arguments +=
          fmt::format(", {}* {}", to_text(kernel.buffers[i].dtype), buffer_text(region, sequence, entry.buffers[i]));
    }
    for (const SizeExpr& size : entry.kernel.sizes) arguments += ", i64 " + number(size);
    return line(4, "symbol", kernel_symbol(entry.kernel)) +
           line(4, "grid",
                fmt::format("{} groups of {} threads", number(entry.kernel.num_groups),
                            entry.kernel.info.workgroup_size)) +
           line(4, "arguments", arguments);
  }

  /// True of a GPU that is not simulated: there kernels have registers.
  bool has_code() const { return target_.spec().is_gpu() && !target_.spec().is_simulated(); }

  /// What the emitted code takes of a GPU, and how much of the kernel so runs at a time.
  std::string occupancy(const PlannedKernel& kernel) const {
    if (!code_.ok()) return line(4, "occupancy", "not known: " + code_.status().message());
    const auto code = std::ranges::find(code_->kernels, kernel_symbol(kernel), &CodeObjectKernel::symbol);
    if (code == code_->kernels.end()) return line(4, "occupancy", "not known: its code was not found");
    const GfxTarget& gfx = *target_.spec().gfx_target();
    const Occupancy found = occupancy_of(*code, gfx);
    std::string text = fmt::format("{} of {} subgroups a SIMD", found.subgroups_per_simd, gfx.max_waves);
    if (found.limit != OccupancyLimit::kNothing) text += fmt::format(", limited by {}", to_text(found.limit));
    text += fmt::format("; {} workgroup{} a compute unit", found.workgroups_per_unit,
                        found.workgroups_per_unit == 1 ? "" : "s");
    std::string registers = fmt::format("{} vector, {} scalar", code->num_vector_registers, code->num_scalar_registers);
    if (code->num_scalar_spills > 0) registers += fmt::format(", {} more in lanes of vectors", code->num_scalar_spills);
    return line(4, "registers", registers) + line(4, "occupancy", text);
  }

  std::string buffer_text(const Region& region, const KernelSequence& sequence, const SequenceOperand& buffer) const {
    const Graph& graph = lowered_.dispatch.graph;
    switch (buffer.kind) {
      case SequenceOperand::Kind::kOperand:
        return value_text(graph, region.inputs[buffer.index]);
      case SequenceOperand::Kind::kResult:
        return value_text(graph, region.outputs[buffer.index]);
      case SequenceOperand::Kind::kScratch:
        return "scratch " + sequence.scratch[buffer.index].name;
    }
    return {};
  }

  SizeExpr buffer_bytes(const Region& region, const KernelSequence& sequence, const SequenceOperand& buffer) const {
    const Graph& graph = lowered_.dispatch.graph;
    switch (buffer.kind) {
      case SequenceOperand::Kind::kOperand:
        return size_bytes(graph.type(region.inputs[buffer.index]));
      case SequenceOperand::Kind::kResult:
        return size_bytes(graph.type(region.outputs[buffer.index]));
      case SequenceOperand::Kind::kScratch:
        return sequence.scratch[buffer.index].size_bytes;
    }
    return 0;
  }

  const LoweredGraph& lowered_;
  const SymbolValues& symbols_;
  const Target& target_;
  Result<CodeObjectInfo> code_ = CodeObjectInfo{};
};

Status explain(const Arguments& arguments) {
  MILLRACE_TRY_ASSIGN(Graph graph, read_graph(arguments.graph));
  const std::shared_ptr<const Context> context = make_context();
  MILLRACE_TRY_ASSIGN(const Target target, find_target(*context, arguments.graph.target));
  MILLRACE_TRY_ASSIGN(const auto known, collect_symbols(graph));
  MILLRACE_TRY_ASSIGN(SymbolValues symbols, parse_dims(known, arguments.dims));
  symbols.merge(pinned_values(known));
  MILLRACE_TRY_ASSIGN(const LoweredGraph lowered, lower_graph(std::move(graph), arguments.graph, *context));
  const std::size_t count = lowered.dispatch.regions.size();
  const Explainer explainer(lowered, symbols, target);
  if (!arguments.json.empty()) {
    MILLRACE_TRY(write_text(arguments.json, to_json(measure_schedule(lowered.schedule, symbols)) + "\n"));
  }
  if (arguments.dispatch) {
    if (*arguments.dispatch < count) return write_text("", explainer.dispatch(RegionId{*arguments.dispatch}));
    return out_of_range(fmt::format("--dispatch {}: the graph has {} dispatch{}; say less than that",
                                    *arguments.dispatch, count, count == 1 ? "" : "es"));
  }
  std::string text = fmt::format("graph {} for {}: dispatches {}, kernels {}\n", printable(lowered.dispatch.graph.name),
                                 target.to_text(), count, lowered.report.num_kernels);
  for (std::uint32_t i = 0; i < count; ++i) text += "\n" + explainer.dispatch(RegionId{i});
  const std::string rules = explainer.launch_rules();
  text += (rules.empty() ? "" : "\n" + rules) + "\n" + explainer.schedule() + "\n" + explainer.memory_plan();
  return write_text("", text);
}

}  // namespace

Action add_explain(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  add_graph_file(app, arguments->graph);
  app.add_option("--dispatch", arguments->dispatch, "This dispatch alone.")->type_name("N");
  add_dims(app, arguments->dims);
  app.add_option("--json", arguments->json, "Write the schedule's statistics there, as JSON.")->type_name("FILE");
  add_target(app, arguments->graph, "--target,--device");
  return [arguments] { return explain(*arguments); };
}

}  // namespace millrace::tool
