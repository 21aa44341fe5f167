// SPDX-License-Identifier: Apache-2.0
// Many compile() calls at once, each through the real LLVM.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "millrace/graph/compile_report.h"
#include "millrace/hal/device.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

/// y = x * factor, its rows' sums, and sorted columns: kernels of three kinds, other ones for each factor and width.
Graph graph_of(int factor, int width) {
  const std::string text = fmt::format(
      "graph g(%x: f32[4, {}]) {{\n  %c = constant({}) : f32[]\n  %f = broadcast(%c) {{shape = [4, {}]}}\n"
      "  %y = mul(%x, %f)\n  %s = reduce_sum(%y) {{axes = [1]}}\n  %v, %i = sort(%y) {{axis = 0, descending = true}}\n"
      "  return s = %s, v = %v\n}}\n",
      width, factor, width);
  return parse_graph(text).value();
}

/// Compiles for the CPU and a GPU, and runs on the CPU. Whether all was as it should be.
bool compiles_and_runs(const std::shared_ptr<const Context>& context, int factor, int width) {
  CompileOptions options;
  options.context = context;
  options.device = "cpu:avx2";
  options.targets = {"cpu:avx2", "amdgpu:gfx1100"};
  options.lowering.compile.force_generator = "llvm";
  const Result<Program> program = compile(graph_of(factor, width), options);
  if (!program.ok()) {
    MESSAGE(program.status().message());
    return false;
  }
  const auto columns = static_cast<std::size_t>(width);
  std::vector<float> x(4 * columns), sums(4), sorted(4 * columns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / columns + 1);
  Session session = Session::create(*program).value();
  if (!session.run(std::array{bind(x)}, std::array{bind(sums), bind(sorted)}).ok()) return false;
  bool is_right = true;
  for (std::size_t row = 0; row < 4; ++row) {
    is_right &= sums[row] == static_cast<float>((row + 1) * columns) * static_cast<float>(factor);
    is_right &= sorted[row * columns] == static_cast<float>((4 - row) * static_cast<std::size_t>(factor));
  }
  return is_right;
}

void check_threads(const std::shared_ptr<const Context>& context) {
  std::atomic<int> num_right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3; ++i) num_right += compiles_and_runs(context, t % 2 + 2, 5 + i) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(num_right == 12);
}

TEST_CASE("threads compile at once through LLVM, every thread every kernel") {
  Context context = *make_default_context();
  context.cache = nullptr;
  check_threads(std::make_shared<const Context>(std::move(context)));
}

TEST_CASE("threads compile at once through LLVM, and share a cache") {
  const auto context = make_default_context({.cache_directory = "", .read_only_cache_directories = {}});
  check_threads(context);
  const KernelCache::Stats stats = context->cache->stats();
  CHECK(stats.misses > 0);
  CHECK(stats.memory_hits >= stats.misses);  // each kernel is asked for by two threads
}

}  // namespace
}  // namespace millrace
