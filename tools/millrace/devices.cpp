// SPDX-License-Identifier: Apache-2.0
// `millrace devices`: lists drivers, devices, targets, generators and caches, and why others are missing.
#include <algorithm>
#include <filesystem>
#include <ranges>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "millrace/base/printable.h"
#include "millrace/graph/context.h"
#include "millrace/hal/device.h"
#include "millrace/jit/cache_defaults.h"
#include "millrace/jit/cache_directory.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/llvm_module.h"
#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/tool_context.h"

namespace millrace::tool {
namespace {

/// All drivers that Millrace can have, so that missing ones are listed too.
constexpr std::pair<std::string_view, std::string_view> kKnownDrivers[] = {
    {"cpu", "this host"}, {"hip", "AMD GPUs"}, {"sim", "a simulated GPU"}, {"isa", "a GPU's machine code, executed"}};

std::string line(std::string_view name, std::string_view text) { return fmt::format("  {:<15} {}\n", name, text); }

std::string driver_text(const Context& context, std::string_view name) {
  const auto driver = std::ranges::find(context.drivers, name, &Driver::name);
  if (driver == context.drivers.end()) return "not built in";
  const Status available = driver->available();
  return available.ok() ? "available" : available.message();
}

/// Describes a driver's devices: "cpu: this host, avx2; 23.4 GiB; runs cpu:avx2, cpu:baseline".
std::string enumerated_text(const Context& context, std::string_view name) {
  const auto driver = std::ranges::find(context.drivers, name, &Driver::name);
  if (driver == context.drivers.end() || !driver->available().ok()) return "";
  const Result<std::vector<DeviceInfo>> devices = driver->enumerate();
  if (!devices.ok()) return line("", devices.status().message());
  std::string text;
  for (const DeviceInfo& device : *devices) {
    if (!device.problem.empty()) {
      text += line("", fmt::format("{}: {}", device.name, device.problem));
      continue;
    }
    const std::string memory =
        device.memory_bytes == 0
            ? ""
            : fmt::format("; {:.1f} GiB", static_cast<double>(device.memory_bytes) / (std::uint64_t{1} << 30));
    const auto target_text = [](const TargetSpec& target) { return target.to_text(); };
    text += line("", fmt::format("{}: {}{}; runs {}", device.name, device.description, memory,
                                 fmt::join(device.targets | std::views::transform(target_text), ", ")));
  }
  if (name == "cpu") {
    text += line(
        "", fmt::format("cpu:threads=N: N threads, the calling one included; by default {}, one per core; pinned=on: "
                        "each on a CPU of its own",
                        num_physical_cores()));
  }
  return text;
}

/// CPU levels, lowest first, then GPUs, then simulated ones.
std::vector<TargetSpec> all_targets() {
  std::vector<TargetSpec> targets;
  for (const IsaLevel level : {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    targets.push_back({.isa = level});
  }
  for (const char* family : {"amdgpu", "sim"}) {
    for (const GfxTarget& gfx : gfx_targets()) targets.push_back({.family = family, .gfx = std::string(gfx.name)});
  }
  return targets;
}

std::string place_text(const TargetSpec& spec) {
  if (spec.is_simulated()) return "simulated here";
  if (spec.is_gpu()) return fmt::format("a GPU elsewhere; isa:{} executes it here", spec.gfx);
  const std::span<const IsaLevel> host = host_isa_levels();
  return std::ranges::find(host, spec.isa) != host.end() ? "runs here" : "this host lacks it";
}

/// One line per target: where it runs, and the generators that serve it.
std::string targets_text(const Context& context) {
  std::string text;
  for (const TargetSpec& spec : all_targets()) {
    std::string generators;
    for (const auto& generator : context.generators) {
      if (generator->supports(spec).ok())
        generators += fmt::format("{}{}", generators.empty() ? "" : ", ", generator->name());
    }
    text += line(spec.to_text(),
                 fmt::format("{}; generators: {}", place_text(spec), generators.empty() ? "none" : generators));
  }
  return text;
}

/// Whether the generator refuses every GPU of the family, so that one line covers them.
bool refuses_family(const KernelCompiler& generator, const std::string& family) {
  return std::ranges::none_of(gfx_targets(), [&](const GfxTarget& gfx) {
    return generator.supports({.family = family, .gfx = std::string(gfx.name)}).ok();
  });
}

/// Lists each generator, and why it does not serve other targets.
std::string generators_text(const Context& context) {
  std::string text;
  for (const auto& generator : context.generators) {
    text += line(generator->name(), generator->version());
    if (generator->name() == "llvm") {
      const Status module = check_llvm_module();
      if (!module.ok()) text += line("", "makes no new code here, only runs what is cached: " + module.message());
    }
    std::string complete_family;  // the family that needs no further lines
    for (const TargetSpec& spec : all_targets()) {
      const Status supports = generator->supports(spec);
      if (supports.ok() || spec.family == complete_family) continue;
      const bool whole = spec.is_gpu() && refuses_family(*generator, spec.family);
      if (whole) complete_family = spec.family;
      text += line("", fmt::format("not for {}: {}", whole ? spec.family + ":*" : spec.to_text(), supports.message()));
    }
  }
  return text;
}

/// Lists the directories with cached kernels, and why a directory is not used.
std::string cache_text() {
  const auto place_line = [](const std::string& path, std::string_view what, const std::string& refusal) {
    return line("", fmt::format("{}{}{}{}", printable(path), what, refusal.empty() ? "" : ": ", refusal));
  };
  const std::string own = default_cache_directory();
  std::string text;
  if (own.empty()) {
    text += line("", "in memory only: neither XDG_CACHE_HOME nor HOME is set");
  } else {
    std::error_code ignored;
    const bool is_there = std::filesystem::exists(own, ignored);  // the first kernel creates it
    text += place_line(own, "", is_there ? find_cache_refusal(own) : "");
  }
  for (const std::string& layer : default_read_only_cache_directories()) {
    text += place_line(layer, ", only read", find_cache_refusal(layer));
  }
  for (const std::string& layer : ignored_cache_layers()) {
    text += place_line(layer, "", "ignored, because MILLRACE_CACHE_LAYERS takes only absolute paths");
  }
  return text;
}

Status devices() {
  const std::shared_ptr<const Context> context = make_context();
  std::string text = "devices\n";
  for (const auto& [name, what] : kKnownDrivers) {
    text += line(name, fmt::format("{}: {}", what, driver_text(*context, name))) + enumerated_text(*context, name);
  }
  text += "targets\n" + targets_text(*context);
  text += "code generators, in the order in which they are tried\n" + generators_text(*context);
  text += "kernel cache\n" + cache_text();
  return write_text("", text);
}

}  // namespace

Action add_devices(CLI::App&) { return devices; }

}  // namespace millrace::tool
