// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/status.h"

namespace millrace::tool {

/// One measurement: `run` is called again and again, with 0, 1, 2, ...
struct Measurement {
  std::string name;
  std::function<Status(std::size_t)> run;
  /// The seconds that the last run took on a device with a clock of its own. Empty: the host's clock counts.
  std::function<double()> device_seconds = {};
  double bytes = 0, flops = 0;                                // of a run, for the rates
  std::vector<std::pair<std::string, double>> counters = {};  // other numbers to report
  std::string json_file = {};                                 // empty: none
  double min_seconds = 0.5;
};

/// Through Google Benchmark: its table on standard output, and its JSON. Fails when this build has no Google Benchmark,
/// and with the first failure of a run.
Status measure(const Measurement&);

}  // namespace millrace::tool
