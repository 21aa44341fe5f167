// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/jit/cache_directory.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_cache.h"
#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/tool_context.h"

namespace millrace::tool {
namespace {

struct Arguments {
  std::vector<std::string> files, targets;
  std::string directory = default_cache_directory();
  std::optional<std::uint64_t> most_bytes;
  bool lists = false;
};

std::string day_text(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

/// A line per target, and with --list one per kernel.
Status show(const Arguments& arguments) {
  MILLRACE_TRY_ASSIGN(const std::vector<CachedKernel> kernels, list_cached_kernels(arguments.directory));
  struct Sum {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Sum> sums;
  Sum all;
  std::string list;
  for (const CachedKernel& kernel : kernels) {
    const std::string what = kernel.problem.empty() ? kernel.target + " by " + kernel.generator : "not usable";
    for (Sum* sum : {&sums[what], &all}) {
      ++sum->count;
      sum->bytes += kernel.size_bytes;
    }
    list +=
        fmt::format("  {}  {:>9} bytes, used {}  {}\n", kernel.key, kernel.size_bytes, day_text(kernel.used),
                    kernel.problem.empty() ? fmt::format("{} for {}", printable(kernel.name), what) : kernel.problem);
  }
  std::string text = fmt::format("{}: kernels {}, {} bytes\n", printable(arguments.directory), all.count, all.bytes);
  for (const auto& [what, sum] : sums) text += fmt::format("  {:<36} {:>6}, {} bytes\n", what, sum.count, sum.bytes);
  return write_text("", arguments.lists ? text + list : text);
}

/// What compile() puts into the cache for a target, though this host need not run it.
Status fill(Graph graph, const std::string& target_text, const Context& context) {
  MILLRACE_TRY_ASSIGN(const Target target, find_target(context, target_text));
  MILLRACE_TRY_ASSIGN(const LoweredGraph lowered, lower_graph(std::move(graph), {.target = target_text}, context));
  const std::span<const PlannedKernel> kernels = lowered.schedule.kernels;
  const auto get_images = [&]() -> Result<std::vector<ExecutableImage>> {
    std::vector<ExecutableImage> images;
    for (const PlannedKernel& kernel : kernels) {
      const KernelCompiler* generator = target.find_generator(kernel.generator);
      if (!generator->emits_code()) continue;
      MILLRACE_TRY_ASSIGN(const auto image, context.cache->get(kernel, target.spec(), *generator));
      images.push_back(*image);
    }
    return images;
  };
  if (!target.spec().is_gpu() || target.spec().is_simulated() || kernels.empty()) return get_images().status();
  const auto link = [&]() -> Result<std::vector<std::byte>> {
    MILLRACE_TRY_ASSIGN(const std::vector<ExecutableImage> images, get_images());
    return link_images(images);
  };
  return context.cache->get_code_object(kernels, target, link).status();
}

Status cache(const Arguments& arguments) {
  if (arguments.directory.empty()) {
    return failed_precondition("cache: neither XDG_CACHE_HOME nor HOME is set; say --directory");
  }
  if (!arguments.files.empty()) {
    // Compiled into this directory alone, even what a layer has: it is for elsewhere.
    const auto context = make_context({.cache_directory = arguments.directory, .read_only_cache_directories = {}});
    for (const std::string& file : arguments.files) {
      MILLRACE_TRY_ASSIGN(const Graph graph, read_graph({.file = file}));
      for (const std::string& target : arguments.targets) MILLRACE_TRY(fill(graph, target, *context));
    }
  }
  if (arguments.most_bytes) prune_cached_kernels(arguments.directory, *arguments.most_bytes);
  return show(arguments);
}

void check_usage(Arguments& arguments) {
  if (arguments.files.empty() && !arguments.targets.empty()) {
    throw CLI::ValidationError("--target", "is for the kernels of a FILE");
  }
  if (arguments.targets.empty()) arguments.targets = {"cpu"};
}

}  // namespace

Action add_cache(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("FILE", arguments->files, "Graphs whose kernels are compiled into the cache.")->type_name("");
  app.add_option("--target,--device", arguments->targets,
                 "What these are compiled for: cpu (the host's best), cpu:avx2, amdgpu:gfx1100, ...\n"
                 "May be given again, for others. The host need not be able to run it.")
      ->type_name("TARGET")
      ->allow_extra_args(false);
  app.add_option("--directory", arguments->directory, "This cache, not the user's.")->type_name("DIR");
  app.add_option("--prune", arguments->most_bytes,
                 "Remove the kernels that were used longest ago until so many bytes are left;\n0 removes all.")
      ->type_name("BYTES");
  app.add_flag("--list", arguments->lists, "Name each kernel.");
  app.callback([arguments] { check_usage(*arguments); });
  return [arguments] { return cache(*arguments); };
}

}  // namespace millrace::tool
