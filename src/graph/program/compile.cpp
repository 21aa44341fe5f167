// SPDX-License-Identifier: Apache-2.0
// Graph -> passes -> regions -> kernels -> schedule -> commands -> loaded code.
#include <cstring>

#include <fmt/format.h>

#include "graph/program/index_checks.h"
#include "graph/program/phase_timer.h"
#include "graph/program/program_state.h"

namespace millrace {
namespace {

Status require_known_generator(const Context& context, const std::string& forced) {
  std::string known;
  for (const auto& generator : context.generators) {
    if (forced.empty() || generator->name() == forced) return {};
    known += fmt::format("{}{}", known.empty() ? "" : ", ", generator->name());
  }
  return not_found(fmt::format("compile: generator '{}' is not known; code generators built in: {}; force one of these",
                               forced, known));
}

Result<const KernelCompiler*> find_generator(const Context& context, const std::string& name) {
  for (const auto& generator : context.generators) {
    if (generator->name() == name) return generator.get();
  }
  return internal_error(fmt::format("generator '{}' planned a kernel and is not in the context", name));
}

Status generate_code(Program::State& state, const TargetSpec& target, const Context& context,
                     const std::function<void(const CompileProgress&)>& progress) {
  std::vector<ExecutableImage> images;
  {
    const PhaseTimer timer(state.report.code);
    for (const PlannedKernel& kernel : state.schedule.kernels) {
      if (progress) progress({images.size(), state.schedule.kernels.size(), kernel.name});
      const PhaseTimer kernel_timer(state.report.kernel_reports.emplace_back(KernelReport{kernel.name}).time);
      MILLRACE_TRY_ASSIGN(const KernelCompiler* generator, find_generator(context, kernel.generator));
      if (context.cache == nullptr) {
        MILLRACE_TRY_ASSIGN(ExecutableImage image, generator->emit(kernel, target));
        images.push_back(std::move(image));
        continue;
      }
      MILLRACE_TRY_ASSIGN(std::shared_ptr<const ExecutableImage> image, context.cache->get(kernel, target, *generator));
      images.push_back(*image);
    }
  }
  const PhaseTimer timer(state.report.load);
  MILLRACE_TRY_ASSIGN(state.executable, state.device->load(images));
  return {};
}

Status fill_constants(Program::State& state) {
  const PhaseTimer timer(state.report.load);
  MILLRACE_TRY_ASSIGN(state.constants, state.device->allocate(static_cast<std::size_t>(state.schedule.constant_bytes)));
  for (const Resource& resource : state.schedule.resources) {
    if (resource.lifetime != Lifetime::kConstant || resource.constant->empty()) continue;
    std::memcpy(static_cast<std::byte*>(state.constants->data()) + resource.offset_bytes.constant(),
                resource.constant->data(), resource.constant->size());
  }
  return {};
}

}  // namespace

Result<Program> compile(Graph graph, const CompileOptions& options) {
  auto state = std::make_shared<Program::State>();
  std::chrono::nanoseconds total{};
  {
    const PhaseTimer timer(total);
    MILLRACE_TRY(verify(graph));
    MILLRACE_TRY_ASSIGN(static_cast<Signature::State&>(*state), Signature::State::of(graph));
    const std::shared_ptr<const Context> context = options.context ? options.context : make_default_context();
    const std::string spec = options.on_device ? options.on_device->target().to_text() : options.device;
    MILLRACE_TRY_ASSIGN(Target target, context->target(spec));
    MILLRACE_TRY(require_known_generator(*context, options.lowering.compile.force_generator));
    state->device = options.on_device;
    if (!state->device) {
      MILLRACE_TRY_ASSIGN(state->device, context->device(spec));
    }
    MILLRACE_TRY_ASSIGN(static_cast<LoweredGraph&>(*state),
                        lower_graph(std::move(graph), target, options.lowering, options.passes));
    MILLRACE_TRY(generate_code(*state, target.spec(), *context, options.progress));
    MILLRACE_TRY(fill_constants(*state));
    state->index_checks = find_index_checks(state->dispatch, state->sequences, state->schedule);
  }
  state->report.total = total;
  return Program(std::move(state));
}

}  // namespace millrace
