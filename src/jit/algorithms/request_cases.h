// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/algorithms/algorithm.h"

namespace millrace {

/// The algorithm's cases that may hold. If none may hold, or if the algorithm has no function for cases, returns the
/// whole request as the only case. Empty if that function gives no case for the request.
std::vector<RequestCase> cases_of(const Algorithm&, const KernelRequest&, const TargetSpec&);

/// Combines the sequences for the cases of one request. At run time, kernels of cases that do not apply have 0 groups,
/// and their scratch has 0 bytes.
class CaseSequence {
 public:
  /// Whether an earlier case provably holds wherever `margin` holds.
  bool covers(const SizeExpr& margin) const;
  /// Appends a sequence for the sizes that no earlier case takes.
  void append(KernelSequence sequence, std::string_view algorithm, const SizeExpr& margin);
  KernelSequence finish() { return std::move(all_); }

 private:
  KernelSequence all_;
  std::vector<SizeExpr> taken_;  // the margin of each case
};

}  // namespace millrace
