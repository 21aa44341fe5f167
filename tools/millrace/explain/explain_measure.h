// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/roofline.h"
#include "tools/millrace/run_arguments.h"
#include "tools/millrace/step_cost.h"

namespace millrace::tool {

/// The times of a schedule's steps, and how close they are to the machine's limits.
class MeasuredSteps {
 public:
  /// Compiles the graph for the device, and runs it with these inputs; inputs that are left out are random.
  static Result<MeasuredSteps> run(const Graph&, const GraphArguments&, InputArguments);

  const SymbolValues& symbols() const { return symbols_; }
  /// "1.23 us, 5.4 GB/s, 31 GFLOP/s; 26 % of the peak, 120 GFLOP/s". The percentage is relative to the limit that the
  /// step comes closer to: one thread's arithmetic or its memory bandwidth. The percentage is left out if the device is
  /// not this host's CPU.
  std::string text(std::size_t step, const Step&);
  /// The sum of the times of all steps.
  std::string total_text() const;

 private:
  SymbolValues symbols_;
  std::vector<double> seconds_;  // per step, in the schedule's order
  std::vector<bool> is_f64_;     // per step: whether it computes f64, whose vectors have half the lanes
  std::optional<Roofline> roofline_;
};

}  // namespace millrace::tool
