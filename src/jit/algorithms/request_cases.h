// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/algorithms/algorithm.h"

namespace millrace {

/// The algorithm's cases that some size can satisfy. If no size satisfies any case, returns the whole request as the
/// only case, so that the algorithm reports why it refuses. Returns the whole request too if Algorithm::cases is null.
/// Returns nothing if that function returns no case.
std::vector<RequestCase> cases_of(const Algorithm&, const KernelRequest&, const TargetSpec&);

/// Combines the sequences for the cases of one request. At run time, kernels of cases that do not apply have 0 groups,
/// and their scratch has 0 bytes.
class CaseSequence {
 public:
  /// Whether an earlier case provably holds wherever `margin` holds.
  bool covers(const SizeExpr& margin) const;
  /// Appends the sequence of one case. It runs for the sizes that satisfy `margin` but not the margin of an earlier
  /// case.
  void append(KernelSequence sequence, std::string_view algorithm, const SizeExpr& margin);
  KernelSequence finish() { return std::move(all_); }

 private:
  KernelSequence all_;
  std::vector<SizeExpr> taken_;  // the margin of each case
};

}  // namespace millrace
