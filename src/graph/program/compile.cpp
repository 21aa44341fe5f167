// SPDX-License-Identifier: Apache-2.0
// Graph -> passes -> regions -> kernels -> schedule -> commands -> loaded code.
#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/program/phase_timer.h"
#include "graph/program/program_state.h"
#include "millrace/jit/code_object.h"
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

  Status make(ProgramVariant& variant, const Target& target) {
    const PhaseTimer timer(variant.lowered.report.code);
    if (!variant.target.is_gpu() || variant.target.is_simulated()) {
      MILLRACE_TRY_ASSIGN(variant.images, make_images(variant, target));
      return {};
    }
    return make_code_object(variant, target);
  }

 private:
  Result<std::vector<ExecutableImage>> make_images(ProgramVariant& variant, const Target& target) {
    std::vector<ExecutableImage> images;
    for (const PlannedKernel& kernel : variant.lowered.schedule.kernels) {
      const PhaseTimer timer(begin(variant.lowered.report, kernel));
      MILLRACE_TRY_ASSIGN(ExecutableImage image,
                          guard_allocations([&] { return fmt::format("compile: kernel '{}'", kernel.name); },
                                            [&] { return make_image(kernel, target); }));
      images.push_back(std::move(image));
    }
    return images;
  }

  /// A GPU's driver loads one linked object, which the kernels share.
  Status make_code_object(ProgramVariant& variant, const Target& target) {
    const std::span<const PlannedKernel> kernels = variant.lowered.schedule.kernels;
    if (kernels.empty()) return {};
    const auto link = [&]() -> Result<std::vector<std::byte>> {
      MILLRACE_TRY_ASSIGN(const std::vector<ExecutableImage> images, make_images(variant, target));
      return link_images(images);
    };
    SharedBytes code;
    if (context_.cache == nullptr) {
      MILLRACE_TRY_ASSIGN(code, link());
    } else {
      MILLRACE_TRY_ASSIGN(code, context_.cache->get_code_object(kernels, target, link));
    }
    CompileReport& report = variant.lowered.report;
    const bool was_kept = report.kernel_reports.empty();
    for (const PlannedKernel& kernel : kernels) {
      if (was_kept) begin(report, kernel);
      variant.images.push_back({.format = ImageFormat::kGpuCode,
                                .target = target.to_text(),
                                .generator = kernel.generator,
                                .info = kernel.info,
                                .bytes = code,
                                .symbol = kernel_symbol(kernel)});
    }
    return {};
  }

  /// Where the time of the kernel's code is added.
  std::chrono::nanoseconds& begin(CompileReport& report, const PlannedKernel& kernel) {
    if (options_.progress) options_.progress({kernel_++, num_kernels_, kernel.name});
    return report.kernel_reports.emplace_back(KernelReport{kernel.name}).time;
  }

  Result<ExecutableImage> make_image(const PlannedKernel& kernel, const Target& target) const {
    const KernelCompiler* generator = target.find_generator(kernel.generator);
    if (generator == nullptr) {
      return internal_error(fmt::format("generator '{}' planned a kernel and is not of the target", kernel.generator));
    }
    if (context_.cache == nullptr) return generator->emit(kernel, target.spec());
    MILLRACE_TRY_ASSIGN(std::shared_ptr<const ExecutableImage> image,
                        context_.cache->get(kernel, target.spec(), *generator));
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
  for (std::size_t i = 0; i < targets.size(); ++i) MILLRACE_TRY(maker.make(variants[i], targets[i]));
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
