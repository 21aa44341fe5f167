// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <sstream>
#include <unistd.h>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "millrace/base/file.h"
#include "millrace/base/printable.h"
#include "tools/millrace/measure.h"

namespace millrace::tool {
namespace {

/// The table and the JSON as texts: Google Benchmark would write both without a look at whether that went well.
class TextReporter final : public benchmark::BenchmarkReporter {
 public:
  TextReporter()
      : console_(isatty(STDOUT_FILENO) == 1 ? benchmark::ConsoleReporter::OO_Color
                                            : benchmark::ConsoleReporter::OO_None) {
    console_.SetOutputStream(&table_);
    json_.SetOutputStream(&json_text_);
  }
  bool ReportContext(const Context& context) override {
    return console_.ReportContext(context) && json_.ReportContext(context);
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    console_.ReportRuns(runs);
    json_.ReportRuns(runs);
  }
  void Finalize() override {
    console_.Finalize();
    json_.Finalize();
  }
  std::string table() const { return table_.str(); }
  std::string json() const { return json_text_.str(); }

 private:
  std::ostringstream table_, json_text_;
  benchmark::ConsoleReporter console_;
  benchmark::JSONReporter json_;
};

/// A graph's name may be any bytes; the benchmark's stands in JSON.
std::string as_utf8(const std::string& name) {
  using nlohmann::json;
  return json::parse(json(name).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

}  // namespace

Status measure(const Measurement& measurement) {
  // What is said here, the environment's BENCHMARK_FILTER and BENCHMARK_LIST_TESTS cannot change.
  std::string words[] = {"millrace", fmt::format("--benchmark_min_time={}", measurement.min_seconds),
                         "--benchmark_filter=.", "--benchmark_list_tests=false"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data()};  // it keeps these pointers
  int argc = std::ssize(argv);
  benchmark::Initialize(&argc, argv);
  Status failure;
  std::size_t number = 0;
  auto* row = benchmark::RegisterBenchmark(as_utf8(measurement.name).c_str(), [&](benchmark::State& state) {
    for (auto _ : state) {
      failure = measurement.run(number++);
      if (failure.ok()) {
        if (measurement.device_seconds) state.SetIterationTime(measurement.device_seconds());
        continue;
      }
      state.SkipWithError(failure.message().c_str());
      break;
    }
    using benchmark::Counter;
    state.counters["bytes/s"] = Counter(measurement.bytes, Counter::kIsIterationInvariantRate, Counter::kIs1000);
    if (measurement.flops > 0) {
      state.counters["flop/s"] = Counter(measurement.flops, Counter::kIsIterationInvariantRate, Counter::kIs1000);
    }
    for (const auto& [name, value] : measurement.counters) state.counters[name] = value;
  });
  if (measurement.device_seconds) {
    row->UseManualTime();
  } else {
    row->UseRealTime();
  }
  TextReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  MILLRACE_TRY(write_standard_output(reporter.table()));
  MILLRACE_TRY(failure);
  if (measurement.json_file.empty()) return {};
  return write_file(fmt::format("'{}'", printable(measurement.json_file)), measurement.json_file, reporter.json());
}

}  // namespace millrace::tool
