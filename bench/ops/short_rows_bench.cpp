// SPDX-License-Identifier: Apache-2.0
// Ops on tensors with one short dim of 2 to 15 elements, next to a dim of 10^6. Each runs at every ISA level of the
// host, to see where a higher level is slower. f32, one thread: op/layout/n/level.
#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "millrace/hal/target_spec.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;

constexpr std::int64_t kLong = 1'000'000;
constexpr std::int64_t kFewResults = 5;

/// The position of the short dim, and whether the axis runs along it or across it.
struct Layout {
  const char* name;
  bool is_short_last;
  std::int64_t axis;

  Extents shape(std::int64_t n) const { return is_short_last ? Extents{kLong, n} : Extents{n, kLong}; }
  bool is_along_long() const { return is_short_last != (axis == 1); }
};
constexpr Layout kLayouts[] = {
    {"short_rows", true, 1}, {"short_columns", false, 0}, {"long_columns", true, 0}, {"long_rows", false, 1}};

using Results = std::vector<Tensor>;
struct Op {
  const char* name;
  std::function<Results(Tensor x, std::int64_t axis, std::int64_t extent)> build;
  bool sorts_all = false;  // along a long axis, this would take seconds
};

template <Tensor (*kScan)(Tensor, ScanAttrs)>
Op scan_op(const char* name, bool exclusive = false, bool reverse = false) {
  return {name, [=](Tensor x, std::int64_t axis, std::int64_t) -> Results {
            return {kScan(x, {.axis = axis, .exclusive = exclusive, .reverse = reverse})};
          }};
}

template <class Reduce>
Op reduce_op(const char* name, Reduce reduce) {
  return {name, [=](Tensor x, std::int64_t axis, std::int64_t) -> Results { return {reduce(x, axis)}; }};
}

Op topk_op(const char* name, std::int64_t k) {
  return {name, [=](Tensor x, std::int64_t axis, std::int64_t extent) -> Results {
            const auto [values, indices] = topk(x, std::min(k, extent), {.axis = axis});
            return {values, indices};
          }};
}

std::vector<Op> all_ops() {
  return {
      scan_op<cumulative_sum>("cumulative_sum"),
      scan_op<cumulative_sum>("cumulative_sum_exclusive", true),
      scan_op<cumulative_sum>("cumulative_sum_reverse", false, true),
      scan_op<cumulative_prod>("cumulative_prod"),
      scan_op<cumulative_max>("cumulative_max"),
      scan_op<cumulative_min>("cumulative_min"),
      topk_op("topk_1", 1),
      topk_op("topk_few", kFewResults),
      {"sort", [](Tensor x, std::int64_t axis, std::int64_t) -> Results { return {sort(x, axis).values}; }, true},
      {"argsort", [](Tensor x, std::int64_t axis, std::int64_t) -> Results { return {sort(x, axis).indices}; }, true},
      reduce_op("argmax", [](Tensor x, std::int64_t axis) { return argmax(x, axis); }),
      reduce_op("argmin", [](Tensor x, std::int64_t axis) { return argmin(x, axis); }),
      reduce_op("reduce_sum", [](Tensor x, std::int64_t axis) { return reduce_sum(x, {axis}); }),
      reduce_op("reduce_max", [](Tensor x, std::int64_t axis) { return reduce_max(x, {axis}); })};
}

/// One input is enough: a branch predictor cannot learn 10^6 or more elements.
const std::vector<float>& input_of(std::int64_t n) {
  static std::int64_t last = 0;
  static std::vector<float> input;
  if (last == n) return input;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  input.resize(static_cast<std::size_t>(kLong * n));
  for (float& value : input) value = normal(random);
  last = n;
  return input;
}

void run(benchmark::State& state, const Op& op, const Layout& layout, std::int64_t n, std::string_view level) {
  GraphBuilder graph("short_rows");
  const Extents shape = layout.shape(n);
  const Tensor x = graph.input("x", DType::kF32, {shape[0], shape[1]});
  const Results results = op.build(x, layout.axis, shape[static_cast<std::size_t>(layout.axis)]);
  std::vector<std::vector<std::byte>> memory;
  for (const Tensor& result : results) {
    graph.output("y" + std::to_string(memory.size()), result);
    memory.emplace_back(static_cast<std::size_t>(size_bytes(result.type()).constant()));
  }
  const std::string device = "cpu:" + std::string(level) + ",threads=1";
  Session session = Session::create(compile(graph.finish().value(), {.device = device}).value()).value();
  const TensorBinding in[] = {bind(input_of(n))};
  std::vector<TensorBinding> out;
  for (std::vector<std::byte>& bytes : memory) out.push_back(bind(bytes));
  for (auto _ : state) {
    if (const Status status = session.run(in, out); !status.ok()) return state.SkipWithError(status.message().c_str());
  }
  state.SetItemsProcessed(state.iterations() * kLong * n);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (std::int64_t n = 2; n < 16; ++n) {
    for (const Op& op : all_ops()) {
      for (const Layout& layout : kLayouts) {
        if (op.sorts_all && layout.is_along_long()) continue;
        for (const IsaLevel isa : host_isa_levels()) {
          const std::string level(to_text(isa));
          const std::string name = std::string(op.name) + "/" + layout.name + "/" + std::to_string(n) + "/" + level;
          benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
            run(state, op, layout, n, level);
          })->Unit(benchmark::kMillisecond);
        }
      }
    }
  }
  return true;
}();

}  // namespace
