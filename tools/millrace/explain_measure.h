// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/roofline.h"
#include "tools/millrace/run_arguments.h"
#include "tools/millrace/step_cost.h"

namespace millrace::tool {

/// How long the steps of a schedule take, and what the machine would allow.
class MeasuredSteps {
 public:
  /// Compiles the graph for the device, and runs it with these inputs; what they leave out is random.
  static Result<MeasuredSteps> run(const Graph&, const GraphArguments&, InputArguments);

  const SymbolValues& symbols() const { return symbols_; }
  /// "1.23 us, 5.4 GB/s, 31 GFLOP/s; 26 % of the peak, 120 GFLOP/s": of what limits the step, one thread's arithmetic
  /// or its memory. Where the device is not this host's CPU, without the share.
  std::string text(std::size_t step, const Step&);
  /// The time of all steps, one after another.
  std::string total_text() const;

 private:
  SymbolValues symbols_;
  std::vector<double> seconds_;  // by step, in the schedule's order
  std::vector<bool> is_f64_;     // likewise: half as many fit a vector
  std::optional<Roofline> roofline_;
};

}  // namespace millrace::tool
