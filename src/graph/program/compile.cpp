// SPDX-License-Identifier: Apache-2.0
// Graph -> passes -> regions -> kernels -> schedule -> commands -> loaded code.
#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/program/phase_timer.h"
#include "graph/program/program_state.h"
#include "millrace/jit/kernel_cache.h"

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
                               forced, known.empty() ? "none" : known));
}

Result<const KernelCompiler*> find_generator(const Context& context, const std::string& name) {
  for (const auto& generator : context.generators) {
    if (generator->name() == name) return generator.get();
  }
  return internal_error(fmt::format("generator '{}' planned a kernel and is not in the context", name));
}

/// CompileOptions::targets, each once; without any, the best that the device runs. Fails when the device runs none.
Result<std::vector<Target>> find_targets(const CompileOptions& options, const Context& context, const Device& device) {
  std::vector<Target> targets;
  for (const std::string& text : options.targets) {
    MILLRACE_TRY_ASSIGN(Target target, context.target(text));
    const auto is_known = [&](const Target& known) { return known.spec() == target.spec(); };
    if (std::ranges::none_of(targets, is_known)) targets.push_back(std::move(target));
  }
  if (targets.empty()) {
    MILLRACE_TRY_ASSIGN(Target best, context.target(device.targets().front().to_text()));
    targets.push_back(std::move(best));
  }
  std::vector<TargetSpec> specs;
  for (const Target& target : targets) specs.push_back(target.spec());
  MILLRACE_TRY(find_target(device, specs).status());
  return targets;
}

/// Generates the code of variants, one kernel after another.
class CodeMaker {
 public:
  CodeMaker(const Context& context, const CompileOptions& options, std::size_t num_kernels)
      : context_(context), options_(options), num_kernels_(num_kernels) {}

  Status make(ProgramVariant& variant) {
    CompileReport& report = variant.lowered.report;
    const PhaseTimer timer(report.code);
    for (const PlannedKernel& kernel : variant.lowered.schedule.kernels) {
      if (options_.progress) options_.progress({kernel_++, num_kernels_, kernel.name});
      const PhaseTimer kernel_timer(report.kernel_reports.emplace_back(KernelReport{kernel.name}).time);
      MILLRACE_TRY_ASSIGN(ExecutableImage image,
                          guard_allocations([&] { return fmt::format("compile: kernel '{}'", kernel.name); },
                                            [&] { return make_image(kernel, variant.target); }));
      variant.images.push_back(std::move(image));
    }
    return {};
  }

 private:
  Result<ExecutableImage> make_image(const PlannedKernel& kernel, const TargetSpec& target) const {
    MILLRACE_TRY_ASSIGN(const KernelCompiler* generator, find_generator(context_, kernel.generator));
    if (context_.cache == nullptr) return generator->emit(kernel, target);
    MILLRACE_TRY_ASSIGN(std::shared_ptr<const ExecutableImage> image, context_.cache->get(kernel, target, *generator));
    return *image;
  }

  const Context& context_;
  const CompileOptions& options_;
  std::size_t num_kernels_;
  std::size_t kernel_ = 0;
};

Result<std::vector<ProgramVariant>> make_variants(Graph graph, std::span<const Target> targets, const Context& context,
                                                  const CompileOptions& options) {
  MILLRACE_TRY_ASSIGN(std::vector<LoweredGraph> lowered,
                      lower_graph(std::move(graph), targets, options.lowering, options.passes));
  std::vector<ProgramVariant> variants;
  std::size_t num_kernels = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    num_kernels += lowered[i].schedule.kernels.size();
    variants.push_back({targets[i].spec(), std::move(lowered[i]), {}});
  }
  CodeMaker maker(context, options, num_kernels);
  for (ProgramVariant& variant : variants) MILLRACE_TRY(maker.make(variant));
  return variants;
}

Status compile_into(Program::State& state, Graph graph, const CompileOptions& options) {
  MILLRACE_TRY(verify(graph));
  MILLRACE_TRY_ASSIGN(static_cast<Signature::State&>(state), Signature::State::of(graph));
  const std::shared_ptr<const Context> context = options.context ? options.context : make_default_context();
  MILLRACE_TRY(require_known_generator(*context, options.lowering.compile.force_generator));
  std::shared_ptr<Device> device = options.on_device;
  if (!device) {
    MILLRACE_TRY_ASSIGN(device, context->device(options.device));
  }
  MILLRACE_TRY_ASSIGN(const std::vector<Target> targets, find_targets(options, *context, *device));
  MILLRACE_TRY_ASSIGN(std::vector<ProgramVariant> variants,
                      make_variants(std::move(graph), targets, *context, options));
  state.variants = std::make_shared<const std::vector<ProgramVariant>>(std::move(variants));
  return state.load(std::move(device));
}

}  // namespace

Result<Program> compile(Graph graph, const CompileOptions& options) {
  return guard_allocations("compile", [&]() -> Result<Program> {
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

}  // namespace millrace
