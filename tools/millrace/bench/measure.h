// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/status.h"

namespace millrace::tool {

/// Facts about a row, for the JSON.
struct MeasuredFacts {
  std::string file, graph, device, target, generator;
  std::vector<std::pair<std::string, std::int64_t>> dims = {};
};

/// One row: `run` is called repeatedly, with 0, 1, 2, ...
struct Measurement {
  std::string name;
  MeasuredFacts facts;
  std::function<Status(std::size_t)> run = {};
  /// The seconds of the last run by a clock other than the host's. If empty, the host's clock measures the runs.
  std::function<double()> seconds = {};
  std::optional<std::int64_t> iterations = {};                // absent: as many as Google Benchmark wants
  double bytes = 0, flops = 0;                                // per run, for the rates
  std::vector<std::pair<std::string, double>> counters = {};  // other numbers to report
};

struct MeasureOptions {
  std::string json_file = {};  // empty: none
  double min_seconds = 0.5;
  std::vector<std::string> flags = {};  // Google Benchmark's own, "--benchmark_repetitions=5"
};

/// Measures with Google Benchmark: its table goes to standard output, its JSON to a file. Fails if this build has no
/// Google Benchmark, for flags that it does not know, and with the first failure of a run.
Status measure(std::span<const Measurement>, const MeasureOptions&);

}  // namespace millrace::tool
