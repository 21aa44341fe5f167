// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/target.h"
#include "tools/millrace/explain/explain_measure.h"

namespace millrace::tool {

/// Describes the dispatches of one lowered graph, with numbers where symbols have values.
class DispatchText {
 public:
  /// `measured` may be null.
  DispatchText(const LoweredGraph&, const SymbolValues&, const Target&, MeasuredSteps* measured);

  std::string dispatch(RegionId) const;
  /// The bytes that all steps together move, and the operations that they compute.
  std::string totals() const;

 private:
  std::string number(const SizeExpr& size) const;
  std::string bodies(RegionId) const;
  std::string places(const Region&) const;
  std::string describe(RegionId, const KernelSequence&, std::size_t first_kernel) const;
  std::string details(const SequenceKernel&, const Step&) const;
  std::string cost(const StepCost&) const;
  std::string occupancy(const PlannedKernel&) const;
  /// Whether kernels have machine code with registers: true for a GPU that is not simulated.
  bool has_code() const;

  const LoweredGraph& lowered_;
  const SymbolValues& symbols_;
  const Target& target_;
  MeasuredSteps* measured_;
  std::vector<std::vector<StepId>> steps_;                   // per region, in the order of its kernels
  std::vector<std::vector<const Separation*>> separations_;  // per region that reads the value
  Result<CodeObjectInfo> code_ = CodeObjectInfo{};
};

}  // namespace millrace::tool
