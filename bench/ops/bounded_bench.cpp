// SPDX-License-Identifier: Apache-2.0
// Ops whose number of results depends on the elements, compared with loops and the C++ library, f32, one thread:
// name/n/order. For nonzero, half of the elements are 0 in the order "random", and 1 in 16 in the order "few_values".
#include <benchmark/benchmark.h>

#include "bench/ops/peers/plain_bounded.h"
#include "bench/ops/rows.h"
#include "millrace/millrace.h"

namespace {

using namespace millrace;
using Inputs = std::vector<std::vector<float>>;

/// Runs a graph with the input x and the outputs that `build` returns.
void run_ours(benchmark::State& state, const Inputs& inputs, std::vector<Tensor> (*build)(Tensor)) {
  const auto n = static_cast<std::int64_t>(inputs[0].size());
  GraphBuilder graph("bounded");
  const std::vector<Tensor> results = build(graph.input("x", DType::kF32, {n}));
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < results.size(); ++i) {
    graph.output("y" + std::to_string(i), results[i]);
    memory.emplace_back(static_cast<std::size_t>(size_bytes(results[i].type()).constant()));
  }
  Session session = Session::create(compile(graph.finish().value(), {.device = "cpu:threads=1"}).value()).value();
  std::vector<TensorBinding> out;
  for (std::vector<std::byte>& bytes : memory) out.push_back(bind(std::span(bytes)));
  std::size_t iteration = 0;
  for (auto _ : state) {
    const TensorBinding in[] = {bind(inputs[iteration++ % inputs.size()])};
    if (const Status status = session.run(in, out); !status.ok()) state.SkipWithError(status.message().c_str());
  }
}

void nonzero_ours(benchmark::State& state, const Inputs& inputs) {
  run_ours(state, inputs, [](Tensor x) {
    const IndicesAndCount found = nonzero(x);
    return std::vector{found.indices, found.count};
  });
}
void nonzero_plain(benchmark::State& state, const Inputs& inputs) {
  std::vector<std::int64_t> indices(inputs[0].size() + 1);
  std::size_t iteration = 0;
  for (auto _ : state) {
    const std::vector<float>& x = inputs[iteration++ % inputs.size()];
    benchmark::DoNotOptimize(peers::plain_nonzero(x.data(), static_cast<std::int64_t>(x.size()), indices.data()));
    benchmark::ClobberMemory();
  }
}
void unique_values_ours(benchmark::State& state, const Inputs& inputs) {
  run_ours(state, inputs, [](Tensor x) {
    const UniqueResults found = unique(x);
    return std::vector{found.values, found.count};
  });
}
void unique_values_std(benchmark::State& state, const Inputs& inputs) {
  std::vector<float> values(inputs[0].size());
  std::size_t iteration = 0;
  for (auto _ : state) {
    const std::vector<float>& x = inputs[iteration++ % inputs.size()];
    benchmark::DoNotOptimize(peers::std_unique(x.data(), static_cast<std::int64_t>(x.size()), values.data()));
    benchmark::ClobberMemory();
  }
}
void unique_ours(benchmark::State& state, const Inputs& inputs) {
  run_ours(state, inputs, [](Tensor x) {
    const UniqueResults found = unique(x);
    return std::vector{found.values, found.inverse, found.counts, found.first_indices, found.count};
  });
}
void unique_radix(benchmark::State& state, const Inputs& inputs) {
  std::vector<float> values(inputs[0].size());
  std::vector<std::int64_t> inverse(values.size()), counts(values.size()), first_indices(values.size());
  std::size_t iteration = 0;
  for (auto _ : state) {
    const std::vector<float>& x = inputs[iteration++ % inputs.size()];
    benchmark::DoNotOptimize(peers::radix_unique(x.data(), static_cast<std::int64_t>(x.size()),
                                                 {values.data(), inverse.data(), counts.data(), first_indices.data()}));
    benchmark::ClobberMemory();
  }
}

struct Contender {
  const char* name;
  void (*run)(benchmark::State&, const Inputs&);
  bool takes_zeros = false;
};
constexpr Contender kContenders[] = {{"nonzero_ours", nonzero_ours, true},
                                     {"nonzero_plain", nonzero_plain, true},
                                     {"unique_values_ours", unique_values_ours},
                                     {"unique_values_std", unique_values_std},
                                     {"unique_ours", unique_ours},
                                     {"unique_radix", unique_radix}};

Inputs make_inputs(std::int64_t n, bench::Order order, bool has_zeros) {
  Inputs inputs = bench::make_inputs(1, n, order);
  if (!has_zeros || order != bench::Order::kRandom) return inputs;
  for (std::vector<float>& input : inputs) {
    for (float& element : input) element = std::max(element, 0.0f);
  }
  return inputs;
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const std::int64_t n : {10'000, 1'000'000}) {
    for (const bench::Order order : {bench::Order::kRandom, bench::Order::kFewValues}) {
      for (const Contender& contender : kContenders) {
        const std::string name = std::string(contender.name) + "/" + std::to_string(n) + "/" +
                                 std::string(bench::kOrderNames[static_cast<std::size_t>(order)]);
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
          contender.run(state, make_inputs(n, order, contender.takes_zeros));
          state.SetItemsProcessed(state.iterations() * n);
        });
      }
    }
  }
  return true;
}();

}  // namespace
