// SPDX-License-Identifier: Apache-2.0
// The programs of docs/state.md and docs/shipping.md.
#include <filesystem>

#include <doctest/doctest.h>

#include "millrace/graph/cache_kernels.h"
#include "millrace/graph/variable_file.h"
#include "millrace/millrace.h"
#include "tests/jit/cache/temporary_directory.h"

namespace millrace {
namespace {

TEST_CASE("state.md: a variable keeps its value from run to run") {
  const TemporaryDirectory directory;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());

  GraphBuilder graph("state");
  const Tensor query = graph.input("query", DType::kF32, {1, 64}), row = graph.input("row", DType::kF32, {1, 64});
  const Tensor position = graph.input("position", DType::kI64, {1});
  const Tensor cache = graph.variable("cache", {DType::kF32, {1024, 64}});  // begins with zeros, or with given elements
  const Tensor next = scatter(cache, position, row, 0);
  graph.update(cache, next);
  graph.output("y", attention(query, next, next));

  Session session = Session::create(compile(graph.finish().value()).value()).value();
  const std::vector<float> queries(64), new_row(64, 1024.f);
  const std::vector<std::int64_t> positions = {7};
  std::vector<float> y(64), values(1024 * 64);
  session.run({bind("query", queries), bind("row", new_row), bind("position", positions)}, {bind("y", y)})
      .throw_if_error();
  CHECK(y[0] == doctest::Approx(1));                    // the mean: 1024 in one of 1024 rows
  session.get("cache", bind(values)).throw_if_error();  // set() and reset() likewise
  save_variables(session, "state.safetensors").throw_if_error();
  restore_variables(session, "state.safetensors").throw_if_error();
  CHECK(values[7 * 64] == 1024);
  CHECK(values[8 * 64] == 0);

  std::filesystem::current_path(before);
}

TEST_CASE("state.md: a loop that halves its step, and a condition") {
  GraphBuilder graph("control");
  const Tensor x = graph.input("x", DType::kF32, {1}), step = graph.input("step", DType::kF32, {1});
  const Tensor is_large = reduce_max(x, {0}) > 100;
  const std::vector<Tensor> last = graph.while_loop(
      {x, step}, [&](std::span<const Tensor> s) { return greater(reduce_max(s[1], {0}), 1e-3); },
      [&](std::span<const Tensor> s) { return std::vector{s[0] - s[1], s[1] * 0.5}; });
  const Tensor y =
      graph.if_else(is_large, [&] { return std::vector{last[0] * 0.1}; }, [&] { return std::vector{last[0]}; })[0];
  graph.output("y", y);
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  const std::vector<float> steps = {8.f};
  for (const float start : {50.f, 150.f}) {
    float expected = start;
    for (float s = 8; s > 1e-3f; s *= .5f) expected -= s;
    const std::vector<float> xs = {start};
    std::vector<float> ys(1);
    session.run({bind("x", xs), bind("step", steps)}, {bind("y", ys)}).throw_if_error();
    CHECK(ys[0] == doctest::Approx(start > 100 ? expected * .1f : expected));
  }
}

TEST_CASE("shipping.md: kernels that an application brings along") {
  const TemporaryDirectory folder;
  const std::string directory = folder.path() + "/kernels";
  GraphBuilder builder("shipped");
  builder.output("y", builder.input("x", DType::kF32, {8}) + 1);
  const Graph graph = builder.finish().value();
  {
    CompileOptions options{.targets = {"cpu:avx2", "cpu:avx512", "amdgpu:gfx1100"}};
    options.context = make_default_context(
        {.cache_directory = directory, .read_only_cache_directories = {}, .requires_cache_writes = true});
    const CachedFiles files = cache_kernels(graph, options).value();
    CHECK(files.written > 0);
  }
  CompileOptions options;
  options.context = make_default_context({.read_only_cache_directories = {"/opt/app/kernels"}});
  CHECK(options.context != nullptr);
}

}  // namespace
}  // namespace millrace
