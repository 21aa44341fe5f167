// SPDX-License-Identifier: Apache-2.0
// Fills a kernel cache ahead of time for several targets, without a device.
#include "millrace/graph/cache_kernels.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/compile/make_code.h"
#include "hal/feature_sets.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/kernel_cache.h"

namespace millrace {
namespace {

/// The targets that CompileOptions::targets name, expanded and without repetitions.
Result<std::vector<Target>> find_cached_targets(const CompileOptions& options, const Context& context) {
  std::vector<Target> targets;
  for (const std::string& text : options.targets) {
    MILLRACE_TRY_ASSIGN(const Target named, context.target(text));
    for (const TargetSpec& spec : with_feature_sets(named.spec())) {
      if (std::ranges::find(targets, spec, &Target::spec) != targets.end()) continue;
      MILLRACE_TRY_ASSIGN(Target target, context.target(spec.to_text()));
      targets.push_back(std::move(target));
    }
  }
  return targets;
}

/// Generates, through the cache, the code that the cache lacks.
Status make_all_code(Graph graph, std::span<const Target> targets, const Context& context,
                     const CompileOptions& options) {
  MILLRACE_TRY_ASSIGN(std::vector<LoweredGraph> all,
                      lower_graph(std::move(graph), targets, options.lowering, options.passes, options.order));
  std::size_t num_kernels = 0;
  for (const LoweredGraph& lowered : all) {
    num_kernels += lowered.schedule.kernels.size();
    if (lowered.setup != nullptr) num_kernels += lowered.setup->schedule.kernels.size();
  }
  CodeMaker maker(context, options, options.executor, num_kernels);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    MILLRACE_TRY(maker.make(all[i], targets[i]).status());
    if (all[i].setup != nullptr) MILLRACE_TRY(maker.make_setup(all[i], targets[i]).status());
  }
  return {};
}

}  // namespace

Result<CachedFiles> cache_kernels(Graph graph, const CompileOptions& options) {
  return guard_allocations([&]() -> Result<CachedFiles> {
    if (options.targets.empty()) {
      return invalid_argument(
          "cache_kernels: no target given, expected one or more; say {\"cpu:avx2\", \"cpu:avx512\"}");
    }
    const std::shared_ptr<const Context> context = options.context ? options.context : make_default_context();
    if (context->cache == nullptr) {
      return invalid_argument("cache_kernels: the context has no kernel cache; make it with a cache_directory");
    }
    MILLRACE_TRY(verify(graph));
    MILLRACE_TRY_ASSIGN(const std::vector<Target> targets, find_cached_targets(options, *context));
    const KernelCache::Stats before = context->cache->stats();
    MILLRACE_TRY(make_all_code(std::move(graph), targets, *context, options));
    const KernelCache::Stats after = context->cache->stats();
    return CachedFiles{.written = after.written - before.written, .present = after.disk_hits - before.disk_hits};
  });
}

}  // namespace millrace
