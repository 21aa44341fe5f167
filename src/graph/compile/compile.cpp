// SPDX-License-Identifier: Apache-2.0
// Compiles a graph: passes -> regions -> kernels -> schedule -> commands -> loaded code.
#include "millrace/graph/compile.h"

#include <algorithm>
#include <xxhash.h>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/compile/find_diagnostics.h"
#include "graph/compile/find_slab_plan.h"
#include "graph/compile/make_code.h"
#include "graph/compile/make_signature.h"
#include "graph/compile/run_setup.h"
#include "graph/run/phase_timer.h"
#include "graph/run/program_state.h"
#include "graph/text/constant_text.h"
#include "millrace/base/printable.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/hal/transfer.h"

namespace millrace {
namespace {

Status require_known_generator(const Context& context, const std::string& forced) {
  if (forced.empty()) return {};
  std::string known;
  for (const auto& generator : context.generators) {
    if (generator->name() == forced) return {};
    known += fmt::format("{}{}", known.empty() ? "" : ", ", generator->name());
  }
  return not_found(fmt::format("compile: generator '{}' is not known; code generators built in: {}; force one of these",
                               printable(forced), known.empty() ? "none" : known));
}

/// Adds the device to a message that names only the target, because the caller asked for the device.
Status about_device(const Device& device, const Status& status) {
  return {status.code(), fmt::format("compile for device '{}': {}", device.name(), status.message())};
}

/// CompileOptions::targets without repetitions; if empty, the best target that the device runs. Fails if the device
/// runs none of them.
Result<std::vector<Target>> find_targets(const CompileOptions& options, const Context& context, const Device& device) {
  std::vector<Target> targets;
  for (const std::string& text : options.targets) {
    MILLRACE_TRY_ASSIGN(Target target, context.target(text));
    const auto is_known = [&](const Target& known) { return known.spec() == target.spec(); };
    if (std::ranges::none_of(targets, is_known)) targets.push_back(std::move(target));
  }
  if (targets.empty()) {
    Result<Target> best = context.target(device.targets().front().to_text());
    if (!best.ok()) return about_device(device, best.status());
    targets.push_back(*std::move(best));
  }
  std::vector<TargetSpec> specs;
  for (const Target& target : targets) specs.push_back(target.spec());
  MILLRACE_TRY(find_target(device, specs).status());
  return targets;
}

/// One variant per target, in the same order.
using LoweredGraphs = std::vector<std::shared_ptr<LoweredGraph>>;

Result<LoweredGraphs> lower(Graph graph, std::span<const Target> targets, const CompileOptions& options) {
  MILLRACE_TRY_ASSIGN(std::vector<LoweredGraph> lowered,
                      lower_graph(std::move(graph), targets, options.lowering, options.passes, options.order));
  LoweredGraphs shared;
  for (LoweredGraph& each : lowered) shared.push_back(std::make_shared<LoweredGraph>(std::move(each)));
  return shared;
}

Result<std::vector<ProgramVariant>> make_variants(const LoweredGraphs& all, std::span<const Target> targets,
                                                  const Context& context, const CompileOptions& options,
                                                  std::shared_ptr<Executor> executor) {
  std::size_t num_kernels = 0;
  for (const auto& lowered : all) num_kernels += lowered->schedule.kernels.size();
  CodeMaker maker(context, options, std::move(executor), num_kernels);
  std::vector<ProgramVariant> variants;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::shared_ptr<LoweredGraph>& lowered = all[i];
    MILLRACE_TRY_ASSIGN(std::vector<ExecutableImage> images, maker.make(*lowered, targets[i]));
    variants.push_back({.target = targets[i].spec(),
                        .images = std::move(images),
                        .commands = {lowered, &lowered->commands},
                        .report = {lowered, &lowered->report},
                        .diagnostics = std::make_shared<const RunDiagnostics>(find_diagnostics(*lowered)),
                        .slab_plan = find_slab_plan(lowered->schedule),
                        .lowered = lowered});
  }
  return variants;
}

std::vector<VariablePart> parts_of_variables(const LoweredGraph& lowered) {
  const Graph& graph = lowered.dispatch.graph;
  const std::vector<NodeId> variables = variables_of(graph);  // in the schedule's order
  std::vector<VariablePart> parts;
  for (const Resource& resource : lowered.schedule.resources) {
    if (resource.lifetime != Lifetime::kVariable) continue;
    parts.push_back({static_cast<std::size_t>(resource.offset_bytes.constant()),
                     std::get<VariableNode>(graph.nodes[variables[parts.size()]].what).initial});
  }
  return parts;
}

void add_parts(XXH3_state_t& state, std::span<const UploadPart> parts) {
  for (const UploadPart& part : parts) {
    const std::uint64_t place[] = {part.offset_bytes, part.source.size()};
    XXH3_128bits_update(&state, place, sizeof(place));
    XXH3_128bits_update(&state, part.source.data(), part.source.size());
  }
}

/// Identifies the constants by the offset and the bytes of each constant; gaps between constants do not count. Prepared
/// constants depend on the setup graph, its kernels and the target's rounding, so these are part of the id too.
ContentId identify(const ProgramVariant& variant, std::size_t size_bytes) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  add_parts(state, parts_of_constants(variant.lowered->schedule));
  if (const LoweredGraph* setup = variant.lowered->setup.get()) {
    add_parts(state, parts_of_constants(setup->schedule));
    for (const PlannedKernel& kernel : setup->schedule.kernels) {
      XXH3_128bits_update(&state, kernel.key_text.data(), kernel.key_text.size());
    }
    Graph graph = setup->dispatch.graph;
    strip_names(graph);
    const std::string text = variant.target.to_text() + to_text(graph, {.large = LargeConstants::kShortened});
    XXH3_128bits_update(&state, text.data(), text.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.high64, hash.low64, size_bytes};
}

/// Shortens the graph's large constants, whose bytes are on the device by now. The graph is only printed after this.
void release_constants(LoweredGraph& lowered) {
  shorten_constants(lowered.dispatch.graph);
  for (Resource& resource : lowered.schedule.resources) resource.constant = {};
  for (auto& [region, bodies] : lowered.bodies) {
    for (const std::shared_ptr<LoweredGraph>& body : bodies) release_constants(*body);
  }
  if (lowered.setup != nullptr) release_constants(*lowered.setup);
}

/// If the constants have at least this many bytes, compile() releases the generators' memory at the end. The next
/// compile maps it again, which takes little time compared with the upload of the constants.
constexpr std::uint64_t kManyConstantBytes = std::uint64_t{64} << 20;

Status compile_into(Program::State& state, Graph graph, const CompileOptions& options) {
  MILLRACE_TRY(verify(graph));
  MILLRACE_TRY_ASSIGN(static_cast<Signature::State&>(state), make_signature(graph));
  const std::shared_ptr<const Context> context = options.context ? options.context : make_default_context();
  MILLRACE_TRY(require_known_generator(*context, options.lowering.compile.force_generator));
  std::shared_ptr<Device> device = options.on_device;
  if (!device) {
    MILLRACE_TRY_ASSIGN(device, context->device(options.device));
  }
  MILLRACE_TRY_ASSIGN(const std::vector<Target> targets, find_targets(options, *context, *device));
  MILLRACE_TRY_ASSIGN(const LoweredGraphs lowered, lower(std::move(graph), targets, options));
  const std::shared_ptr<Executor> executor = options.executor ? options.executor : device->executor();
  MILLRACE_TRY_ASSIGN(std::vector<ProgramVariant> variants,
                      make_variants(lowered, targets, *context, options, executor));
  state.variants = std::make_shared<const std::vector<ProgramVariant>>(std::move(variants));
  MILLRACE_TRY(state.load(std::move(device)));
  {
    const PhaseTimer timer(state.report.load);
    state.constants_id = identify(*state.variant, static_cast<std::size_t>(state.report.constant_bytes));
  }
  const auto number = static_cast<std::size_t>(state.variant - state.variants->data());
  MILLRACE_TRY(state.place_constants([&](const Buffer& to) -> Status {
    const Schedule& schedule = lowered[number]->schedule;
    MILLRACE_TRY(upload(*state.device, to, parts_of_constants(schedule)));
    LoweredGraph* const setup = lowered[number]->setup.get();
    if (setup == nullptr) return {};
    CodeMaker maker(*context, options, executor, setup->schedule.kernels.size());
    MILLRACE_TRY_ASSIGN(const std::vector<ExecutableImage> images, maker.make_setup(*lowered[number], targets[number]));
    return run_setup(*state.device, *setup, images, schedule, to);
  }));
  state.variable_parts = parts_of_variables(*lowered.front());
  for (const auto& each : lowered) release_constants(*each);
  if (state.report.constant_bytes >= kManyConstantBytes) {
    for (const auto& generator : context->generators) generator->release_memory();
  }
  return {};
}

}  // namespace

Result<Program> compile(Graph graph, const CompileOptions& options) {
  return guard_allocations([&]() -> Result<Program> {
    auto state = std::make_shared<Program::State>();
    std::chrono::nanoseconds total{};
    {
      const PhaseTimer timer(total);
      MILLRACE_TRY(compile_into(*state, std::move(graph), options));
    }
    state->report.total = total;
    return Program(std::move(state));
  });
}

const LoweredGraph& Program::lowered() const { return *state_->variant->lowered; }
std::string Program::to_text(Stage stage) const { return millrace::to_text(lowered(), stage); }

}  // namespace millrace
