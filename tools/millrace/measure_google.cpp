// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "tools/millrace/measure.h"

namespace millrace::tool {
namespace {

/// The arguments that Google Benchmark reads; it keeps pointers to them.
std::vector<std::string> arguments_of(const Measurement& measurement) {
  std::vector<std::string> words = {"millrace", fmt::format("--benchmark_min_time={}", measurement.min_seconds)};
  if (!measurement.json_file.empty()) {
    words.push_back("--benchmark_out=" + measurement.json_file);
    words.push_back("--benchmark_out_format=json");
  }
  return words;
}

}  // namespace

Status measure(const Measurement& measurement) {
  // Google Benchmark would leave the process.
  if (!measurement.json_file.empty() && !std::ofstream(measurement.json_file).is_open()) {
    return unavailable(fmt::format("--json: '{}' cannot be opened for writing", measurement.json_file));
  }
  std::vector<std::string> words = arguments_of(measurement);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  Status failure;
  std::size_t number = 0;
  benchmark::RegisterBenchmark(measurement.name.c_str(), [&](benchmark::State& state) {
    for (auto _ : state) {
      failure = measurement.run(number++);
      if (failure.ok()) continue;
      state.SkipWithError(failure.message().c_str());
      break;
    }
    using benchmark::Counter;
    state.counters["bytes/s"] = Counter(measurement.bytes, Counter::kIsIterationInvariantRate, Counter::kIs1000);
    if (measurement.flops > 0) {
      state.counters["flop/s"] = Counter(measurement.flops, Counter::kIsIterationInvariantRate, Counter::kIs1000);
    }
  })->UseRealTime();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return failure;
}

}  // namespace millrace::tool
