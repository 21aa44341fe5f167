// SPDX-License-Identifier: Apache-2.0
// `millrace cache`: shows and prunes the kernel cache, and compiles graphs into it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/cache_kernels.h"
#include "millrace/jit/cache_directory.h"
#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/tool_context.h"

namespace millrace::tool {
namespace {

struct Arguments {
  std::vector<std::string> files, targets;
  std::string directory = default_cache_directory();
  std::optional<std::uint64_t> max_bytes;
  bool lists = false;
};

std::string day_text(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

/// Prints one line per target. With --list, also prints one line per kernel.
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
  const std::string refusal = all.count == 0 ? "" : find_cache_refusal(arguments.directory);
  if (!refusal.empty()) text += fmt::format("  {}\n", refusal);
  return write_text("", arguments.lists ? text + list : text);
}

/// A context that writes every kernel into the directory and removes nothing from it. It uses no layers: the directory
/// must be complete, because it is used elsewhere.
ContextOptions filling(const std::string& directory) {
  return {.cache_directory = directory,
          .read_only_cache_directories = {},
          .max_cache_bytes = 0,
          .requires_cache_writes = true};
}

std::string counts_text(const CachedFiles& files) {
  return fmt::format("written {}, present {}", files.written, files.present);
}

/// Compiles the graphs into the directory, and prints how many files were written and how many were already present.
Status fill(const Arguments& arguments) {
  // Devices that execute machine code have kernels of their own, with line tables.
  std::map<bool, std::vector<std::string>> targets;
  for (const std::string& text : arguments.targets) targets[executes_machine_code(text)].push_back(text);
  CachedFiles sum;
  for (const auto& [is_executed, texts] : targets) {
    ContextOptions context_options = filling(arguments.directory);
    context_options.llvm.line_tables = is_executed;
    CompileOptions options{.context = make_context(context_options)};
    for (const std::string& text : texts) {
      MILLRACE_TRY_ASSIGN(const Target target, find_target(*options.context, text));
      TargetSpec spec = target.spec();
      // A cache is for other machines too.
      if (text.find("tune=") == std::string::npos) spec.tune = CpuTune::kGeneric;
      options.targets.push_back(spec.to_text());
    }
    for (const std::string& file : arguments.files) {
      MILLRACE_TRY_ASSIGN(Graph graph, read_graph({.file = file}));
      const Result<CachedFiles> files = cache_kernels(std::move(graph), options);
      if (!files.ok()) {
        return {files.status().code(),
                fmt::format("{}; the graphs before {}: {}", files.status().message(), file, counts_text(sum))};
      }
      sum.written += files->written;
      sum.present += files->present;
    }
  }
  return write_text("", counts_text(sum) + "\n");
}

Status cache(const Arguments& arguments) {
  if (arguments.directory.empty()) {
    return failed_precondition("cache: neither XDG_CACHE_HOME nor HOME is set; say --directory");
  }
  if (!arguments.files.empty()) MILLRACE_TRY(fill(arguments));
  if (arguments.max_bytes) prune_cached_kernels(arguments.directory, *arguments.max_bytes);
  return show(arguments);
}

void check_usage(Arguments& arguments) {
  if (arguments.files.empty() && !arguments.targets.empty()) {
    throw CLI::ValidationError("--target", "applies only to the kernels of a FILE");
  }
  if (arguments.targets.empty()) arguments.targets = {"cpu"};
}

}  // namespace

Action add_cache(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("FILE", arguments->files,
                 "Graphs whose kernels are compiled into the cache; it is an error if one of them\ncannot be stored.")
      ->type_name("");
  app.add_option("--target,--device", arguments->targets,
                 "What to compile them for: cpu (the host's best), cpu:avx2, amdgpu:gfx1100, ...\n"
                 "Generic code, unless one says tune=intel or tune=host: cpu:avx2,tune=intel.\n"
                 "May be repeated. The host need not be able to run it.")
      ->type_name("TARGET")
      ->allow_extra_args(false);
  app.add_option("--directory", arguments->directory, "Use this cache, not the user's.")->type_name("DIR");
  app.add_option("--prune", arguments->max_bytes,
                 "Remove the least recently used kernels until at most this many bytes are\nleft; 0 removes all.")
      ->type_name("BYTES");
  app.add_flag("--list", arguments->lists, "Name each kernel.");
  app.callback([arguments] { check_usage(*arguments); });
  return [arguments] { return cache(*arguments); };
}

}  // namespace millrace::tool
